//! Waits in waits: a waiting thread finds what it may help with, however deep that is.

mod support;

use rayon_core::{Scope, ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use support::Deadline;

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    // Every level has a frame of each of these functions, not optimised.
    builder.stack_size(16 << 20).build().unwrap()
}

/// Each level needs a second thread for its other half, which is the next level.
fn descend(level: usize, depth: usize, deadline: Deadline) -> usize {
    if level == depth {
        return level;
    }
    let has_begun = AtomicBool::new(false);
    let ((), reached) = rayon_core::join(
        || deadline.spin_until(|| has_begun.load(Ordering::Acquire)),
        || {
            has_begun.store(true, Ordering::Release);
            descend(level + 1, depth, deadline)
        },
    );
    reached
}

#[test]
fn two_threads_help_each_other_to_any_depth() {
    let deadline = Deadline::new();
    assert_eq!(pool(2).install(|| descend(0, 100, deadline)), 100);
}

#[test]
fn three_threads_help_one_another_to_any_depth() {
    let deadline = Deadline::new();
    assert_eq!(pool(3).install(|| descend(0, 150, deadline)), 150);
}

#[test]
fn a_thread_that_waits_for_a_fifo_scope_helps_with_its_closures_at_any_depth() {
    /// Each level waits for a closure that another thread runs; the last one needs two threads.
    fn nest(depth: usize, deadline: Deadline) {
        if depth == 0 {
            descend(0, 1, deadline);
            return;
        }
        let has_begun = AtomicBool::new(false);
        rayon_core::scope_fifo(|scope| {
            scope.spawn_fifo(|_| {
                has_begun.store(true, Ordering::Release);
                nest(depth - 1, deadline);
            });
            deadline.spin_until(|| has_begun.load(Ordering::Acquire));
        });
    }
    let deadline = Deadline::new();
    for depth in [1, 2, 100] {
        pool(2).install(|| nest(depth, deadline));
    }
}

#[test]
fn a_thread_that_waits_for_a_scope_helps_with_one_of_several_closures_that_another_thread_has_spawned()
 {
    let deadline = Deadline::new();
    let has_begun = AtomicBool::new(false);
    pool(2).install(|| {
        rayon_core::scope(|scope| {
            scope.spawn(|scope| {
                scope.spawn(|_| ());
                // Run by the same thread after this one, and first.
                scope.spawn(|_| {
                    has_begun.store(true, Ordering::Release);
                    descend(0, 1, deadline);
                });
            });
            deadline.spin_until(|| has_begun.load(Ordering::Acquire));
        });
    });
}

/// Closures `first` and `second` run on the other thread, in this order, above one more that waits there. `second` is part of
/// what the scope's own thread waits for.
fn help_behind(first: impl Fn(&Scope<'_>) + Sync, second: impl Fn() + Sync, deadline: Deadline) {
    let has_begun = &AtomicBool::new(false);
    let (first, second) = (&first, &second);
    pool(2).install(|| {
        rayon_core::scope(|scope| {
            scope.spawn(move |scope| {
                first(scope);
                scope.spawn(|_| ());
                scope.spawn(move |_| second());
                scope.spawn(move |scope| {
                    first(scope);
                    has_begun.store(true, Ordering::Release);
                });
            });
            deadline.spin_until(|| has_begun.load(Ordering::Acquire));
        });
    });
}

#[test]
fn a_thread_that_waits_for_a_scope_helps_with_a_closure_behind_one_that_has_had_a_scope_of_its_own()
{
    let deadline = Deadline::new();
    let scope_of_its_own = |_: &Scope<'_>| {
        rayon_core::scope(|inner| (0..2).for_each(|_| inner.spawn(|_| ())));
    };
    let needs_two = || assert_eq!(descend(0, 1, deadline), 1);
    help_behind(scope_of_its_own, needs_two, deadline);
}

/// Counts those who run at the same time, until they are `count`.
fn gather(count: usize, gathered: &AtomicUsize, deadline: Deadline) {
    rayon_core::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|_| {
                gathered.fetch_add(1, Ordering::AcqRel);
                deadline.spin_until(|| gathered.load(Ordering::Acquire) == count);
            });
        }
    });
}

/// A chain of threads, each of which waits for the next; the last one has work for all.
fn chain(
    threads: usize,
    rest: usize,
    is_complete: &AtomicBool,
    gathered: &AtomicUsize,
    deadline: Deadline,
) {
    if rest == 1 {
        is_complete.store(true, Ordering::Release);
        return gather(threads, gathered, deadline);
    }
    rayon_core::join(
        // Busy until the chain is complete, so that each link is another thread.
        || deadline.spin_until(|| is_complete.load(Ordering::Acquire)),
        || chain(threads, rest - 1, is_complete, gathered, deadline),
    );
}

#[test]
fn every_thread_of_a_long_chain_of_waits_helps_at_its_end() {
    const THREADS: usize = 24;
    let (is_complete, gathered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let deadline = Deadline::new();
    pool(THREADS).install(|| chain(THREADS, THREADS, &is_complete, &gathered, deadline));
    assert_eq!(gathered.into_inner(), THREADS);
}

/// Two threads, one of which waits for the other. When all branches are here, the first has work for three threads:
/// its own two, and the one that waits for all branches.
fn branch(count: usize, here: &AtomicUsize, gathered: &AtomicUsize, deadline: Deadline) {
    let all_are_here = || here.load(Ordering::Acquire) == count;
    rayon_core::join(
        || deadline.spin_until(all_are_here),
        || {
            let is_first = here.fetch_add(1, Ordering::AcqRel) == 0;
            deadline.spin_until(all_are_here);
            if is_first {
                gather(3, gathered, deadline);
            } else {
                deadline.spin_until(|| gathered.load(Ordering::Acquire) == 3);
            }
        },
    );
}

#[test]
fn a_wait_is_followed_through_each_of_several_closures() {
    const BRANCHES: usize = 6;
    let (here, gathered) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let deadline = Deadline::new();
    pool(1 + 2 * BRANCHES).install(|| {
        rayon_core::scope(|scope| {
            for _ in 0..BRANCHES {
                scope.spawn(|_| branch(BRANCHES, &here, &gathered, deadline));
            }
        });
    });
    assert_eq!(gathered.into_inner(), 3);
}
