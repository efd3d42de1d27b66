//! Sleeping in the I/O driver: the parker with a waker, and the driver, which a worker and the stand-in thread enter in
//! turn.
//!
//! Threads: a sleeper and two that wake it; or a worker or two, the thread, and one that gives tokio a task. The
//! bound is the default.
//! Property: no wake is lost; one thread at a time is in the driver; its alarm wakes it, though no other thread does; a
//! thread that asks for the driver gets it, and the stand-in thread comes when it is called.

use super::{Waiter, check};
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::poller::{Poller, PollerSleep};
use crate::sync::{Parker, Sleeper};
use loom::sync::Arc;
use loom::thread;
use std::task::{Context, Poll};

#[test]
fn a_wake_of_a_sleeper_that_is_polled_is_not_lost() {
    check(|| {
        let shared = Arc::new((Parker::new(), AtomicU32::new(0)));
        let wakers = [(), ()].map(|()| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                // Relaxed: published by the wake.
                shared.1.fetch_add(1, Ordering::Relaxed);
                shared.0.unpark();
            })
        });
        let (parker, happened) = &*shared;
        let watcher = Waiter::new();
        // Relaxed: acquired through the parker.
        while happened.load(Ordering::Relaxed) < 2 {
            watcher.wait(|context| parker.poll_park(context));
            parker.end_polls();
        }
        for waker in wakers {
            waker.join().expect("the model fails at once");
        }
    });
}

#[test]
fn a_sleeper_may_be_polled_and_then_park() {
    check(|| {
        let shared = Arc::new((Parker::new(), AtomicBool::new(false)));
        let waker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                // Relaxed: published by the wake.
                shared.1.store(true, Ordering::Relaxed);
                shared.0.unpark();
            }
        });
        let (parker, happened) = &*shared;
        let watcher = Waiter::new();
        let is_woken = watcher.wait(|context| Poll::Ready(parker.poll_park(context).is_ready()));
        parker.end_polls();
        // Relaxed: acquired through the parker.
        while !happened.load(Ordering::Relaxed) {
            assert!(!is_woken, "the wake comes after what it tells of");
            parker.park();
        }
        waker.join().expect("the model fails at once");
    });
}

/// A worker of the models.
#[derive(Debug)]
struct Worker(Parker);

impl Worker {
    /// It is never freed, as a slot.
    fn new() -> &'static Self {
        Box::leak(Box::new(Self(Parker::new())))
    }

    /// Watches until it is woken, if it gets in.
    fn watch(&'static self, tokio: &Tokio, alarm: u64) {
        if tokio.place.come(self) {
            tokio.come_in();
            tokio.place.set_alarm(self, alarm, || tokio.thread.unpark());
            Waiter::new().wait(|context| self.poll_wake(context));
            self.0.end_polls();
            tokio.go_out();
            tokio.place.leave();
        }
    }
}

impl Sleeper for Worker {
    fn poll_wake(&self, context: &Context<'_>) -> Poll<()> {
        self.0.poll_park(context)
    }

    fn wake(&self) {
        self.0.unpark();
    }

    fn has_work(&self) -> bool {
        false
    }
}

/// What is watched, and the thread that stands in.
#[derive(Debug)]
struct Tokio {
    place: Poller,
    thread: Parker,
    /// Woken when the thread has come.
    has_come: Parker,
    /// Somebody is inside of tokio, which takes one at a time.
    is_inside: AtomicBool,
    /// There are tasks of tokio's own.
    has_tasks: AtomicBool,
    is_over: AtomicBool,
}

