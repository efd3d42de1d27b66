//! The child's side: one loop, and slices without and with short tasks beside it in turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::mixed::{Hashing, Mixed};
use crate::tally;
use manyhands_lab::contest::Sample;

/// Answers with the nanoseconds within which half and 99 of 100 short tasks ran, the loop's rate beside
/// them over its rate alone, and nanoseconds per hash alone.
pub(crate) fn answer<M: Mixed>(pool: &Arc<M>, window: Duration) -> Sample {
    let hashing = Hashing::default();
    let looping = thread::spawn({
        let (pool, hashing) = (Arc::clone(pool), hashing.clone());
        move || pool.run_loop(&hashing)
    });
    thread::sleep(SETTLING);
    let slice = window / (SLICES * 2);
    let (mut alone, mut beside) = (Progress::default(), Progress::default());
    let mut tasks = Vec::new();
    for _ in 0..SLICES {
        alone.during(|| thread::sleep(slice));
        beside.during(|| tasks.push(send(&**pool, slice)));
    }
    hashing.stop();
    looping.join().expect("the loop does not panic");
    let mut latencies: Vec<u64> = tasks.into_iter().flat_map(Latencies::wait).collect();
    latencies.sort_unstable();
    let within = |percent: usize| latencies[(latencies.len() - 1) * percent / 100] as f64;
    Sample {
        checksum: 0,
        values: vec![
            within(50),
            within(99),
            beside.per_second() / alone.per_second(),
            1e9 / alone.per_second(),
        ],
    }
}

/// Sends a task at every tick, for this long.
fn send(pool: &impl Mixed, length: Duration) -> Latencies {
    let count = length.as_micros() / TICK.as_micros();
    let latencies = Latencies::new(usize::try_from(count).unwrap_or(usize::MAX).max(1));
    let mut next = Instant::now();
    for index in 0..latencies.nanos.len() {
        next += TICK;
        thread::sleep(next.saturating_duration_since(Instant::now()));
        let (latencies, sent) = (latencies.clone(), Instant::now());
        pool.spawn(move || latencies.note(index, sent));
    }
    latencies
}

/// How long each task waited.
#[derive(Clone, Debug)]
struct Latencies {
    nanos: Arc<[AtomicU64]>,
    noted: Arc<AtomicUsize>,
}

impl Latencies {
    fn new(count: usize) -> Self {
        Self {
            nanos: (0..count).map(|_| AtomicU64::new(0)).collect(),
            noted: Arc::default(),
        }
    }

    fn note(&self, index: usize, sent: Instant) {
        let nanos = u64::try_from(sent.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // Relaxed: published by the count.
        self.nanos[index].store(nanos, Ordering::Relaxed);
        // Release: pairs with the Acquire in `wait`.
        self.noted.fetch_add(1, Ordering::Release);
    }

    /// All of them, when the last task has run.
    fn wait(self) -> Vec<u64> {
        // Acquire: pairs with the Release in `note`.
        while self.noted.load(Ordering::Acquire) < self.nanos.len() {
            thread::sleep(Duration::from_millis(1));
        }
        // Relaxed: as above.
        let read = |nanos: &AtomicU64| nanos.load(Ordering::Relaxed);
        self.nanos.iter().map(read).collect()
    }
}

/// Hashes in a time.
#[derive(Debug, Default)]
struct Progress {
    hashes: usize,
    time: Duration,
}

impl Progress {
    fn during(&mut self, slice: impl FnOnce()) {
        let (hashes, start) = (tally::total(), Instant::now());
        slice();
        self.hashes += tally::total() - hashes;
        self.time += start.elapsed();
    }

    fn per_second(&self) -> f64 {
        self.hashes as f64 / self.time.as_secs_f64()
    }
}

/// Two thousand tasks a second.
const TICK: Duration = Duration::from_micros(500);
const SLICES: u32 = 4;
/// Before the first slice: the threads have started and the loop is shared out.
const SETTLING: Duration = Duration::from_millis(50);
