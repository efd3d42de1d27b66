//! The child's side: endless loops, and slices without and with short tasks beside it in turn.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::latencies::{Latencies, within};
use crate::mixed::{Hashing, Mixed};
use crate::tally;
use manyhands_lab::contest::{self, Sample};

/// Answers with the nanoseconds within which half and 99 of 100 short tasks ran, the loops' rate beside
/// them over their rate alone, nanoseconds per hash alone, the process's processor time for each hash beside them
/// over that alone, and the nanoseconds after which the first short task ran.
pub(crate) fn answer<M: Mixed>(pool: &Arc<M>, loops: usize, window: Duration) -> Sample {
    let hashing = Hashing::default();
    let run_loop = |_| {
        let (pool, hashing) = (Arc::clone(pool), hashing.clone());
        thread::spawn(move || pool.run_loop(&hashing))
    };
    let looping: Vec<_> = (0..loops).map(run_loop).collect();
    thread::sleep(SETTLING);
    let slice = window / (SLICES * 2);
    let (mut alone, mut beside) = (Progress::default(), Progress::default());
    let mut tasks = Vec::new();
    for _ in 0..SLICES {
        alone.during(|| thread::sleep(slice));
        beside.during(|| tasks.push(send(&**pool, slice)));
    }
    hashing.stop();
    for thread in looping {
        thread.join().expect("the loop does not panic");
    }
    let mut latencies: Vec<u64> = tasks.into_iter().flat_map(Latencies::wait).collect();
    let first = latencies[0] as f64;
    Sample {
        checksum: 0,
        values: vec![
            within(&mut latencies, 50),
            within(&mut latencies, 99),
            beside.per_second() / alone.per_second(),
            1e9 / alone.per_second(),
            beside.worked_each() / alone.worked_each(),
            first,
        ],
    }
}

/// Sends a task at every tick, for this long.
fn send(pool: &impl Mixed, length: Duration) -> Latencies {
    let latencies = Latencies::of_clock(length, TICK);
    let mut next = Instant::now();
    for index in 0..latencies.count() {
        next += TICK;
        thread::sleep(next.saturating_duration_since(Instant::now()));
        let (latencies, sent) = (latencies.clone(), Instant::now());
        pool.spawn(move || latencies.note(index, sent));
    }
    latencies
}

/// Hashes in a time, and the processor time that the whole process took meanwhile.
#[derive(Debug, Default)]
struct Progress {
    hashes: usize,
    time: Duration,
    worked: Duration,
}

impl Progress {
    fn during(&mut self, slice: impl FnOnce()) {
        let (hashes, worked, start) = (tally::total(), cpu_time(), Instant::now());
        slice();
        self.hashes += tally::total() - hashes;
        self.worked += cpu_time() - worked;
        self.time += start.elapsed();
    }

    /// Processor time of the whole process for each hash.
    fn worked_each(&self) -> f64 {
        self.worked.as_secs_f64() * 1e9 / self.hashes as f64
    }

    fn per_second(&self) -> f64 {
        self.hashes as f64 / self.time.as_secs_f64()
    }
}

fn cpu_time() -> Duration {
    contest::cpu_time().expect("the processor time can be read")
}

/// Two thousand tasks a second.
const TICK: Duration = Duration::from_micros(500);
const SLICES: u32 = 4;
/// Before the first slice: the threads have started and the loops are shared out.
const SETTLING: Duration = Duration::from_millis(50);
