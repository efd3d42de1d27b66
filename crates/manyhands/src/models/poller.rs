//! Sleeping in the I/O driver: the parker with a waker, and the driver, which a worker and the stand-in thread enter in
//! turn.
//!
//! Threads: a sleeper and two that wake it; or a worker or two, the thread, and one that gives tokio a task. Operations:
//! those of the parker, and those of the driver in `sync/poller.rs`. The bound is the default.
//! Property: no wake is lost; one thread at a time is in the driver; its alarm wakes it, though no other thread does; a
//! thread that asks for the driver gets it, and the stand-in thread comes when it is called.

use super::{Count, Flag, Waiter, beside, check, join_all};
use crate::sync::poller::{self, IoDriver, NEVER, Poller};
use crate::sync::{Parker, Sleeper};
use loom::sync::Arc;
use loom::thread;
use std::task::{Context, Poll};

#[test]
fn a_wake_of_a_sleeper_that_is_polled_is_not_lost() {
    check(|| {
        let shared = Arc::new((Parker::default(), Count::new()));
        let wakers = [(), ()].map(|()| {
            beside(&shared, |shared| {
                // Published by the wake.
                shared.1.add(1);
                shared.0.unpark();
            })
        });
        let (parker, happened) = &*shared;
        let watcher = Waiter::new();
        // Acquired through the parker.
        while happened.now() < 2 {
            watcher.wait(|context| parker.poll_park(context));
            parker.end_polls();
        }
        join_all(wakers);
    });
}

#[test]
fn a_sleeper_may_be_polled_and_then_park() {
    check(|| {
        let shared = Arc::new((Parker::default(), Flag::new()));
        let waker = beside(&shared, |shared| {
            // Published by the wake.
            shared.1.set();
            shared.0.unpark();
        });
        let (parker, happened) = &*shared;
        let watcher = Waiter::new();
        let is_woken = watcher.wait(|context| Poll::Ready(parker.poll_park(context).is_ready()));
        parker.end_polls();
        // Acquired through the parker.
        while !happened.is_set() {
            assert!(!is_woken, "the wake comes after what it tells of");
            parker.park();
        }
        waker.join().expect("the model fails at once");
    });
}

#[test]
fn a_wake_is_not_lost_where_what_is_polled_beside_the_sleeper_parks_itself() {
    check(|| {
        let shared = Arc::new((Parker::default(), Flag::new(), Flag::new()));
        let wakers = [
            beside(&shared, |shared| {
                shared.1.set();
                shared.0.unpark();
            }),
            beside(&shared, |shared| {
                shared.2.set();
                shared.0.unpark();
            }),
        ];
        let (parker, happened, has_ended) = &*shared;
        let watcher = Waiter::new();
        // Acquired through the parker, as below.
        while !happened.is_set() {
            watcher.wait(|context| {
                let woken = parker.poll_park(context);
                while woken.is_pending() && !has_ended.is_set() {
                    parker.park();
                }
                woken
            });
            parker.end_polls();
        }
        join_all(wakers);
    });
}

/// A worker of the models.
#[derive(Debug)]
struct Worker(Parker);