impl Tokio {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            place: Poller::new(),
            thread: Parker::new(),
            has_come: Parker::new(),
            is_inside: AtomicBool::new(false),
            has_tasks: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
        })
    }

    fn come_in(&self) {
        // Relaxed: the place orders who is inside.
        let was_inside = self.is_inside.swap(true, Ordering::Relaxed);
        assert!(!was_inside, "one at a time is inside");
    }

    fn go_out(&self) {
        // Relaxed: as above.
        self.is_inside.store(false, Ordering::Relaxed);
    }

    /// The thread, until it has nothing to do when all is over. Time passes when it has to.
    fn stand_by(tokio: &Arc<Self>) -> thread::JoinHandle<()> {
        let tokio = Arc::clone(tokio);
        thread::spawn(move || {
            let waiter = Waiter::new();
            let mut now = 0;
            loop {
                if tokio.place.answer() {
                    tokio.has_come.unpark();
                    tokio.come_in();
                    waiter.wait(|context| tokio.poll_leave(context));
                    tokio.go_out();
                    tokio.place.thread_leaves();
                }
                match tokio.place.nap(now) {
                    PollerSleep::No => {}
                    PollerSleep::Until(alarm) => now = alarm,
                    // SeqCst: the end of the model, which unparks the thread.
                    PollerSleep::ForEver if tokio.is_over.load(Ordering::SeqCst) => return,
                    PollerSleep::ForEver => tokio.thread.park(),
                }
            }
        })
    }

    fn poll_leave(&self, context: &Context<'_>) -> Poll<()> {
        // SeqCst: tokio's count, and the end of the model.
        let must_stay = || self.has_tasks.load(Ordering::SeqCst);
        let is_wanted = self.place.poll_leave(context, must_stay);
        if self.is_over.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        is_wanted
    }

    fn end(&self, thread: thread::JoinHandle<()>) {
        // SeqCst: found at the next look.
        self.is_over.store(true, Ordering::SeqCst);
        self.place.rouse();
        self.thread.unpark();
        thread.join().expect("the model fails at once");
    }
}

#[test]
fn who_is_in_the_place_is_woken_by_its_alarm_whatever_tokio_gets_to_do_meanwhile() {
    check(|| {
        let tokio = Tokio::new();
        let thread = Tokio::stand_by(&tokio);
        let spawner = thread::spawn({
            let tokio = Arc::clone(&tokio);
            move || {
                // SeqCst, both: tokio's count. No thread is notified when the task ends.
                tokio.has_tasks.store(true, Ordering::SeqCst);
                tokio.has_tasks.store(false, Ordering::SeqCst);
            }
        });
        // Where it does not get in, it sleeps by its own alarm.
        Worker::new().watch(&tokio, 5);
        spawner.join().expect("the model fails at once");
        tokio.end(thread);
    });
}

#[test]
fn who_asks_is_woken_when_the_thread_has_left_and_gets_in() {
    check(|| {
        let tokio = Tokio::new();
        let thread = Tokio::stand_by(&tokio);
        let worker = Worker::new();
        while !tokio.place.come(worker) {
            worker.0.park();
        }
        tokio.come_in();
        tokio.go_out();
        tokio.place.leave();
        tokio.end(thread);
    });
}

#[test]
fn the_alarm_of_who_comes_next_is_not_lost_with_that_of_who_leaves() {
    check(|| {
        let tokio = Tokio::new();
        let thread = Tokio::stand_by(&tokio);
        let next = thread::spawn({
            let tokio = Arc::clone(&tokio);
            move || Worker::new().watch(&tokio, 7)
        });
        let worker = Worker::new();
        // It is woken for something else.
        worker.wake();
        worker.watch(&tokio, 5);
        next.join().expect("the model fails at once");
        tokio.end(thread);
    });
}

#[test]
fn the_thread_watches_after_the_last_worker_has_called_it() {
    check(|| {
        let tokio = Tokio::new();
        let thread = Tokio::stand_by(&tokio);
        let worker = Worker::new();
        worker.wake();
        worker.watch(&tokio, 5);
        tokio.place.call();
        tokio.thread.unpark();
        while tokio.place.is_vacant() {
            tokio.has_come.park();
        }
        tokio.end(thread);
    });
}
