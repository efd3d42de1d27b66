//! Waiting threads sleep while they have nothing to run, and what they may not run wakes another one.

use manyhands_system::thread_state::{Activity, ThreadName, activity, current_thread};
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, Ordering};
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
    activity(thread).is_none_or(|activity| activity == Activity::Asleep)
}

#[test]
fn the_only_thread_of_a_pool_sleeps_while_it_waits_for_another_pool() {
    let (waiting, busy) = (pool(1), pool(1));
    waiting.install(|| {
        let waiter = current_thread();
        busy.install(|| spin_until(|| sleeps(waiter)));
    });
}

/// A thread that waits for a scope executes a closure of that, and waits in it for the half of a join. This half cannot end before
/// another closure of the scope has run, which comes from a thread outside of the pool. The waiter may not run it: what the closure
/// wants could be held there.
#[test]
fn an_idle_thread_comes_for_a_closure_that_its_waiter_may_not_run_now() {
    let pool = pool(3);
    let threads = pool.broadcast(|_| current_thread());
    let (is_stolen, has_run) = (AtomicBool::new(false), AtomicBool::new(false));
    let others_sleep = || {
        let here = current_thread();
        let mut others = threads.iter().filter(|thread| **thread != here);
        others.all(|thread| sleeps(*thread))
    };
    pool.install(|| {
        let waiter = rayon_core::current_thread_index();
        rayon_core::scope(|scope| {
            scope.spawn_broadcast(|scope, context| {
                if Some(context.index()) != waiter {
                    return;
                }
                let stolen = || {
                    is_stolen.store(true, Ordering::Release);
                    // Longer than the nap of the idle thread, after which it looks once more.
                    let nap_is_over = now() + Duration::from_millis(30);
                    spin_until(|| now() > nap_is_over && others_sleep());
                    thread::scope(|outside| {
                        let has_run = &has_run;
                        outside
                            .spawn(move || scope.spawn(|_| has_run.store(true, Ordering::Release)));
                    });
                    spin_until(|| has_run.load(Ordering::Acquire));
                };
                rayon_core::join(|| spin_until(|| is_stolen.load(Ordering::Acquire)), stolen);
            });
        });
    });
}
