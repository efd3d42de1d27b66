//! Threads that stand in for blocked ones: how they come, and how they leave.
//!
//! Threads: a spare worker, a pusher, the monitor. Operations, as in `runtime/worker.rs`, `runtime/threads.rs`
//! and `runtime/patrol.rs`: announce, look again, leave, vacate, use the room; push, claim, start; mark, make
//! use of the room, unmark. A thread that is started runs here on the thread of who starts it, which is one of
//! its possible orders.
//! Property: a pushed task is run, once, with no further round of the monitor; nobody has a place twice; the
//! count of threads found blocked is never below the marks, and right at the end.

use super::{Work, check, check_deeper};
use crate::queue::TaskQueue;
use crate::runtime::idle::{Activity, Claim, Idle};
use crate::runtime::mark::Mark;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

/// A pool of one worker that may run, and one place for another.
struct Model {
    idle: Idle,
    queue: TaskQueue<Work>,
    task: [Work; 1],
    mark: Mark,
    /// Threads on the place of the second worker.
    on_second: AtomicUsize,
}

impl Model {
    /// The first worker runs.
    fn new() -> Arc<Self> {
        let idle = Idle::new(1, 2);
        assert_eq!(idle.claim(), Some(Claim::Unstarted(0)));
        Arc::new(Self {
            idle,
            queue: TaskQueue::new(),
            task: Work::some(),
            mark: Mark::new(),
            on_second: AtomicUsize::new(0),
        })
    }

    /// The first worker has said that it blocks, and the second runs in its place.
    fn with_spare() -> Arc<Self> {
        let model = Self::new();
        model.idle.begin(Activity::Blocked);
        assert_eq!(model.idle.claim(), Some(Claim::Unstarted(1)));
        model.sit_down();
        model
    }

    fn sit_down(&self) {
        // SeqCst: only counted.
        let before = self.on_second.fetch_add(1, Ordering::SeqCst);
        assert_eq!(before, 0, "two threads have one place");
    }

    fn stand_up(&self) {
        // SeqCst: only counted.
        self.on_second.fetch_sub(1, Ordering::SeqCst);
    }

    fn inject(&self) {
        self.task[0].prepare();
        // SAFETY: 1. the task lives as long as the model; 2. it is pushed once.
        unsafe { self.queue.push(self.task[0].as_ptr()) };
        self.wake();
    }

    fn use_room(&self) {
        if !self.queue.is_empty() {
            self.wake();
        }
    }

    fn wake(&self) {
        if self.idle.has_room()
            && let Some(Claim::Unstarted(worker)) = self.idle.claim()
        {
            assert_eq!(worker, 1);
            self.sit_down();
            self.run_what_is_there();
        }
    }

    /// A worker looks again for as long as it sees something.
    fn run_what_is_there(&self) {
        while !self.queue.is_empty() {
            match self.queue.take(1) {
                Some(run) => Work::at(run.first).run(),
                None => thread::yield_now(),
            }
        }
    }

    /// The second worker has slept for long enough.
    fn leave(&self) {
        self.idle.announce(1);
        if self.idle.has_room() && !self.queue.is_empty() {
            self.idle.withdraw(1);
            self.run_what_is_there();
        } else if self.idle.leave(1) {
            self.stand_up();
            self.idle.vacate(1);
            self.use_room();
        } else {
            // Claimed by the pusher, which wakes it.
            self.idle.withdraw(1);
            self.run_what_is_there();
        }
    }
}

#[test]
fn a_task_pushed_while_a_spare_leaves_is_run() {
    check_deeper(3, || {
        let model = Model::with_spare();
        let pusher = thread::spawn({
            let model = Arc::clone(&model);
            move || model.inject()
        });
        model.leave();
        pusher.join().unwrap();
        assert!(model.task[0].is_done(), "the task is left behind");
        assert_eq!(
            model.idle.threads(),
            2,
            "one blocked, one that has run the task"
        );
    });
}

#[test]
fn a_spare_leaves_only_while_others_are_enough() {
    check(|| {
        let model = Model::with_spare();
        let first = thread::spawn({
            let model = Arc::clone(&model);
            move || {
                model.idle.end(Activity::Blocked);
                model.idle.announce(0);
                model.idle.leave(0)
            }
        });
        model.idle.announce(1);
        let second = model.idle.leave(1);
        let first = first.join().unwrap();
        assert!(
            first != second,
            "one of the two is enough, and one is needed"
        );
        assert_eq!(model.idle.threads(), 1);
    });
}

#[test]
fn a_task_is_run_when_its_blocked_worker_is_found_and_goes_on_meanwhile() {
    check_deeper(3, || {
        let model = Model::new();
        let monitor = thread::spawn({
            let model = Arc::clone(&model);
            move || {
                model.idle.mark(&model.mark);
                model.use_room();
            }
        });
        let pusher = thread::spawn({
            let model = Arc::clone(&model);
            move || model.inject()
        });
        // Its job ends.
        model.idle.unmark(&model.mark);
        monitor.join().unwrap();
        pusher.join().unwrap();
        // Where it does not count as blocked any more it looks for the task itself.
        let has_room = model.mark.is_set();
        assert!(!has_room || model.task[0].is_done(), "nobody used the room");
        model.idle.unmark(&model.mark);
        assert_eq!(model.idle.census().found_blocked, 0);
    });
}

#[test]
fn a_mark_that_is_taken_away_at_once_was_counted() {
    check_deeper(4, || {
        let model = Model::new();
        let worker = thread::spawn({
            let model = Arc::clone(&model);
            move || {
                model.idle.unmark(&model.mark);
                let found = model.idle.census().found_blocked;
                assert!(found <= 1, "{found} are less than nothing");
            }
        });
        model.idle.mark(&model.mark);
        worker.join().unwrap();
        model.idle.unmark(&model.mark);
        assert_eq!(model.idle.census().found_blocked, 0);
    });
}
