//! A runtime's end with its workers, beside a wake from outside.
//!
//! Threads: one that ends the runtime, a worker, one that wakes the waiting task or brings one by a handle. Operations, all
//! of `runtime/ending.rs` and `runtime/sleep/waking.rs`: a worker's turns; close; queue and notify, from outside under a
//! keep-alive guard or with an owner of the memory.
//! In one model a thread in its stop hook queues a task; in one the drop of a task brings another one and blocks until that is dropped too; in two a thread outside takes part.
//! Property: each queued or waiting task is dropped or run once, a task that is bound to a worker by that worker, before
//! it leaves; no worker leaves while a thread outside takes part; all threads see the end, and the end comes.

use super::pool::{Pool, Sleeps, Starts};
use super::{Flag, Work, beside, check, check_deeper, join_all};
use crate::runtime::ending::{self, Ends, VISITOR};
use crate::runtime::sleep::idle::Activity;
use crate::runtime::sleep::waking;
use loom::sync::Arc;

/// Closes a pool of one worker while something else happens to it.
fn close_beside(other: fn(&Pool<2>)) {
    check(move || {
        let pool = Pool::<2>::with_waiting(1);
        let worker = beside(&pool, |pool| pool.work(0, Sleeps::Shortly));
        let other = beside(&pool, move |pool| other(&pool));
        ending::close(&*pool, || {
            worker.join().expect("the model fails at once");
            true
        });
        other.join().expect("the model fails at once");
        assert!(pool.tasks[0].is_done(), "the task that waits is left");
        if !pool.queue.is_empty() {
            // A task that was queued after the end is dropped with the runtime.
            ending::discard_rest(&*pool);
        }
        assert!(pool.tasks.iter().all(Work::is_done));
    });
}

#[test]
fn a_task_that_is_queued_while_the_runtime_ends_is_run_or_dropped() {
    close_beside(|pool| pool.inject(1));
}

#[test]
fn a_task_that_is_woken_while_the_runtime_ends_is_run_or_dropped_once() {
    close_beside(|pool| {
        pool.wake_waiting();
        pool.inject(1);
    });
}

/// Brings a task from outside, as a handle does.
fn bring<const TASKS: usize>(pool: &Pool<TASKS>, number: usize) {
    let discard = |number: usize| {
        pool.tasks[number].prepare();
        pool.tasks[number].run();
    };
    ending::bring(pool, number, |number| pool.inject(number), discard);
}

#[test]
fn a_task_that_a_handle_brings_while_the_runtime_ends_is_left_to_nobody() {
    check(|| {
        let pool = Pool::<1>::new(1, 1, 0, Starts::Never);
        let bringer = beside(&pool, |pool| bring(&*pool, 0));
        // No worker lives: the two alone see to it.
        ending::close(&*pool, || false);
        bringer.join().expect("the model fails at once");
        assert!(pool.tasks[0].is_done());
    });
}

#[test]
fn the_end_comes_where_a_thread_that_brings_a_task_drops_the_last_one_that_waited() {
    // Three preemptions: the closing thread must queue that task before the other one looks, and look for tasks itself while that drops it.
    check_deeper(3, || {
        let pool = Pool::<2>::with_waiting(1);
        let worker = beside(&pool, |pool| pool.work(0, Sleeps::Shortly));
        let closer = beside(&pool, |pool| {
            ending::close(&*pool, || {
                assert!(!ending::is_left_to_calls(&*pool), "it waits for no worker");
                worker.join().expect("the model fails at once");
                true
            });
        });
        bring(&*pool, 1);
        closer.join().expect("the model fails at once");
        assert!(pool.tasks.iter().all(Work::is_done));
    });
}

#[test]
fn a_task_that_a_stop_hook_queues_and_waits_for_is_dropped_by_it_or_by_a_worker_that_leaves() {
    check(|| {
        let pool = Pool::<1>::new(1, 1, 0, Starts::Never);
        let worker = beside(&pool, |pool| pool.work(0, Sleeps::Shortly));
        let hook = beside(&pool, |pool| {
            pool.inject(0);
            ending::discard_if_ended(&*pool);
        });
        ending::close(&*pool, || {
            join_all([worker, hook]);
            assert!(pool.tasks[0].is_done(), "the hook waits for ever");
            true
        });
    });
}

/// Closes a pool whose task is bound to its first worker, while something else happens to it.
fn close_with_bound(workers: usize, other: Option<fn(&Pool<1>)>) {
    check(move || {
        let pool = Pool::<1>::with_bound(workers);
        let workers: Vec<_> = (0..workers)
            .map(|index| beside(&pool, move |pool| pool.work(index, Sleeps::Shortly)))
            .collect();
        let other = other.map(|other| beside(&pool, move |pool| other(&pool)));
        ending::close(&*pool, || {
            join_all(workers);
            // Nobody else may drop it.
            assert!(pool.tasks[0].is_done(), "its worker has left before it");
            true
        });
        if let Some(other) = other {
            other.join().expect("the model fails at once");
        }
    });
}

#[test]
fn a_task_bound_to_a_worker_is_dropped_before_that_leaves() {
    close_with_bound(1, None);
}

#[test]
fn a_task_bound_to_a_worker_that_is_woken_while_the_runtime_ends_is_dropped_before_that_leaves() {
    close_with_bound(1, Some(|pool| pool.wake_waiting()));
}

#[test]
fn a_worker_that_finds_nobody_awake_leaves_another_s_task_its_worker() {
    close_with_bound(2, None);
}