impl Worker {
    /// It is never freed, as a slot.
    fn new() -> &'static Self {
        Box::leak(Box::new(Self(Parker::default())))
    }

    /// Watches until it is woken, if it gets in.
    fn watch(&'static self, tokio: &Tokio, alarm: u64) {
        if poller::sleep(tokio, self, || Some(alarm)) {
            self.0.end_polls();
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
    poller: Poller,
    thread: Parker,
    /// Woken when the thread has come.
    has_come: Parker,
    /// Somebody is inside of tokio, which takes one at a time.
    is_inside: Flag,
    /// There are tasks of tokio's own.
    has_tasks: Flag,
    is_over: Flag,
}

impl Tokio {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            poller: Poller::new(),
            thread: Parker::default(),
            has_come: Parker::default(),
            is_inside: Flag::new(),
            has_tasks: Flag::new(),
            is_over: Flag::new(),
        })
    }

    fn come_in(&self) {
        assert!(!self.is_inside.set(), "one at a time is inside");
    }

    fn go_out(&self) {
        self.is_inside.take();
    }

    /// The thread, until it has nothing to do when all is over. Time passes when it has to.
    fn stand_by(tokio: &Arc<Self>) -> thread::JoinHandle<()> {
        beside(tokio, |tokio| {
            let mut now = 0;
            loop {
                match poller::stand_by(&*tokio, || now) {
                    None => {}
                    // The thread that ends the model unparks this one.
                    Some(NEVER) if tokio.is_over.is_set() => return,
                    Some(NEVER) => tokio.thread.park(),
                    Some(alarm) => now = alarm,
                }
            }
        })
    }

    fn end(&self, thread: thread::JoinHandle<()>) {
        // Published by what wakes the thread, wherever it is.
        self.is_over.set();
        self.poller.repoll_thread();
        self.thread.unpark();
        thread.join().expect("the model fails at once");
    }
}

impl IoDriver for &Tokio {
    fn poller(&self) -> &Poller {
        &self.poller
    }

    fn unpark_thread(self) {
        self.thread.unpark();
    }

    fn has_tasks(self) -> bool {
        self.has_tasks.is_set()
    }

    fn block_on(self, mut poll: impl FnMut(&mut Context<'_>) -> Poll<()>) {
        self.has_come.unpark();
        self.come_in();
        Waiter::new().wait(|context| {
            let is_wanted = poll(context);
            if self.is_over.is_set() {
                return Poll::Ready(());
            }
            is_wanted
        });
        self.go_out();
    }

    fn block_on_worker(
        self,
        _: &'static dyn Sleeper,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<()>,
    ) {
        self.come_in();
        Waiter::new().wait(|context| poll(context));
        self.go_out();
    }
}

#[test]
fn a_polling_worker_is_woken_by_its_alarm_whatever_tokio_does_meanwhile() {
    check(|| {
        let tokio = Tokio::new();
        let thread = Tokio::stand_by(&tokio);
        let spawner = beside(&tokio, |tokio| {
            // No thread is notified when the task ends.
            tokio.has_tasks.set();
            tokio.has_tasks.take();
        });
        // Where it does not get in, it sleeps by its own alarm.
        Worker::new().watch(&tokio, 5);
        spawner.join().expect("the model fails at once");
        tokio.end(thread);
    });
}

#[test]
fn a_worker_that_asks_is_woken_when_the_thread_has_stopped_and_polls_then() {
    check(|| {
        let tokio = Tokio::new();
        let thread = Tokio::stand_by(&tokio);
        let worker = Worker::new();
        // It is woken when the thread has left; in the place, when its time has come.
        while !poller::sleep(&*tokio, worker, || Some(5)) {
            worker.0.park();
        }
        worker.0.end_polls();
        tokio.end(thread);
    });
}

#[test]
fn the_alarm_of_the_next_poller_is_not_cleared_with_that_of_the_last() {
    check(|| {
        let tokio = Tokio::new();
        let thread = Tokio::stand_by(&tokio);
        let next = beside(&tokio, |tokio| Worker::new().watch(&tokio, 7));
        let worker = Worker::new();
        // It is woken for something else.
        worker.wake();
        worker.watch(&tokio, 5);
        next.join().expect("the model fails at once");
        tokio.end(thread);
    });
}

#[test]
fn the_thread_polls_after_the_last_worker_has_left_also_if_that_has_asked_it_to_stop() {
    check(|| {
        let tokio = Tokio::new();
        let thread = Tokio::stand_by(&tokio);
        let worker = Worker::new();
        worker.wake();
        worker.watch(&tokio, 5);
        poller::stand_down(&*tokio);
        while !tokio.poller.is_held_by_thread_that_stays() {
            tokio.has_come.park();
        }
        tokio.end(thread);
    });
}
