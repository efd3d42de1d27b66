//! The idle protocol: I1, and who owns a wake.
//!
//! Threads: a worker or two, pushers, a guest that leaves. Operations, as in `runtime/worker.rs` and
//! `runtime/shared.rs`: look, search, announce, look again, park, withdraw; push, ask for room and for
//! searchers, claim, give up, unpark; begin and end a stay, use the room.
//! With four preemptions for the models of two threads: a claim that finds nobody needs as many.
//! One model also holds a task, as in `runtime/current.rs`: the pusher's own queue, then.
//! Property: a pushed task is always run, with no monitor to help; one sleeper is claimed at most once
//! for each announcement, and the count of running threads is right afterwards.

use super::{Work, check, check_deeper};
use crate::queue::TaskQueue;
use crate::runtime::hold::Hold;
use crate::runtime::idle::{Activity, Claim, Idle};
use crate::sync::Parker;
use loom::sync::Arc;
use loom::thread;

/// A pool with one queue.
struct Model<const TASKS: usize> {
    idle: Idle,
    queue: TaskQueue<Work>,
    hold: Hold,
    tasks: [Work; TASKS],
    parkers: Vec<Parker>,
}

impl<const TASKS: usize> Model<TASKS> {
    /// A pool in which `limit` threads may run, and whose `workers` are awake.
    fn new(limit: usize, workers: usize) -> Arc<Self> {
        Self::with_unstartable(limit, workers, 0)
    }

    /// Like [`new`](Self::new), with so many workers more that cannot be started.
    fn with_unstartable(limit: usize, workers: usize, unstartable: usize) -> Arc<Self> {
        let idle = Idle::new(limit, workers + unstartable);
        for worker in 0..workers {
            assert_eq!(idle.claim(), Some(Claim::Unstarted(worker)));
        }
        Arc::new(Self {
            idle,
            queue: TaskQueue::new(),
            hold: Hold::new(),
            tasks: Work::some(),
            parkers: (0..workers).map(|_| Parker::new()).collect(),
        })
    }

    fn inject(&self, number: usize) {
        self.hold.end();
        self.push(number);
        self.wake_if_nobody_searches();
    }

    /// Pushes the first task of an empty queue, whose owner will come to it.
    fn push_held(&self, number: usize) {
        self.hold.begin();
        self.push(number);
    }

    fn push(&self, number: usize) {
        self.tasks[number].prepare();
        // SAFETY: 1. the task lives as long as the model; 2. each number is pushed once.
        unsafe { self.queue.push(self.tasks[number].as_ptr()) };
    }

    fn wake_if_nobody_searches(&self) {
        if self.idle.has_room() && !self.idle.is_anyone_searching() {
            let mut claim = self.idle.claim();
            while let Some(Claim::Unstarted(worker)) = claim {
                claim = self.idle.give_up(worker);
            }
            if let Some(Claim::Asleep(worker)) = claim {
                self.parkers[worker].unpark();
            }
        }
    }

    fn guest_leaves(&self) {
        self.idle.end(Activity::Guest);
        if self.idle.has_room() && !self.queue.is_empty() {
            self.wake_if_nobody_searches();
        }
    }

    /// A worker's life, until it has run `count` tasks.
    fn work(&self, worker: usize, count: usize) {
        let mut left = count;
        while left > 0 {
            if self.idle.is_overfull() {
                self.sleep(worker);
            } else if self.run_one() || self.search() {
                left -= 1;
            } else {
                self.sleep(worker);
            }
        }
    }

    fn search(&self) -> bool {
        self.idle.begin(Activity::Searching);
        let found = self.take();
        self.idle.end(Activity::Searching);
        found.map(Work::run).is_some()
    }

    fn run_one(&self) -> bool {
        self.take().map(Work::run).is_some()
    }

    fn take(&self) -> Option<&Work> {
        self.queue.take(1).map(|run| Work::at(run.first))
    }

    fn sleep(&self, worker: usize) {
        self.idle.announce(worker);
        loop {
            if self.idle.has_room() && !self.queue.is_empty() && !self.hold.is_on() {
                // What is visible may not be takeable yet.
                thread::yield_now();
                break;
            }
            self.parkers[worker].park();
            if !self.idle.is_announced(worker) {
                break;
            }
        }
        self.idle.withdraw(worker);
    }
}

#[test]
fn a_task_pushed_while_the_worker_falls_asleep_is_run() {
    check_deeper(4, || {
        let model = Model::<1>::new(1, 1);
        let pusher = thread::spawn({
            let model = Arc::clone(&model);
            move || model.inject(0)
        });
        model.work(0, 1);
        pusher.join().unwrap();
        assert_eq!(model.idle.running(), 1);
    });
}

#[test]
fn two_tasks_pushed_one_after_the_other_are_run() {
    check_deeper(4, || {
        let model = Model::<2>::new(1, 1);
        let pusher = thread::spawn({
            let model = Arc::clone(&model);
            move || {
                model.inject(0);
                model.inject(1);
            }
        });
        model.work(0, 2);
        pusher.join().unwrap();
    });
}

#[test]
fn a_hold_does_not_hide_the_task_that_is_pushed_next() {
    check_deeper(4, || {
        let model = Model::<2>::new(1, 1);
        let pusher = thread::spawn({
            let model = Arc::clone(&model);
            move || {
                model.push_held(0);
                model.inject(1);
            }
        });
        model.work(0, 2);
        pusher.join().unwrap();
    });
}

#[test]
fn tasks_of_two_pushers_are_run() {
    check(|| {
        let model = Model::<2>::new(1, 1);
        let pushers = [0, 1].map(|number| {
            let model = Arc::clone(&model);
            thread::spawn(move || model.inject(number))
        });
        model.work(0, 2);
        for pusher in pushers {
            pusher.join().unwrap();
        }
        assert_eq!(model.idle.running(), 1);
    });
}

#[test]
fn a_task_that_found_no_room_is_run_when_a_guest_leaves() {
    check(|| {
        let model = Model::<1>::new(1, 1);
        model.idle.begin(Activity::Guest);
        let guest = thread::spawn({
            let model = Arc::clone(&model);
            move || model.guest_leaves()
        });
        let pusher = thread::spawn({
            let model = Arc::clone(&model);
            move || model.inject(0)
        });
        model.work(0, 1);
        guest.join().unwrap();
        pusher.join().unwrap();
        assert_eq!(model.idle.running(), 1);
    });
}

#[test]
fn a_task_is_run_although_a_thread_could_not_be_started() {
    check_deeper(3, || {
        let model = Model::<1>::with_unstartable(2, 1, 1);
        let guest = thread::spawn({
            let model = Arc::clone(&model);
            // It stays, so nobody uses its room.
            move || model.idle.begin(Activity::Guest)
        });
        let pusher = thread::spawn({
            let model = Arc::clone(&model);
            move || model.inject(0)
        });
        model.work(0, 1);
        guest.join().unwrap();
        pusher.join().unwrap();
        assert_eq!(model.idle.running(), 2);
    });
}

#[test]
fn two_wakers_claim_one_sleeper_once() {
    check(|| {
        let model = Model::<0>::new(2, 1);
        let waker = thread::spawn({
            let model = Arc::clone(&model);
            move || model.idle.claim().is_some()
        });
        model.idle.announce(0);
        let claimed = model.idle.claim().is_some();
        let claimed_too = waker.join().unwrap();
        assert!(!(claimed && claimed_too), "one sleeper is woken for two");
        model.idle.withdraw(0);
        assert_eq!(model.idle.running(), 1);
    });
}
