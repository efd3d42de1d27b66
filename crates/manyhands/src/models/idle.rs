//! The idle protocol: I1, and which thread owns a wake.
//!
//! Threads: a worker or two, pushers, an external thread that leaves. Operations, all of `runtime/sleep/waking.rs`:
//! a worker's turns; queueing a task and notifying; an external thread's entering and leaving.
//! With four preemptions for the models of two threads: a claim that gets no worker needs as many.
//! In one model a task also has steal grace: there the queue is the pusher's own.
//! Property: a pushed task is always run, without help of the monitor. A sleeper is claimed at most once for each
//! announcement. The count of running threads is right afterwards.

use super::pool::{Pool, Sleeps, Starts};
use super::{beside, check, check_deeper, join_all};
use crate::runtime::sleep::idle::Activity;
use crate::runtime::sleep::waking::{self, Notify};
use loom::sync::Arc;

/// One worker that is awake, in a pool where one may run.
fn one_worker<const TASKS: usize>() -> Arc<Pool<TASKS>> {
    Pool::new(1, 1, 0, Starts::Never)
}

#[test]
fn a_task_pushed_while_the_worker_falls_asleep_is_run() {
    check_deeper(4, || {
        let model = one_worker::<1>();
        let pusher = beside(&model, |model| model.inject(0));
        model.work(0, Sleeps::Shortly);
        pusher.join().unwrap();
        assert_eq!(model.idle.running(), 1);
    });
}

#[test]
fn two_tasks_pushed_one_after_the_other_are_run() {
    check_deeper(4, || {
        let model = one_worker::<2>();
        let pusher = beside(&model, |model| {
            model.inject(0);
            model.inject(1);
        });
        model.work(0, Sleeps::Shortly);
        pusher.join().unwrap();
    });
}

#[test]
fn a_grace_does_not_hide_the_task_that_is_pushed_next() {
    check_deeper(4, || {
        let model = one_worker::<2>();
        let pusher = beside(&model, |model| {
            model.queue(0, Notify::NobodyWithGrace);
            model.inject(1);
        });
        model.work(0, Sleeps::Shortly);
        pusher.join().unwrap();
    });
}

#[test]
fn tasks_of_two_pushers_are_run() {
    check(|| {
        let model = one_worker::<2>();
        let pushers = [0, 1].map(|number| beside(&model, move |model| model.inject(number)));
        model.work(0, Sleeps::Shortly);
        join_all(pushers);
        assert_eq!(model.idle.running(), 1);
    });
}

#[test]
fn a_task_that_found_no_room_is_run_when_a_external_leaves() {
    check(|| {
        let model = one_worker::<1>();
        model.idle.begin(Activity::ExternalThread);
        let external = beside(&model, |model| {
            waking::leave_external(&*model, Activity::ExternalThread)
        });
        let pusher = beside(&model, |model| model.inject(0));
        model.work(0, Sleeps::Shortly);
        external.join().unwrap();
        pusher.join().unwrap();
        assert_eq!(model.idle.running(), 1);
    });
}

#[test]
fn a_wake_of_a_worker_that_is_awake_does_not_hide_a_task() {
    check(|| {
        let model = one_worker::<1>();
        let waker = beside(&model, |model| waking::wake_worker(&*model, 0));
        let pusher = beside(&model, |model| model.inject(0));
        model.work(0, Sleeps::Shortly);
        waker.join().unwrap();
        pusher.join().unwrap();
        assert_eq!(model.idle.running(), 1);
    });
}

#[test]
fn a_task_is_run_although_a_thread_could_not_be_started() {
    check_deeper(3, || {
        let model = Pool::<1>::new(2, 1, 1, Starts::Never);
        let external = beside(&model, |model| {
            // It stays, so no other thread uses its room.
            model.idle.begin(Activity::ExternalThread);
        });
        let pusher = beside(&model, |model| model.inject(0));
        model.work(0, Sleeps::Shortly);
        external.join().unwrap();
        pusher.join().unwrap();
        assert_eq!(model.idle.running(), 2);
    });
}

#[test]
fn a_short_task_behind_a_full_pool_is_run_and_leaves_the_counts_right() {
    check_deeper(3, || {
        let model = one_worker::<1>();
        // The limit is one, and a thread that computes for long has that place.
        model.idle.begin(Activity::ExternalThread);
        model.idle.set_extra_for_short_tasks(1);
        let pusher = beside(&model, |model| model.inject_short(0));
        // More than may, so it runs nothing but the short task.
        model.work(0, Sleeps::Shortly);
        pusher.join().unwrap();
        assert_eq!(model.idle.running(), 2);
        model.idle.end(Activity::ExternalThread);
        assert_eq!(model.idle.running(), 1);
    });
}

#[test]
fn two_wakers_claim_one_sleeper_once() {
    check(|| {
        let model = Pool::<0>::new(2, 1, 0, Starts::Never);
        let waker = beside(&model, |model| model.idle.claim().is_some());
        model.idle.announce(0);
        let claimed = model.idle.claim().is_some();
        let claimed_too = waker.join().unwrap();
        assert!(!(claimed && claimed_too), "one sleeper is woken for two");
        model.idle.withdraw(0);
        assert_eq!(model.idle.running(), 1);
    });
}
