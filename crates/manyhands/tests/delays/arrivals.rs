//! Tasks that arrive from outside continuously, each of which is counted.

use super::random::Random;
use manyhands::{Runtime, task};
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

/// While this value exists, a thread outside of the pool spawns tasks.
#[derive(Debug)]
pub(crate) struct Arrivals {
    counts: Arc<Counts>,
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

#[derive(Debug, Default)]
struct Counts {
    waiting: AtomicU64,
    run: AtomicU64,
}

impl Arrivals {
    pub(crate) fn begin(runtime: &Arc<Runtime>, seed: u64) -> Self {
        let (counts, is_over) = (Arc::new(Counts::default()), Arc::default());
        let builder = thread::Builder::new().name("arrivals".to_owned());
        let thread = builder.spawn({
            let (counts, is_over) = (Arc::clone(&counts), Arc::clone(&is_over));
            let (runtime, random) = (Arc::clone(runtime), Random::new(seed));
            move || arrive(&runtime, &counts, &is_over, random)
        });
        Self {
            counts,
            is_over,
            thread: thread.expect("a thread can be started"),
        }
    }

    /// Spawns no more, and waits until all spawned tasks have run. Returns their number.
    ///
    /// # Panics
    /// If one has run twice. It waits for ever for a task that is lost: a watchdog must detect that.
    pub(crate) fn end(self) -> u64 {
        self.is_over.store(true, Ordering::Relaxed);
        let sent = self.thread.join().expect("it only spawns tasks");
        while self.counts.waiting.load(Ordering::Acquire) > 0 {
            thread::yield_now();
        }
        let run = self.counts.run.load(Ordering::Relaxed);
        assert_eq!(run, sent, "tasks from outside that have run, and were sent");
        sent
    }
}

fn arrive(
    runtime: &Runtime,
    counts: &Arc<Counts>,
    is_over: &AtomicBool,
    mut random: Random,
) -> u64 {
    let _entered = runtime.enter();
    let mut sent = 0;
    while !is_over.load(Ordering::Relaxed) {
        if counts.waiting.load(Ordering::Relaxed) < WAITING_MAX {
            counts.waiting.fetch_add(1, Ordering::Relaxed);
            sent += 1;
            let counts = Arc::clone(counts);
            let run = move || {
                spin(20);
                counts.run.fetch_add(1, Ordering::Relaxed);
                counts.waiting.fetch_sub(1, Ordering::Release);
            };
            match random.below(4) {
                0 => drop(task::run(run)),
                1 => drop(task::spawn(async move {
                    task::yield_now().await;
                    run();
                })),
                _ => task::run_detached(run),
            }
        } else {
            thread::yield_now();
        }
        spin(50 + random.below(1_000));
    }
    sent
}

fn spin(iterations: u64) {
    (0..iterations).for_each(|_| spin_loop());
}

/// More do not help: workers are busy with these.
const WAITING_MAX: u64 = 200;
