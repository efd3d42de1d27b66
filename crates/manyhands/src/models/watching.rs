//! Sleeping where sockets are watched: the parker with a waker, and the place that a worker and the thread
//! that stands in for workers take in turn. The parker is real; the steps of `tokio/driver.rs` are written out
//! again.
//!
//! Threads: a sleeper and two that wake it, or a worker and the thread. Operations: poll, wake, end; take the
//! place and ask for it, watch and leave, give it back and call.
//! Property: no wake is lost; who asks for the place gets it, and somebody watches in the end.

use super::{Waiter, check};
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::{Mutex, Parker, lock};
use loom::sync::Arc;
use loom::thread;
use std::task::{Context, Poll, Waker};

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

/// The place, and the thread that stands in.
#[derive(Debug)]
struct Place {
    is_taken: AtomicBool,
    is_called: AtomicBool,
    is_wanted: AtomicBool,
    is_watching: AtomicBool,
    waker: Mutex<Option<Waker>>,
    thread: Parker,
    /// Tokio's own: who is inside, and who waits to be.
    inside: Mutex<(bool, Option<Waker>)>,
    is_over: AtomicBool,
}

impl Place {
    fn new() -> Self {
        Self {
            is_taken: AtomicBool::new(false),
            is_called: AtomicBool::new(true),
            is_wanted: AtomicBool::new(false),
            is_watching: AtomicBool::new(false),
            waker: Mutex::new(None),
            thread: Parker::new(),
            inside: Mutex::new((false, None)),
            is_over: AtomicBool::new(false),
        }
    }

    fn enter(&self, context: &Context<'_>) -> Poll<()> {
        let mut inside = lock(&self.inside);
        if inside.0 {
            inside.1 = Some(context.waker().clone());
            return Poll::Pending;
        }
        inside.0 = true;
        Poll::Ready(())
    }

    fn go_out(&self) {
        let mut inside = lock(&self.inside);
        inside.0 = false;
        if let Some(next) = inside.1.take() {
            next.wake();
        }
    }

    /// The thread, until it watches after the worker has left for good.
    fn stand_by(&self) {
        let waiter = Waiter::new();
        loop {
            // SeqCst, all: as in the driver.
            if self.is_called.swap(false, Ordering::SeqCst) && !self.is_taken.load(Ordering::SeqCst)
            {
                waiter.wait(|context| self.enter(context));
                let is_over = waiter.wait(|context| self.poll_leave(context));
                *lock(&self.waker) = None;
                // SeqCst, both: as in the driver.
                self.is_watching.store(false, Ordering::SeqCst);
                self.is_wanted.store(false, Ordering::SeqCst);
                self.go_out();
                if is_over {
                    return;
                }
            }
            self.thread.park();
        }
    }

    fn poll_leave(&self, context: &Context<'_>) -> Poll<bool> {
        *lock(&self.waker) = Some(context.waker().clone());
        // SeqCst, all: as in the driver.
        self.is_watching.store(true, Ordering::SeqCst);
        if self.is_over.load(Ordering::SeqCst) {
            return Poll::Ready(true);
        }
        // SeqCst, both: as above.
        if self.is_wanted.load(Ordering::SeqCst) || self.is_taken.load(Ordering::SeqCst) {
            return Poll::Ready(false);
        }
        Poll::Pending
    }

    /// The worker takes the place, comes in, goes out and gives it back.
    fn watch(&self) {
        // SeqCst, all: as in the driver.
        self.is_taken.store(true, Ordering::SeqCst);
        if self.is_watching.load(Ordering::SeqCst) {
            self.is_wanted.store(true, Ordering::SeqCst);
            self.wake_thread();
        }
        Waiter::new().wait(|context| self.enter(context));
        self.go_out();
        // SeqCst: as above.
        self.is_taken.store(false, Ordering::SeqCst);
    }

    /// The worker will not come again.
    fn leave(&self) {
        // SeqCst: as above.
        self.is_called.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }

    fn wake_thread(&self) {
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[test]
fn who_asks_for_the_place_gets_it_and_the_thread_watches_in_the_end() {
    check(|| {
        let place = Arc::new(Place::new());
        let thread = thread::spawn({
            let place = Arc::clone(&place);
            move || place.stand_by()
        });
        place.watch();
        place.leave();
        // SeqCst: the end of the model; found at the next poll.
        place.is_over.store(true, Ordering::SeqCst);
        place.wake_thread();
        thread.join().expect("the model fails at once");
    });
}
