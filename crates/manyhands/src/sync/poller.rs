//! The place where sockets are watched: who is in it, how it changes hands, and who keeps the alarm of who is in it.
//!
//! In the place is a worker, or the thread that stands in for workers, or nobody. A worker in it does not wake by
//! itself for its timers, so the thread keeps its alarm. The thread can do so because it is not in the place
//! then: a worker comes in only when the place is vacant. A worker that finds the thread there asks it to leave,
//! and sleeps elsewhere meanwhile, by its own alarm. The thread leaves when it can, which may be never, and wakes
//! who has asked.
//!
//! Not here: the watching, and when the thread is called (`tokio`).
//!
//! # States
//! `holder`: `VACANT` · `WORKER` a worker is in the place · `THREAD` the thread is · `ASKED` and is to leave.
//!
//! # Threads
//! A worker calls `come`, and if it got in `set_alarm` and `leave`; `ask` when it only wants the thread to leave.
//! The thread calls `answer`, and if it got in `poll_leave` until it is ready and `thread_leaves`; then `nap`.
//! Any thread calls `call`.
//!
//! # Ordering
//! W1: who asks writes `asker` and `holder`, then takes the waker; the thread leaves its waker, then reads
//! `holder`. Both go through the waker's lock: either the thread sees that it was asked, or who asks finds the
//! waker and makes it look again.
//! W2: a worker sets `alarm`, then looks how long the thread sleeps; the thread says how long it will sleep, then
//! looks at `alarm`. All SeqCst: one of them sees the other.
//! W3: `alarm` is the holder's: it is cleared before the place is left, so that it never clears that of the next.

use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, Sleeper, lock};
use std::task::{Context, Poll, Waker};

/// The place, and the thread that stands in.
#[derive(Debug)]
pub(crate) struct Poller {
    holder: AtomicU32,
    /// The worker that asked last.
    asker: Mutex<Option<&'static dyn Sleeper>>,
    /// When the worker in the place must be woken.
    alarm: AtomicU64,
    /// Whom the alarm wakes.
    sleeper: Mutex<Option<&'static dyn Sleeper>>,
    /// The thread is to watch.
    is_called: AtomicBool,
    /// Makes the thread look whether it is to leave; there while it is in the place.
    waker: Mutex<Option<Waker>>,
    /// How long the thread sleeps at most, as `alarm`, since it last fell asleep.
    asleep_until: AtomicU64,
}

/// What the thread does outside of the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum PollerSleep {
    /// It looks again.
    No,
    /// It sleeps until then, or until it is woken.
    Until(u64),
    /// It sleeps until it is woken.
    ForEver,
}

impl Poller {
    /// Nobody is there, and the thread is called.
    pub(crate) fn new() -> Self {
        Self {
            holder: AtomicU32::new(VACANT),
            asker: Mutex::new(None),
            alarm: AtomicU64::new(NEVER),
            sleeper: Mutex::new(None),
            is_called: AtomicBool::new(true),
            waker: Mutex::new(None),
            asleep_until: AtomicU64::new(NEVER),
        }
    }

    /// Whether nobody watches.
    pub(crate) fn is_vacant(&self) -> bool {
        // Acquire: who has left has said before when that was.
        self.holder.load(Ordering::Acquire) == VACANT
    }

    /// Whether a worker watches. A hint.
    pub(crate) fn is_workers(&self) -> bool {
        // Relaxed: a hint.
        self.holder.load(Ordering::Relaxed) == WORKER
    }

    /// Whether the thread watches. A hint.
    pub(crate) fn is_threads(&self) -> bool {
        // Relaxed: a hint.
        matches!(self.holder.load(Ordering::Relaxed), THREAD | ASKED)
    }

    /// Worker: comes into the place. `false` if it is taken; if by the thread, that wakes `sleeper` when it has
    /// left.
    pub(crate) fn come(&self, sleeper: &'static dyn Sleeper) -> bool {
        while !self.take(WORKER) {
            if self.is_workers() || self.ask(sleeper) {
                return false;
            }
        }
        true
    }

    /// Worker: asks the thread to leave and to wake `sleeper` then. `false` if it is not there.
    pub(crate) fn ask(&self, sleeper: &'static dyn Sleeper) -> bool {
        *lock(&self.asker) = Some(sleeper);
        // Release: W1; the thread that leaves finds the asker. Relaxed on failure: whoever has asked before has
        // published nothing that is needed, and the lock of the asker orders who is woken.
        let asked =
            self.holder
                .compare_exchange(THREAD, ASKED, Ordering::Release, Ordering::Relaxed);
        if asked.is_err_and(|holder| holder != ASKED) {
            return false;
        }
        self.rouse();
        true
    }

