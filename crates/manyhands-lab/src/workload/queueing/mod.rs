//! Many empty work items: each counts itself as finished, and nothing else. What is left is the pool.

mod countdown;
mod locked_pool;

use super::cpus;
use countdown::Countdown;
use locked_pool::LockedPool;
use std::sync::OnceLock;

/// A pool with one queue under one lock, every item boxed: how thread pools began. Its threads are
/// started by the first call and kept.
pub(crate) fn one_locked_queue() -> impl Fn(usize) -> usize {
    let pool = OnceLock::new();
    counted(move |n, countdown| {
        let pool = pool.get_or_init(|| LockedPool::new(cpus()));
        for _ in 0..n {
            pool.queue(|| countdown.finish_one());
        }
    })
}

/// Tasks that nobody holds a handle of.
pub(crate) fn run() -> impl Fn(usize) -> usize {
    counted(|n, countdown| {
        for _ in 0..n {
            drop(manyhands::task::run(|| countdown.finish_one()));
        }
    })
}

/// Closures of one scope.
pub(crate) fn scope() -> impl Fn(usize) -> usize {
    counted(|n, countdown| {
        manyhands::scope(|scope| {
            for _ in 0..n {
                scope.spawn(|_| countdown.finish_one());
            }
        });
    })
}

/// Closures of one of rayon's scopes.
pub(crate) fn rayon() -> impl Fn(usize) -> usize {
    counted(|n, countdown| {
        rayon::scope(|scope| {
            for _ in 0..n {
                scope.spawn(|_| countdown.finish_one());
            }
        });
    })
}

/// Hands `n` items to `queue`, and waits until all are finished.
fn counted(queue: impl Fn(usize, &'static Countdown)) -> impl Fn(usize) -> usize {
    // Leaked, once for each arm that is run: items borrow it without counting who does.
    let countdown = OnceLock::<&'static Countdown>::new();
    move |n| {
        let countdown = *countdown.get_or_init(|| Box::leak(Box::new(Countdown::new())));
        countdown.begin(n);
        queue(n, countdown);
        countdown.wait();
        n - countdown.left()
    }
}
