//! The tracker of tasks beside its close.
//!
//! Threads: two that end a task, one that closes and waits. Operations: those of `task/tracker.rs`.
//! Property: the wait ends, and the waiter sees what the tasks did that were added before; also what was added to a tracker that
//! was closed, while its last task ended. A wait that was there when no task was left ends without what is added then.

use super::{Waiter, Work, check, join_all, poll_once};
use crate::task::TaskTracker;
use loom::sync::Arc;
use loom::thread;
use std::pin::pin;

#[test]
fn the_wait_ends_after_the_last_task_and_the_close() {
    check(|| {
        let works: Arc<[Work; 2]> = Arc::new(Work::some());
        let tracker = TaskTracker::new();
        let tasks = [0, 1].map(|number| {
            let (works, token) = (Arc::clone(&works), tracker.token());
            thread::spawn(move || {
                works[number].run();
                drop(token);
            })
        });
        tracker.close();
        let mut ended = pin!(tracker.wait());
        Waiter::new().wait(|context| ended.as_mut().poll(context));
        assert!(tracker.is_empty() && works.iter().all(Work::is_done));
        join_all(tasks);
    });
}

#[test]
fn a_wait_after_another_task_was_added_sees_what_it_did() {
    check(|| {
        let work = Arc::new(Work::new(0));
        let tracker = TaskTracker::new();
        let last = tracker.token();
        tracker.close();
        let ends = thread::spawn(move || drop(last));
        let (token, theirs) = (tracker.token(), Arc::clone(&work));
        let runs = thread::spawn(move || {
            theirs.run();
            drop(token);
        });
        let mut ended = pin!(tracker.wait());
        Waiter::new().wait(|context| ended.as_mut().poll(context));
        assert!(work.is_done());
        join_all([ends, runs]);
    });
}

#[test]
fn a_wait_ends_though_who_sees_that_no_task_is_left_adds_one_that_stays() {
    check(|| {
        let tracker = TaskTracker::new();
        let last = tracker.token();
        tracker.close();
        let before = pin!(tracker.wait());
        let ends = thread::spawn(move || drop(last));
        if tracker.is_empty() {
            let stays = tracker.token();
            let after = pin!(tracker.wait());
            ends.join().unwrap();
            assert!(poll_once(before).is_some(), "no task was left");
            assert!(poll_once(after).is_none(), "one stays");
            drop(stays);
        } else {
            ends.join().unwrap();
        }
    });
}
