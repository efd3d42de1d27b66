//! Which wheel a timer goes to, and who turns it.
//!
//! Each worker has a wheel of its own, which nobody else fills: it turns it between jobs and when it wakes
//! from a sleep that it has limited to its next timer. What other threads wait for goes to the wheel of the
//! runtime's outside, which the monitor turns. The monitor also turns a worker's wheel that is overdue,
//! because its owner is busy or blocked.
//!
//! # Why no timer is forgotten
//! Before a worker parks, it reads its own `next_due`, which only it makes earlier; so it sleeps no longer
//! than that. A worker that is awake is watched by the monitor: whoever wakes one arms the monitor, and so
//! does a worker that wakes by itself. The monitor sleeps no longer than until the next timer of the outside,
//! and whoever makes that earlier wakes it. It also turns the wheel of a worker whose thread has ended, and
//! that thread wakes it for this with its last step.
//!
//! In a simulation the clock is virtual, and who runs it turns the only wheel; see `simulation`.

use crate::runtime::sleep::waking;
use crate::runtime::worker::slot::{SlotState, WorkerSlot};
use crate::runtime::{RuntimeInner, current};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::clock;
use crate::timer::{Closed, Entry, Moment, NEVER};
use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

/// What time it is in a runtime.
#[derive(Debug)]
pub(crate) enum Clock {
    /// The system's.
    System,
    /// A simulation's: written by the one thread that runs it.
    Virtual(AtomicU64),
}

impl Clock {
    /// The present.
    pub(crate) fn now(&self) -> Moment {
        match self {
            Self::System => Moment::now(),
            // Relaxed: one thread.
            Self::Virtual(nanos) => Moment::from_nanos(nanos.load(Ordering::Relaxed)),
        }
    }

    /// Whether it is a simulation's.
    pub(crate) fn is_virtual(&self) -> bool {
        matches!(self, Self::Virtual(_))
    }

    /// Sets a virtual clock.
    pub(crate) fn set(&self, now: Moment) {
        if let Self::Virtual(nanos) = self {
            // Relaxed: one thread.
            nanos.store(now.to_nanos(), Ordering::Relaxed);
        }
    }
}

/// The present, as the current runtime has it.
pub(crate) fn now() -> Moment {
    match current::slot_of_runtime() {
        Some((_, shared)) => shared.clock.now(),
        None => Moment::now(),
    }
}

/// Makes an idle entry wait in the wheel that is the calling thread's, where it is `now`.
pub(crate) fn link(mut entry: Pin<&mut Entry>, now: Moment, waker: Waker) {
    if let Some((slot, _)) = current::slot_of_runtime()
        && slot.is_worker()
    {
        let linked = entry.link(&slot.timers, now.tick(), waker);
        // It looks itself before it sleeps, so nobody need be told if this one is the earliest.
        let _ = linked.expect("a worker's timers are open as long as it runs");
        return;
    }
    let here = |shared: &RuntimeInner| shared.link_outside(entry.as_mut(), now, waker);
    if let Err((Closed, waker)) = current::with_runtime(here) {
        // The current runtime has ended; the default one never does.
        let shared = current::default_runtime().shared();
        let linked = shared.link_outside(entry, now, waker);
        linked.expect("the default runtime is never shut down");
    }
}

impl RuntimeInner {
    fn link_outside(
        &self,
        entry: Pin<&mut Entry>,
        now: Moment,
        waker: Waker,
    ) -> Result<(), (Closed, Waker)> {
        waking::link_outside(self, self.outside_timers, entry, now.tick(), waker)
    }

    /// Monitor: turns every wheel that nobody else will turn in time. Returns how long from now it must look
    /// again at the latest.
    pub(crate) fn fire_overdue_timers(&self) -> Option<Duration> {
        let now = Moment::now();
        let tick = now.tick();
        let outside = self.outside_timers.fire_by(tick, tick);
        let of_workers = self
            .worker_slots()
            .map(|slot| {
                slot.timers
                    .fire_by(tick, tick.saturating_sub(TICKS_OVERDUE))
            })
            .map(|next| next.saturating_add(TICKS_OVERDUE));
        let next = of_workers.fold(outside, u64::min);
        until(next, || now)
    }

    /// Monitor: turns the outside's wheel, and those of workers whose threads have ended. Returns how long
    /// from now it must look again at the latest.
    pub(crate) fn fire_outside_timers(&self) -> Option<Duration> {
        let now = Moment::now();
        let tick = now.tick();
        let outside = self.outside_timers.fire_by(tick, tick);
        let left = self
            .worker_slots()
            .filter(|slot| slot.occupant() == SlotState::None)
            .map(|slot| slot.timers.fire_by(tick, tick));
        until(left.fold(outside, u64::min), || now)
    }
}

impl WorkerSlot {
    /// SlotState: parks until somebody unparks it, its next timer is due, or `limit` is over.
    pub(crate) fn park_until_timer(&self, limit: Option<Duration>) {
        match self.time_to_sleep(limit) {
            None => self.parker.park(),
            Some(limit) => self.parker.park_timeout(limit),
        }
    }

    /// SlotState: until its next timer is due, or `limit` is over.
    pub(crate) fn time_to_sleep(&self, limit: Option<Duration>) -> Option<Duration> {
        let next_timer = until(self.timers.next_due(), Moment::now);
        next_timer.into_iter().chain(limit).min()
    }

    /// SlotState: whether its wheel is to be turned.
    pub(crate) fn is_timer_due(&self) -> bool {
        until(self.timers.next_due(), Moment::now) == Some(Duration::ZERO)
    }

    /// SlotState: turns its wheel if it is time. Returns whether anybody was woken.
    pub(crate) fn fire_timers(&self) -> bool {
        self.is_timer_due() && self.timers.fire(Moment::now().tick())
    }
}

/// When a worker that has much to do looks at the clock.
///
/// The clock costs as much as a small task. A look at the processor's counter is cheaper, and neither is
/// needed while no timer waits.
#[derive(Debug, Default)]
pub(crate) struct TimerPoll {
    /// By the processor's counter; 0: the next look is due.
    last_look: u64,
}

impl TimerPoll {
    /// Worker: turns its wheel if it is time, and if it has not looked for a while.
    #[inline]
    pub(crate) fn fire_timers(&mut self, slot: &WorkerSlot) {
        if slot.timers.next_due() != NEVER {
            self.look(slot);
        }
    }

    /// The next look is not to be put off.
    pub(crate) fn hurry(&mut self) {
        self.last_look = 0;
    }

    fn look(&mut self, slot: &WorkerSlot) {
        let now = clock::ticks();
        // A counter that has jumped back makes it look at once.
        if self.last_look == 0 || now.abs_diff(self.last_look) >= clock::ticks_in(LOOKS_APART_NANOS)
        {
            self.last_look = now.max(1);
            // Whoever is woken waits in this worker's queue, which it looks at next.
            slot.is_turning.set(true);
            slot.fire_timers();
            slot.is_turning.set(false);
        }
    }
}

/// How long it is until a tick; `None` if that never comes.
fn until(tick: u64, now: impl FnOnce() -> Moment) -> Option<Duration> {
    (tick != NEVER).then(|| Moment::at_tick(tick).since(now()))
}

/// A worker that is so late does not come by itself soon enough.
const TICKS_OVERDUE: u64 = 1;
/// Time between two looks of a busy worker at the clock: little beside a tick.
const LOOKS_APART_NANOS: u64 = 200_000;