#[test]
fn what_a_destructor_brings_and_waits_for_is_dropped_by_another_thread() {
    // Three preemptions: the worker must have taken the task before the closing thread looks, and bring the other one later.
    check_deeper(3, || {
        let pool = Pool::<2>::with_drop_that_waits();
        let worker = beside(&pool, |pool| pool.work(0, Sleeps::Shortly));
        pool.inject(0);
        ending::close(&*pool, || {
            worker.join().expect("the model fails at once");
            true
        });
        assert!(pool.tasks.iter().all(Work::is_done));
    });
}

#[test]
fn both_workers_hear_of_the_end() {
    check(|| {
        // Nothing is queued: loom lets two that look for the same task take turns for ever.
        let pool = Pool::<0>::new(2, 2, 0, Starts::Never);
        let workers =
            [0, 1].map(|index| beside(&pool, move |pool| pool.work(index, Sleeps::Shortly)));
        ending::close(&*pool, || {
            join_all(workers);
            true
        });
    });
}

#[test]
fn a_wake_of_a_worker_that_is_awake_does_not_hide_the_end() {
    // Three preemptions: the worker must seem asleep, and be awake when it is claimed.
    check_deeper(3, || {
        // Its last task wakes it while the waker is about to.
        let pool = Pool::<1>::with_waiting(1);
        let worker = beside(&pool, |pool| pool.work(0, Sleeps::Shortly));
        let waker = beside(&pool, |pool| waking::wake_worker(&*pool, 0));
        ending::close(&*pool, || {
            worker.join().expect("the model fails at once");
            true
        });
        waker.join().expect("the model fails at once");
    });
}

/// A worker's life; afterwards it has left.
fn work_and_leave(pool: &Pool<0>, has_left: &Flag) {
    pool.work(0, Sleeps::Shortly);
    has_left.set();
}

#[test]
fn a_worker_stays_until_a_thread_outside_that_took_part_before_the_end_has_left() {
    // Three preemptions: the end must come between two steps of that thread.
    check_deeper(3, || {
        let (pool, has_left) = (
            Pool::<0>::new(1, 1, 0, Starts::Never),
            Arc::new(Flag::new()),
        );
        let shared = (pool.clone(), has_left);
        let worker = beside(&shared, |(pool, has_left)| work_and_leave(&pool, &has_left));
        let outside = beside(&shared, |(pool, has_left)| {
            if pool.idle.begin_call(Activity::ExternalThread) {
                assert!(!has_left.is_set(), "nobody is left who could help");
                waking::leave_external(&*pool, Activity::ExternalThread);
            } else {
                assert!(pool.ending().is_closing(), "it would come again");
            }
        });
        ending::close(&*pool, || {
            worker.join().expect("the model fails at once");
            true
        });
        outside.join().expect("the model fails at once");
    });
}

#[test]
fn the_closing_thread_does_not_wait_for_one_outside_that_takes_part() {
    check(|| {
        let (pool, has_left) = (
            Pool::<0>::new(1, 1, 0, Starts::Never),
            Arc::new(Flag::new()),
        );
        pool.idle.begin(Activity::ExternalThread);
        let shared = (pool.clone(), has_left.clone());
        let worker = beside(&shared, |(pool, has_left)| work_and_leave(&pool, &has_left));
        ending::close(&*pool, || {
            while !ending::is_left_to_calls(&*pool) {
                pool.closing_waits.park();
            }
            false
        });
        assert!(!has_left.is_set(), "nobody is left who could help");
        waking::leave_external(&*pool, Activity::ExternalThread);
        worker.join().expect("the model fails at once");
    });
}

#[test]
fn the_closing_thread_waits_though_one_outside_comes_too_late() {
    // Three preemptions: that thread must come between two looks of the closing one.
    check_deeper(3, || {
        let (pool, takes_part) = (
            Pool::<0>::new(1, 1, 0, Starts::Never),
            Arc::new(Flag::new()),
        );
        let worker = beside(&pool, |pool| pool.work(0, Sleeps::Shortly));
        let shared = (pool.clone(), takes_part.clone());
        let outside = beside(&shared, |(pool, takes_part)| {
            if pool.idle.begin_call(Activity::ExternalThread) {
                takes_part.set();
                waking::leave_external(&*pool, Activity::ExternalThread);
            }
        });
        let mut is_left_to_calls = false;
        ending::close(&*pool, || {
            while !is_left_to_calls && !ending::is_over(&*pool) {
                is_left_to_calls = ending::is_left_to_calls(&*pool);
                if !is_left_to_calls {
                    pool.closing_waits.park();
                }
            }
            false
        });
        join_all([worker, outside]);
        assert!(
            !is_left_to_calls || takes_part.is_set(),
            "it waits for no worker"
        );
    });
}

#[test]
fn the_end_does_not_come_while_a_worker_drops_what_came_late() {
    // Four preemptions: the task must come after a look at the counts and be taken before one at the queues, and its drop must last.
    check_deeper(4, || {
        let pool = Pool::<1>::with_workers_only();
        ending::close(&*pool, || false);
        // One that takes part keeps the end from coming until the task may.
        pool.idle.begin(VISITOR);
        let worker = beside(&pool, |pool| pool.work(0, Sleeps::Shortly));
        // It has looked whether the runtime ends before that began.
        let bringer = beside(&pool, |pool| pool.inject(0));
        waking::leave_external(&*pool, VISITOR);
        join_all([worker, bringer]);
        pool.run_what_is_there();
        assert!(pool.tasks[0].is_done());
    });
}
