//! Simulations that are looked at while they run.

use manyhands::simulation::Simulation;
use manyhands::{diagnostics, inspect, task};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const SEEDS: u64 = 30;

/// A task that is the only one that can run, and is queued again and again.
async fn yield_often() {
    let task = task::spawn(async {
        for _ in 0..20_000 {
            task::yield_now().await;
        }
    });
    task.await.unwrap();
}

#[test]
fn a_look_at_its_queues_is_no_deadlock_of_a_simulation() {
    diagnostics::open();
    let is_over = AtomicBool::new(false);
    let ran = thread::scope(|scope| {
        // Counts what is queued, under a lock that takers take, too.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                drop(inspect::snapshot());
            }
        });
        let ran: Vec<_> = (0..SEEDS)
            .map(|seed| Simulation::new(seed).run(yield_often()))
            .collect();
        is_over.store(true, Ordering::Relaxed);
        ran
    });
    for (seed, ended) in ran.into_iter().enumerate() {
        assert_eq!(ended, Ok(()), "seed {seed}");
    }
}
