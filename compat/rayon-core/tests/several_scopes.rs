//! Closures of several scopes, and closures whose spawner has ended: a waiting thread runs those that belong to what it
//! waits for, wherever they lie, and no others.

mod support;

use rayon_core::{Scope, ThreadPool, ThreadPoolBuilder};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use support::{Deadline, now};

/// Something that happens once, and one test waits for with a deadline.
struct Event {
    has_happened: AtomicBool,
    deadline: Deadline,
}

impl Event {
    /// Leaked, so that any closure may have it.
    fn new() -> &'static Self {
        Box::leak(Box::new(Self {
            has_happened: AtomicBool::new(false),
            deadline: Deadline::new(),
        }))
    }

    fn happens(&self) {
        self.has_happened.store(true, Ordering::Release);
    }

    /// Lets other threads run. Neither sleeps nor waits in the pool.
    fn spin(&self) {
        let deadline = self.deadline;
        deadline.spin_until(|| self.has_happened.load(Ordering::Acquire));
    }
}

fn pool(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.build().unwrap()
}

/// Needs a second thread.
fn meet() {
    let second = Event::new();
    rayon_core::join(|| second.spin(), || second.happens());
}

/// The thread that waits for the inner scope is needed by the last closure that `spawn_all` spawns, on the other thread.
fn help_with(spawn_all: impl Fn(&Scope<'_>, &Scope<'_>) + Sync) {
    let (begun, spawn_all) = (Event::new(), &spawn_all);
    pool(2).install(|| {
        rayon_core::scope(|outer| {
            rayon_core::in_place_scope(|inner| {
                inner.spawn(move |inner| {
                    spawn_all(outer, inner);
                    begun.happens();
                });
                begun.spin();
            });
        });
    });
}

#[test]
fn a_closure_is_helped_above_one_of_another_scope() {
    help_with(|outer, inner| {
        outer.spawn(|_| ());
        inner.spawn(|_| ());
        inner.spawn(|_| meet());
    });
}

#[test]
fn a_closure_is_helped_above_what_a_join_and_a_yield_have_left() {
    help_with(|outer, inner| {
        rayon_core::join(|| outer.spawn(|_| ()), || inner.spawn(|_| ()));
        rayon_core::yield_local();
        inner.spawn(|_| meet());
    });
}

#[test]
fn a_closure_behind_one_of_another_scope_is_run_by_who_waits_for_it() {
    for has_another_below in [false, true] {
        let ran = Event::new();
        help_with(move |outer, inner| {
            if has_another_below {
                outer.spawn(|_| ());
            }
            inner.spawn(|_| ran.happens());
            outer.spawn(|_| ran.spin());
        });
    }
}

#[test]
fn closures_of_fifo_scopes_are_helped() {
    let begun = Event::new();
    pool(2).install(|| {
        rayon_core::scope_fifo(|outer| {
            rayon_core::in_place_scope_fifo(|inner| {
                inner.spawn_fifo(move |inner| {
                    outer.spawn_fifo(|_| ());
                    inner.spawn_fifo(|_| meet());
                    inner.spawn_fifo(|_| ());
                    begun.happens();
                });
                begun.spin();
            });
        });
    });
}

#[test]
fn closures_that_a_broadcast_has_spawned_are_helped() {
    let begun = Event::new();
    pool(2).install(|| {
        let here = rayon_core::current_thread_index().unwrap();
        rayon_core::scope(|outer| {
            rayon_core::in_place_scope(|inner| {
                inner.spawn_broadcast(move |inner, context| {
                    if context.index() != here {
                        outer.spawn(|_| ());
                        inner.spawn(|_| meet());
                        begun.happens();
                    }
                });
                begun.spin();
            });
        });
    });
}

#[test]
fn closures_are_helped_beside_those_of_a_thread_outside_of_the_pool() {
    let begun = Event::new();
    let pool = pool(2);
    let inside = |outer: &Scope<'_>| {
        rayon_core::scope(|inner| {
            inner.spawn(move |inner| {
                outer.spawn(|_| ());
                inner.spawn(|_| meet());
                begun.happens();
            });
            begun.spin();
        });
    };
    pool.in_place_scope(|outer| outer.spawn(inside));
}

