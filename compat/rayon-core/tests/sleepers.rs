//! Waiting threads sleep while they have nothing to run.

use manyhands::facade::ThreadName;
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::thread;
use std::time::{Duration, Instant};

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "a test that hangs ends")]
fn now() -> Instant {
    Instant::now()
}

/// Lets other threads run until this holds. Neither sleeps nor waits in a pool.
fn spin_until(holds: impl Fn() -> bool) {
    let deadline = now() + Duration::from_secs(20);
    while !holds() {
        assert!(now() < deadline, "it does not happen");
        thread::yield_now();
    }
}

/// Whether the thread sleeps. Where the system does not say, it may.
fn sleeps(thread: ThreadName) -> bool {
    thread.is_asleep().unwrap_or(true)
}

#[test]
fn the_only_thread_of_a_pool_sleeps_while_it_waits_for_another_pool() {
    let (waiting, busy) = (pool(1), pool(1));
    waiting.install(|| {
        let waiter = ThreadName::current();
        busy.install(|| spin_until(|| sleeps(waiter)));
    });
}
