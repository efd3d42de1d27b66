//! The queues of tasks from outside and of interactive ones in several shards: I1 where pushers and workers meet in
//! different ones.
//!
//! Threads: a worker and two pushers, or one pusher beside a second worker that sleeps. Operations, of
//! `runtime/sleep/waking.rs`: a worker's turns, and queueing a task from outside. There are two shards of each, and the
//! worker begins at the first, and with the interactive tasks where there are some. With three preemptions where there is one pusher.
//! Property: a pushed task is always run, without help of the monitor. While a worker is kept by the task that it runs,
//! the one that sleeps is claimed for the other task, also if that was pushed while the first one searched.

use super::pool::{Pool, Sleeps};
use super::{beside, check, check_deeper, join_all};
use loom::sync::Arc;

#[test]
fn tasks_in_two_shards_are_run_by_a_worker_that_falls_asleep() {
    check(|| {
        let model = Pool::<2>::with_shards(1, 2);
        let pushers =
            [0, 1].map(|number| beside(&model, move |model| model.inject_from(number, number)));
        model.work(0, Sleeps::Shortly);
        join_all(pushers);
        assert_eq!(model.idle.running(), 1);
    });
}

#[test]
fn a_task_pushed_while_another_is_found_is_not_left_to_a_worker_that_is_kept_by_that() {
    check_that_another_is_claimed(Pool::with_shards, Pool::inject_from);
}

#[test]
fn tasks_of_two_priorities_in_two_shards_are_run_by_a_worker_that_falls_asleep() {
    check(|| {
        let model = Pool::<2>::with_priorities(1, 2);
        let pushers = [
            beside(&model, |model| model.inject_from(1, 0)),
            beside(&model, |model| model.inject_interactive(1, 1)),
        ];
        model.work(0, Sleeps::Shortly);
        join_all(pushers);
        assert_eq!(model.idle.running(), 1);
    });
}

#[test]
fn a_task_pushed_while_one_of_another_priority_is_found_is_not_left_to_a_worker_that_is_kept_by_that()
 {
    check_that_another_is_claimed(Pool::with_priorities, Pool::inject_interactive);
}

/// One worker sleeps, the other one finds the first of two tasks and is kept by it; `push` brings the second meanwhile.
fn check_that_another_is_claimed(
    make: fn(usize, usize) -> Arc<Pool<2>>,
    push: fn(&Pool<2>, usize, usize),
) {
    check_deeper(3, move || {
        let model = make(2, 2);
        model.idle.announce(1);
        let pusher = beside(&model, move |model| {
            model.inject_from(0, 0);
            push(&model, 1, 1);
        });
        model.work_until_kept(0);
        pusher.join().unwrap();
        assert!(
            !model.idle.is_announced(1),
            "a task waits, and the worker that sleeps is not claimed"
        );
    });
}
