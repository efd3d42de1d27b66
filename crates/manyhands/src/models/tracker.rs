//! The tracker of tasks beside its close.
//!
//! Threads: two that end a task, one that closes and waits. Operations: those of `task/tracker.rs`.
//! Property: the wait ends, and the waiter sees what both tasks did.

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
