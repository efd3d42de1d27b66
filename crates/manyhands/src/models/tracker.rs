//! The tracker of tasks beside its close.
//!
//! Threads: two that end a task, one that closes and waits. Operations: those of `task/tracker.rs`.
//! Property: the wait ends, and the waiter sees what the tasks did that were added before; also what was added to a tracker that
//! was closed, while its last task ended.

use super::{Waiter, Work, check, join_all};
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
