//! The right to poll the I/O driver: which worker or thread has it, how it changes hands, and which thread keeps the
//! alarm of the poller.
//!
//! The poller is a worker, or the driver's own thread, or there is none. A worker that polls does not wake by itself
//! for its timers, so the thread keeps its alarm. The thread is able to, because it is not the poller then: a worker
//! becomes the poller only when there is none. A worker that meets the thread as the poller asks it to stop, and
//! meanwhile sleeps elsewhere with its own alarm. The thread stops when it can, which may be never, and wakes the
//! worker that asked.
//!
//! The driver and the models run the same steps: both are an [`IoDriver`], which says how a poller waits for events.
//!
//! Not here: the polling itself, and when the thread is called (`tokio_driver`).
//!
//! # States
//! - `VACANT`: no poller.
//! - `WORKER`: a worker polls.
//! - `THREAD`: the thread polls.
//! - `ASKED`: the thread polls, and was asked to stop.
//!
//! # Threads
//! A worker calls `take_as_worker`, and if that succeeds `set_alarm` and `release_by_worker`. A worker that only wants
//! the thread to stop calls `ask_thread_to_stop`. The thread calls `take_if_called`, and if that succeeds
//! `poll_asked_to_stop` until it is ready, then `release_by_thread`; in any case `wake_due`. Any thread calls `call`.
//!
//! # Ordering
//! W1: the worker that asks writes `asker` and `holder`, then takes the waker; the thread stores its waker, then reads
//! `holder`. Both go through the waker's lock: either the thread sees that it was asked, or the worker takes the
//! waker and makes the thread poll again.
//! W2: a worker sets `alarm`, then reads how long the thread sleeps; the thread writes how long it will sleep, then
//! reads `alarm`. All SeqCst: one of them sees the other.
//! W3: `alarm` belongs to the poller: it is cleared before the poller leaves, so that it never clears the next one's.

use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, Sleeper, lock};
use std::task::{Context, Poll, Waker};

/// The state of the right to poll, and of the driver's thread.
#[derive(Debug)]
pub(crate) struct Poller {
    holder: AtomicU32,
    /// The worker that asked last.
    asker: Mutex<Option<&'static dyn Sleeper>>,
    /// When the polling worker must be woken.
    alarm: AtomicU64,
    /// The worker that the alarm wakes.
    sleeper: Mutex<Option<&'static dyn Sleeper>>,
    /// The thread was called to poll.
    is_called: AtomicBool,
    /// Makes the thread check whether it was asked to stop; present while it polls.
    waker: Mutex<Option<Waker>>,
    /// Until when the thread sleeps at most, as `alarm`, since it last fell asleep.
    asleep_until: AtomicU64,
}

/// An I/O driver, with its stand-in thread.
pub(crate) trait IoDriver: Copy {
    /// Which thread or worker polls it.
    fn poller(&self) -> &Poller;

    /// Unparks the stand-in thread, if it is parked outside the driver.
    fn unpark_thread(self);

    /// Whether the driver has tasks of its own, which only the stand-in thread may run. While it has, no worker polls.
    fn has_tasks(self) -> bool;

