//! Threads that run in place of blocked ones: how they start, and how they leave.
//!
//! Threads: a spare worker, a pusher, the monitor, one that blocks. Operations: of `runtime/sleep/waking.rs` a worker's
//! turns, with sleeping and leaving, and the vacating of its slot; queueing and waking, or starting; the beginning
//! and the end of a block; of `runtime/sleep/idle.rs` mark and unmark.
//! Property: a pushed task is run, once, without a further sweep of the monitor; no slot has two threads; the count of
//! threads detected as blocked is never below the number of flags, and right at the end.

use super::pool::{Pool, Sleeps, Starts};
use super::{beside, check, check_deeper};
use crate::runtime::sleep::idle::{Activity, Claim, CountedFlag};
use crate::runtime::sleep::waking;
use loom::sync::Arc;
use loom::thread;

/// A pool in which one worker may run, with a slot for another. The first runs.
fn one_of_two() -> Arc<Pool<1>> {
    Pool::new(1, 1, 1, Starts::Always)
}

/// The first worker has declared that it blocks, and the second runs in its place.
fn with_spare() -> Arc<Pool<1>> {
    let pool = one_of_two();
    pool.idle.begin(Activity::Blocked);
    assert_eq!(pool.idle.claim(), Some(Claim::Unstarted(1)));
    pool.attach(1);
    pool
}

#[test]
fn a_task_pushed_while_a_spare_leaves_is_run() {
    check_deeper(3, || {
        let pool = with_spare();
        let pusher = beside(&pool, |pool| pool.inject(0));
        pool.work(1, Sleeps::Long);
        pusher.join().unwrap();
        assert!(pool.tasks[0].is_done(), "the task is left behind");
        assert_eq!(
            pool.idle.threads(),
            2,
            "one blocked, one that has run the task"
        );
    });
}

#[test]
fn a_spare_leaves_only_while_others_are_enough() {
    check(|| {
        let pool = with_spare();
        let first = beside(&pool, |pool| {
            waking::end_block(&*pool);
            pool.idle.announce(0);
            pool.idle.leave(0)
        });
        pool.idle.announce(1);
        let second = pool.idle.leave(1);
        let first = first.join().unwrap();
        assert!(
            first != second,
            "one of the two is enough, and one is needed"
        );
        assert_eq!(pool.idle.threads(), 1);
    });
}

#[test]
fn a_task_is_run_by_who_stands_in_for_a_thread_that_blocks() {
    check_deeper(3, || {
        let pool = one_of_two();
        let pusher = beside(&pool, |pool| pool.inject(0));
        // It never goes on.
        waking::begin_block(&*pool);
        pusher.join().unwrap();
        assert!(pool.tasks[0].is_done(), "nobody stands in");
    });
}

#[test]
fn a_task_is_run_when_a_thread_goes_on_and_the_one_that_stood_in_leaves() {
    check(|| {
        let pool = with_spare();
        let pusher = beside(&pool, |pool| pool.inject(0));
        let first = beside(&pool, |pool| {
            waking::end_block(&*pool);
            pool.work(0, Sleeps::Shortly);
        });
        pool.work(1, Sleeps::Long);
        first.join().unwrap();
        pusher.join().unwrap();
        assert!(pool.tasks[0].is_done(), "the task is left behind");
    });
}

#[test]
fn a_task_is_run_when_its_blocked_worker_is_found_and_goes_on_meanwhile() {
    check_deeper(3, || {
        let pool = one_of_two();
        let mark = Arc::new(CountedFlag::default());
        let monitor = thread::spawn({
            let (pool, mark) = (Arc::clone(&pool), Arc::clone(&mark));
            move || {
                pool.idle.detected_blocked.mark(&mark);
                waking::use_room(&*pool);
            }
        });
        let pusher = beside(&pool, |pool| pool.inject(0));
        // Its job ends.
        pool.idle.detected_blocked.unmark(&mark);
        monitor.join().unwrap();
        pusher.join().unwrap();
        // Where it does not count as blocked any more it looks for the task itself.
        let has_room = mark.is_set();
        assert!(!has_room || pool.tasks[0].is_done(), "nobody used the room");
        pool.idle.detected_blocked.unmark(&mark);
        assert_eq!(pool.idle.census().detected_blocked, 0);
    });
}

#[test]
fn a_mark_that_is_taken_away_at_once_was_counted() {
    check_deeper(4, || {
        let pool = one_of_two();
        let mark = Arc::new(CountedFlag::default());
        let worker = thread::spawn({
            let (pool, mark) = (Arc::clone(&pool), Arc::clone(&mark));
            move || {
                pool.idle.detected_blocked.unmark(&mark);
                let found = pool.idle.census().detected_blocked;
                assert!(found <= 1, "{found} are less than nothing");
            }
        });
        pool.idle.detected_blocked.mark(&mark);
        worker.join().unwrap();
        pool.idle.detected_blocked.unmark(&mark);
        assert_eq!(pool.idle.census().detected_blocked, 0);
    });
}