#[test]
fn a_closure_that_a_thread_outside_of_the_pool_spawns_is_run_by_who_waits_for_it() {
    let (is_busy, ran) = (Event::new(), Event::new());
    pool(2).install(|| {
        rayon_core::scope(|outer| {
            outer.spawn(|_| {
                is_busy.happens();
                ran.spin();
            });
            is_busy.spin();
            rayon_core::scope(|inner| {
                thread::scope(|threads| drop(threads.spawn(|| inner.spawn(|_| ran.happens()))));
            });
            rayon_core::scope_fifo(|inner| {
                thread::scope(|threads| drop(threads.spawn(|| inner.spawn_fifo(|_| ()))));
            });
        });
    });
}

/// A thread waits for a join; so it helps the other half with a closure of its scope, which spawns `spawn_all`, and ends.
fn help_in_a_wait(spawn_all: impl Fn(&Scope<'_>) + Sync) {
    let (is_stolen, begun, spawn_all) = (Event::new(), Event::new(), &spawn_all);
    let second = || {
        is_stolen.happens();
        rayon_core::scope(|scope| {
            scope.spawn(move |scope| {
                spawn_all(scope);
                begun.happens();
            });
            begun.spin();
        });
    };
    pool(2).install(|| rayon_core::join(|| is_stolen.spin(), second));
}

#[test]
fn closures_left_in_a_wait_are_helped_and_run_by_who_waits_for_them() {
    help_in_a_wait(|scope| {
        scope.spawn(|_| ());
        scope.spawn(|_| meet());
    });
    let ran = Event::new();
    help_in_a_wait(move |scope| {
        scope.spawn(|_| ran.happens());
        scope.spawn(|_| ran.spin());
    });
}

thread_local! {
    /// Whether the thread holds something that other closures want, such as a lock.
    static HOLDS: Cell<bool> = const { Cell::new(false) };
}

/// Calls `wait`, which waits in the pool, while the thread holds something.
fn hold(wait: impl FnOnce()) {
    HOLDS.set(true);
    wait();
    HOLDS.set(false);
}

/// A closure that wants what is held. On the thread that holds it, it would wait for ever.
fn want() {
    assert!(!HOLDS.get(), "a waiter runs what is not part of its wait");
}

/// Gives a thread that waits plenty of time to look for what it may run.
fn pass_time() {
    let until = now() + Duration::from_millis(30);
    while now() < until {
        thread::yield_now();
    }
}

/// A thread of a pool of two holds something in a closure, and waits there as `wait` does. Another closure of the same scope, which
/// it has pushed too, wants that; the other thread computes meanwhile.
fn a_waiter_leaves_its_scope_s_other_closures(wait: impl Fn() + Sync) {
    let wait = &wait;
    let (is_busy, is_over) = (Event::new(), Event::new());
    pool(2).install(|| {
        rayon_core::scope(|scope| {
            scope.spawn(move |_| {
                is_busy.happens();
                is_over.spin();
            });
            is_busy.spin();
            scope.spawn(|_| want());
            scope.spawn(move |_| {
                hold(wait);
                is_over.happens();
            });
        });
    });
}

#[test]
fn who_waits_for_another_pool_runs_no_other_closure_of_its_scope() {
    let other = pool(1);
    a_waiter_leaves_its_scope_s_other_closures(|| other.install(pass_time));
}

#[test]
fn who_waits_for_a_half_of_a_join_runs_no_closure_that_this_half_spawns_outside() {
    let is_stolen = Event::new();
    pool(2).install(|| {
        rayon_core::scope(|scope| {
            let second = || {
                is_stolen.happens();
                scope.spawn(|_| want());
                pass_time();
            };
            hold(|| {
                rayon_core::join(|| is_stolen.spin(), second);
            });
        });
    });
}