    /// Makes the thread, if it is in the place, look whether it is to leave.
    pub(crate) fn rouse(&self) {
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Worker in the place: is to be woken at time `alarm`, by the thread, which `unpark` wakes.
    pub(crate) fn set_alarm(
        &self,
        sleeper: &'static dyn Sleeper,
        alarm: u64,
        unpark: impl FnOnce(),
    ) {
        *lock(&self.sleeper) = Some(sleeper);
        // SeqCst, both: W2. Whoever reads this alarm finds the sleeper.
        self.alarm.store(alarm, Ordering::SeqCst);
        if alarm < self.asleep_until.load(Ordering::SeqCst) {
            unpark();
        }
    }

    /// Worker: leaves.
    pub(crate) fn leave(&self) {
        // SeqCst: W3, and one order with what W2 says.
        self.alarm.store(NEVER, Ordering::SeqCst);
        // Release: publishes what the worker has said about its leaving, and its alarm's end.
        self.holder.store(VACANT, Ordering::Release);
    }

    /// The thread is to watch unless somebody does. The caller unparks it.
    pub(crate) fn call(&self) {
        // AcqRel: Release, so that the thread that is called finds the place as the caller has left it. An exchange,
        // as in `answer`, so that the order of calls and answers is beyond doubt.
        self.is_called.swap(true, Ordering::AcqRel);
    }

    /// Thread: comes into the place if it is called and nobody is there.
    pub(crate) fn answer(&self) -> bool {
        // Acquire: pairs with the Release in `call`.
        self.is_called.swap(false, Ordering::Acquire) && self.take(THREAD)
    }

    /// Thread in the place: ready when it is to leave, because a worker comes instead. Not while `must_stay`.
    pub(crate) fn poll_leave(
        &self,
        context: &Context<'_>,
        must_stay: impl FnOnce() -> bool,
    ) -> Poll<()> {
        *lock(&self.waker) = Some(context.waker().clone());
        // Relaxed: W1, through the lock above.
        if self.holder.load(Ordering::Relaxed) == ASKED && !must_stay() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Thread: leaves, and wakes who has asked for it.
    pub(crate) fn thread_leaves(&self) {
        *lock(&self.waker) = None;
        // AcqRel: Release publishes the leaving; Acquire pairs with `ask`, whose asker is found below.
        self.holder.swap(VACANT, Ordering::AcqRel);
        let asker = lock(&self.asker).take();
        if let Some(asker) = asker {
            asker.wake();
        }
    }

    /// Thread, not in the place: wakes who is there if its time has come. Returns how long it may sleep.
    pub(crate) fn nap(&self, now: u64) -> PollerSleep {
        // SeqCst: W2.
        let alarm = self.alarm.load(Ordering::SeqCst);
        if alarm <= now {
            self.ring(alarm);
            return PollerSleep::No;
        }
        // SeqCst, both: W2.
        self.asleep_until.store(alarm, Ordering::SeqCst);
        if self.alarm.load(Ordering::SeqCst) < alarm {
            return PollerSleep::No;
        }
        if alarm == NEVER {
            PollerSleep::ForEver
        } else {
            PollerSleep::Until(alarm)
        }
    }

    fn ring(&self, alarm: u64) {
        // SeqCst: W2. If another has been set meanwhile, that is looked at next. Relaxed on failure: as said.
        let rung = self
            .alarm
            .compare_exchange(alarm, NEVER, Ordering::SeqCst, Ordering::Relaxed);
        if rung.is_ok() {
            // Whoever is there now; another one than the alarm's is woken in vain.
            let sleeper = *lock(&self.sleeper);
            if let Some(sleeper) = sleeper {
                sleeper.wake();
            }
        }
    }

    fn take(&self, holder: u32) -> bool {
        // Acquire: pairs with the Release of who has left. Relaxed on failure: nothing was learnt.
        self.holder
            .compare_exchange(VACANT, holder, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }
}

/// No alarm.
pub(crate) const NEVER: u64 = u64::MAX;

const VACANT: u32 = 0;
const WORKER: u32 = 1;
const THREAD: u32 = 2;
const ASKED: u32 = 3;
