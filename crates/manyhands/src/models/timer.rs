//! A timer's entry beside the thread that advances the wheel.
//!
//! Threads: the entry's owner, the thread that advances the wheel, and in some models a third to which the owner gives
//! the entry. Operations: link, poll with another waker, cancel, and free; fire, or give the wheel up.
//! Property: an owner that waits is woken, by the waker it gave last. After an owner has cancelled, or seen that the
//! entry fired, no other thread touches the entry, and the owner may free it. Each waker is woken or dropped.

use super::{Count, Memory, check};
use crate::sync::Parker;
use crate::timer::{Entry, EntryState, Moment, Timers};
use loom::thread;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Wake, Waker};

/// The tick at which the entry is due.
const DUE: u64 = 3;

/// Timers that live for ever, as a slot's do.
fn timers() -> &'static Timers {
    Box::leak(Box::new(Timers::default()))
}

/// A task to wake. What is done before a wake must be visible after it.
struct Sleeper {
    parker: Parker,
    woken: Count,
    memory: Memory,
}

impl Sleeper {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            parker: Parker::default(),
            woken: Count::new(),
            memory: Memory::new(),
        })
    }

    fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    fn times_woken(&self) -> usize {
        self.woken.now()
    }

    fn assert_no_waker_is_left(self: &Arc<Self>) {
        // The threads have ended.
        assert_eq!(Arc::strong_count(self), 1, "a waker is left");
    }
}

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.memory.touch();
        self.woken.add(1);
        self.parker.unpark();
    }
}

fn entry() -> Pin<Box<Entry>> {
    Box::pin(Entry::new(Moment::at_tick(DUE)))
}

fn link(entry: &mut Pin<Box<Entry>>, timers: &'static Timers, sleeper: &Arc<Sleeper>) {
    let linked = entry.as_mut().link(timers, 0, sleeper.waker());
    linked.expect("the timers are open");
}

#[test]
fn who_waits_is_woken_by_its_newest_waker() {
    check(|| {
        let timers = timers();
        let (old, new) = (Sleeper::new(), Sleeper::new());
        let mut entry = entry();
        link(&mut entry, timers, &old);
        let turner = thread::spawn(move || {
            timers.fire(DUE);
        });
        let waker = new.waker();
        let mut standing = entry.as_mut().poll(&waker);
        while standing == EntryState::Waiting {
            new.parker.park();
            standing = entry.as_mut().poll(&waker);
        }
        assert_eq!(standing, EntryState::Fired);
        drop(entry);
        drop(waker);
        turner.join().expect("the model fails at once");
        assert_eq!(old.times_woken() + new.times_woken(), 1);
        old.assert_no_waker_is_left();
        new.assert_no_waker_is_left();
    });
}

#[test]
fn a_cancelled_entry_is_not_touched_and_wakes_at_most_once() {
    check(|| {
        let timers = timers();
        let (first, second) = (Sleeper::new(), Sleeper::new());
        let mut cancelled = entry();
        let mut kept = entry();
        link(&mut cancelled, timers, &first);
        link(&mut kept, timers, &second);
        let canceller = thread::spawn(move || {
            let waker = cancelled.as_mut().cancel();
            // A canceller that got the waker was faster: nobody else wakes it.
            let was_faster = waker.is_some();
            drop(waker);
            drop(cancelled);
            was_faster
        });
        let turner = thread::spawn(move || {
            timers.fire(DUE);
        });
        let was_faster = canceller.join().expect("the model fails at once");
        turner.join().expect("the model fails at once");
        assert_eq!(first.times_woken(), usize::from(!was_faster));
        assert_eq!(second.times_woken(), 1);
        assert!(kept.is_fired());
        first.assert_no_waker_is_left();
        second.assert_no_waker_is_left();
    });
}

#[test]
fn an_entry_is_freed_as_soon_as_it_is_found_fired() {
    check(|| {
        let timers = timers();
        let sleeper = Sleeper::new();
        let mut entry = entry();
        link(&mut entry, timers, &sleeper);
        let turner = thread::spawn(move || {
            timers.fire(DUE);
        });
        // Another look at what the turner wrote last; freeing it is ordered after that only.
        let is_fired = entry.is_fired();
        drop(entry);
        turner.join().expect("the model fails at once");
        if is_fired {
            assert_eq!(sleeper.times_woken(), 1);
        }
        sleeper.assert_no_waker_is_left();
    });
}

#[test]
fn an_entry_whose_wheel_is_given_up_waits_in_another() {
    check(|| {
        let (first, second) = (timers(), timers());
        let sleeper = Sleeper::new();
        let mut entry = entry();
        link(&mut entry, first, &sleeper);
        let closer = thread::spawn(move || first.close());
        let waker = sleeper.waker();
        while entry.as_mut().poll(&waker) == EntryState::Waiting {
            sleeper.parker.park();
        }
        assert!(entry.as_mut().link(first, 0, sleeper.waker()).is_err());
        link(&mut entry, second, &sleeper);
        second.fire(DUE);
        assert!(entry.is_fired());
        closer.join().expect("the model fails at once");
        drop((entry, waker));
        sleeper.assert_no_waker_is_left();
    });
}
