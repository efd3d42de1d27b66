//! Broadcasts in the global pool. In a process of its own, whose pool has nothing else to do.

use manyhands::task;
use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

/// A thread that does not come in time is stood in for, so not every round reaches all.
const ROUNDS: usize = 50;

#[expect(clippy::disallowed_methods, reason = "a test that hangs ends")]
fn now() -> Instant {
    Instant::now()
}

fn reaches_all_threads() -> bool {
    let threads = rayon::broadcast(|_| thread::current().id());
    let count = threads.len();
    assert_eq!(count, rayon::current_num_threads());
    threads.into_iter().collect::<HashSet<_>>().len() == count
}

#[test]
fn a_broadcast_reaches_each_thread_of_the_global_pool() {
    let deadline = now() + Duration::from_secs(60);
    let until = |round: &dyn Fn() -> bool| {
        let mut reached = 0;
        while reached < ROUNDS {
            assert!(now() < deadline, "reached all only {reached} times");
            reached += usize::from(round());
        }
    };
    until(&reaches_all_threads);
    until(&|| task::run(reaches_all_threads).join().unwrap());
}