    /// Stand-in thread that became the poller: waits for events until `poll` is ready.
    fn block_on(self, poll: impl FnMut(&mut Context<'_>) -> Poll<()>);

    /// Worker that became the poller: waits for events until `poll` is ready, and notes when it stopped.
    fn block_on_worker(
        self,
        sleeper: &'static dyn Sleeper,
        poll: impl FnMut(&mut Context<'_>) -> Poll<()>,
    );
}

/// One round of the stand-in thread: it polls if it was called and there is no poller, until a worker asks to take over.
/// Then it wakes the poller if its alarm is due. Returns until when the thread sleeps, unless it is woken; `None`: it does all that
/// again.
#[must_use]
pub(crate) fn stand_by(driver: impl IoDriver, now: impl FnOnce() -> u64) -> Option<u64> {
    let poller = driver.poller();
    if poller.take_if_called() {
        driver.block_on(|context| poller.poll_asked_to_stop(context, || driver.has_tasks()));
        poller.release_by_thread();
    }
    poller.wake_due(now())
}

/// Calls the stand-in thread, which polls when there is no poller.
pub(crate) fn call(driver: impl IoDriver) {
    driver.poller().call();
    driver.unpark_thread();
}

/// Worker that will not poll again, or not soon: calls the stand-in thread, unless another worker polls, or the thread does and
/// stays. One that was asked to stop leaves the driver to who asked, which may be the caller.
pub(crate) fn stand_down(driver: impl IoDriver) {
    // Acquire: as in `is_vacant`.
    if matches!(
        driver.poller().holder.load(Ordering::Acquire),
        VACANT | ASKED
    ) {
        call(driver);
    }
}

/// Worker: sleeps in the driver until it is woken, or until `alarm`; see [`Reactor::sleep`](crate::sync::Reactor).
pub(crate) fn sleep(
    driver: impl IoDriver,
    sleeper: &'static dyn Sleeper,
    alarm: impl FnOnce() -> Option<u64>,
) -> bool {
    let poller = driver.poller();
    if driver.has_tasks() {
        if poller.is_vacant() {
            call(driver);
        }
        return false;
    }
    if !poller.take_as_worker(sleeper) {
        return false;
    }
    if let Some(alarm) = alarm() {
        poller.set_alarm(sleeper, alarm, || driver.unpark_thread());
    }
    poll_until(driver, sleeper, |context| {
        // The driver may poll for another reason, after a turn that it did not report.
        after_turn(driver, sleeper);
        sleeper.poll_wake(context)
    });
    true
}

/// Worker: polls once without waiting, unless another worker polls. Asks the stand-in thread to stop if that does.
pub(crate) fn poll_once(driver: impl IoDriver, sleeper: &'static dyn Sleeper) {
    let poller = driver.poller();
    if poller.is_held_by_thread() {
        if !driver.has_tasks() {
            poller.ask_thread_to_stop(sleeper);
        }
    } else if poller.take_as_worker(sleeper) {
        let mut is_first = true;
        poll_until(driver, sleeper, |context| {
            if !is_first {
                return Poll::Ready(());
            }
            is_first = false;
            // The driver asks the system once, without waiting, before it polls this again.
            context.waker().wake_by_ref();
            Poll::Pending
        });
    }
}

/// Worker that polls, after each turn of the driver: wakes itself if it has something to run, or the stand-in thread has.
pub(crate) fn after_turn(driver: impl IoDriver, sleeper: &'static dyn Sleeper) {
    if sleeper.has_work() || driver.has_tasks() {
        sleeper.wake();
    }
}

/// Worker that became the poller: waits for events until `poll` is ready, and stops polling.
fn poll_until(
    driver: impl IoDriver,
    sleeper: &'static dyn Sleeper,
    poll: impl FnMut(&mut Context<'_>) -> Poll<()>,
) {
    driver.block_on_worker(sleeper, poll);
    driver.poller().release_by_worker();
    if driver.has_tasks() {
        call(driver);
    }
}

impl Poller {
    /// There is no poller, and the thread is called.
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

    /// Whether there is no poller.
    pub(crate) fn is_vacant(&self) -> bool {
        // Acquire: the last poller has stored before when it left.
        self.holder.load(Ordering::Acquire) == VACANT
    }

    /// Whether a worker polls. A hint.
    pub(crate) fn is_held_by_worker(&self) -> bool {
        // Relaxed: a hint.
        self.holder.load(Ordering::Relaxed) == WORKER
    }

    /// Whether the thread polls. A hint.
    fn is_held_by_thread(&self) -> bool {
        // Relaxed: a hint.
        matches!(self.holder.load(Ordering::Relaxed), THREAD | ASKED)
    }

    /// Whether the thread polls, and was not asked to stop.
    #[cfg(all(test, loom))]
    pub(crate) fn is_held_by_thread_that_stays(&self) -> bool {
        self.holder.load(Ordering::Acquire) == THREAD
    }

    /// Worker: becomes the poller. `false` if there is one; if that is the thread, it wakes `sleeper` when it has
    /// stopped.
    fn take_as_worker(&self, sleeper: &'static dyn Sleeper) -> bool {
        while !self.take(WORKER) {
            if self.is_held_by_worker() || self.ask_thread_to_stop(sleeper) {
                return false;
            }
        }
        true
    }

    /// Worker: asks the thread to stop and to wake `sleeper` then. `false` if the thread does not poll.
    fn ask_thread_to_stop(&self, sleeper: &'static dyn Sleeper) -> bool {
        *lock(&self.asker) = Some(sleeper);
        // Release: W1; the leaving thread reads the asker. Relaxed on failure: a worker that asked before has
        // published nothing that is needed, and the lock of the asker orders which one is woken.
        let asked =
            self.holder
                .compare_exchange(THREAD, ASKED, Ordering::Release, Ordering::Relaxed);
        if asked.is_err_and(|holder| holder != ASKED) {
            return false;
        }
        self.repoll_thread();
        true
    }

    /// Makes the thread, if it polls, check whether it was asked to stop.
    pub(crate) fn repoll_thread(&self) {
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Worker that polls: asks to be woken at time `alarm` by the thread, which `unpark` wakes.
    fn set_alarm(&self, sleeper: &'static dyn Sleeper, alarm: u64, unpark: impl FnOnce()) {
        *lock(&self.sleeper) = Some(sleeper);
        // SeqCst, both: W2. A thread that reads this alarm sees the sleeper.
        self.alarm.store(alarm, Ordering::SeqCst);
        if alarm < self.asleep_until.load(Ordering::SeqCst) {
            unpark();
        }
    }

    /// Worker: stops polling.
    fn release_by_worker(&self) {
        // SeqCst: W3, and in one order with W2.
        self.alarm.store(NEVER, Ordering::SeqCst);
        // Release: publishes what the worker stored about its leaving, and that its alarm is cleared.
        self.holder.store(VACANT, Ordering::Release);
    }

    /// Asks the thread to poll, now or when it has stopped, unless there is another poller. The caller unparks the thread.
    fn call(&self) {
        // AcqRel: Release, so that the called thread sees the state as the caller left it. An exchange,
        // as in `take_if_called`, so that calls and answers are in one order.
        self.is_called.swap(true, Ordering::AcqRel);
    }

    /// Thread: becomes the poller if it is called and there is none.
    fn take_if_called(&self) -> bool {
        // Acquire: pairs with the Release in `call`.
        self.is_called.swap(false, Ordering::Acquire) && self.take(THREAD)
    }

    /// Polling thread: ready when it must stop, because a worker takes over. Never while `must_stay`.
    fn poll_asked_to_stop(
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

    /// Thread: stops polling, and wakes the worker that asked for it.
    fn release_by_thread(&self) {
        *lock(&self.waker) = None;
        // AcqRel: Release publishes the leaving; Acquire pairs with `ask_thread_to_stop`, whose asker is read below.
        self.holder.swap(VACANT, Ordering::AcqRel);
        let asker = lock(&self.asker).take();
        if let Some(asker) = asker {
            asker.wake();
        }
    }

    /// Thread that does not poll: wakes the poller if its alarm is due. Returns the same as [`stand_by`].
    fn wake_due(&self, now: u64) -> Option<u64> {
        // SeqCst: W2.
        let alarm = self.alarm.load(Ordering::SeqCst);
        if alarm <= now {
            self.take_alarm(alarm);
            return None;
        }
        // SeqCst, both: W2.
        self.asleep_until.store(alarm, Ordering::SeqCst);
        (self.alarm.load(Ordering::SeqCst) >= alarm).then_some(alarm)
    }

    fn take_alarm(&self, alarm: u64) {
        // SeqCst: W2. If another alarm was set meanwhile, the next call handles it. Relaxed on failure: for the same
        // reason.
        let is_taken =
            self.alarm
                .compare_exchange(alarm, NEVER, Ordering::SeqCst, Ordering::Relaxed);
        if is_taken.is_ok() {
            // The current poller: if it is another one than the alarm's, the wake has no effect.
            let sleeper = *lock(&self.sleeper);
            if let Some(sleeper) = sleeper {
                sleeper.wake();
            }
        }
    }

    fn take(&self, holder: u32) -> bool {
        // Acquire: pairs with the Release of the last poller. Relaxed on failure: nothing was read.
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
