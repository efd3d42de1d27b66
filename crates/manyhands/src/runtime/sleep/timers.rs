//! Which wheel a timer goes to, and which thread advances it.
//!
//! Each worker has a wheel of its own, which only it fills. It advances the wheel between jobs, and when it wakes
//! from a sleep that it has limited to its next timer. Timers of other threads go to the runtime's outside wheel,
//! which the monitor advances. The monitor also advances a worker's wheel that is overdue, because its owner is busy
//! or blocked.
//!
//! # Why no timer is forgotten
//! Before a worker parks, it reads its own `next_due`, which only it makes earlier; so it sleeps no longer
//! than that. The monitor watches a worker that is awake: a waker arms the monitor, and so does a worker that wakes
//! by itself. The monitor sleeps no longer than until the next timer of the outside wheel, and a thread that makes
//! that earlier wakes it. It also advances the wheel of a worker whose thread has ended, and that thread wakes the
//! monitor for this before it ends.
//!
//! In a simulation the clock is virtual, and the simulator advances the only wheel; see `simulation`.

use crate::job::RunPermit;
use crate::runtime::policy::INTERVAL_MIN;
use crate::runtime::{OccupiedSlot, RuntimeInner, SlotState, WorkerSlot, current, waking};
use crate::sync::clock;
use crate::timer::{Entry, Moment, NEVER};
use std::pin::Pin;
use std::task::Waker;
use std::time::Duration;

/// The present, by the current runtime's clock.
pub(crate) fn now() -> Moment {
    match current::slot_of_runtime() {
        Some((_, shared)) => shared.clock.now(),
        None => Moment::now(),
    }
}

/// Links an idle entry into the calling thread's wheel, at time `now`.
pub(crate) fn link(mut entry: Pin<&mut Entry>, now: Moment, waker: Waker) {
    if let Some((slot, _)) = current::slot_of_runtime()
        && slot.is_worker()
    {
        let linked = entry.link(&slot.timers, now.tick(), waker);
        // The worker looks at its wheel before it sleeps, so no thread need be notified of an earlier timer.
        linked.expect("a worker's timers are open as long as it runs");
        return;
    }
    let mut link_outside = |shared: &RuntimeInner, waker: Waker| {
        let (timers, entry) = (&shared.lasting.outside_timers, entry.as_mut());
        waking::link_outside(shared, timers, entry, now.tick(), waker)
    };
    if let Err(waker) = current::with_runtime(|shared| link_outside(shared, waker)) {
        // The current runtime has ended; the default one never does.
        let linked = link_outside(current::default_runtime(), waker);
        linked.expect("the default runtime is never shut down");
    }
}

impl RuntimeInner {
    /// Monitor: advances every wheel that no other thread will advance in time, those of workers a tick late. Returns after
    /// what time it must look again.
    pub(crate) fn fire_overdue_timers(&self) -> Option<Duration> {
        self.fire_timers_of(self.worker_slots(), 1)
    }

    /// Monitor: advances the outside wheel, and those of workers whose threads have ended. Returns after what time
    /// it must look again.
    pub(crate) fn fire_outside_timers(&self) -> Option<Duration> {
        let has_ended = |slot: &&WorkerSlot| slot.occupant() == SlotState::None;
        self.fire_timers_of(self.worker_slots().filter(has_ended), 0)
    }

    /// Advances the outside wheel, and those of `workers` so many ticks late.
    fn fire_timers_of(
        &self,
        workers: impl Iterator<Item = &'static WorkerSlot>,
        late: u64,
    ) -> Option<Duration> {
        let now = Moment::now();
        let tick = now.tick();
        let outside = self.lasting.outside_timers.fire_by(tick, tick);
        let fire = |slot: &WorkerSlot| slot.timers.fire_by(tick, tick.saturating_sub(late));
        let of_workers = workers.map(|slot| fire(slot).saturating_add(late));
        until(of_workers.fold(outside, u64::min), || now)
    }
}

impl OccupiedSlot {
    /// The time until the occupant's next timer is due, or `limit` is over.
    pub(crate) fn time_to_sleep(&self, limit: Option<Duration>) -> Option<Duration> {
        let next_timer = until(self.timers.next_due(), Moment::now);
        next_timer.into_iter().chain(limit).min()
    }

    /// Whether the occupant's wheel must be advanced.
    pub(crate) fn is_timer_due(&self) -> bool {
        until(self.timers.next_due(), Moment::now) == Some(Duration::ZERO)
    }

    /// Advances the occupant's wheel if a timer is due. Returns whether that woke a task.
    pub(crate) fn fire_timers(&self) -> bool {
        self.is_timer_due() && self.timers.fire(Moment::now().tick())
    }
}

/// When a busy worker reads the clock for its timers.
///
/// Reading the clock costs as much as a small task. Reading the processor's counter is cheaper, and neither is
/// needed while no timer waits.
#[derive(Debug, Default)]
pub(crate) struct TimerPoll {
    /// By the processor's counter; 0: the next poll is due.
    last_poll: u64,
}

impl TimerPoll {
    /// Worker: advances its wheel if a timer is due and the last poll is long enough ago.
    #[inline]
    pub(crate) fn fire_timers(&mut self, slot: &OccupiedSlot, _permit: RunPermit<'_>) {
        if slot.timers.next_due() != NEVER {
            self.poll(slot);
        }
    }

    /// Makes the next poll due at once.
    pub(crate) fn hurry(&mut self) {
        self.last_poll = 0;
    }

    fn poll(&mut self, slot: &OccupiedSlot) {
        let now = clock::ticks();
        let apart = clock::ticks_in(INTERVAL_MIN.subsec_nanos().into());
        // A counter that has jumped back makes the poll due at once.
        if self.last_poll == 0 || now.abs_diff(self.last_poll) >= apart {
            self.last_poll = now.max(1);
            // A woken task waits in this worker's queue, which the worker looks at next.
            slot.advances_timers.set(true);
            slot.fire_timers();
            slot.advances_timers.set(false);
        }
    }
}

/// How long it is until a tick; `None` if that never comes.
fn until(tick: u64, now: impl FnOnce() -> Moment) -> Option<Duration> {
    (tick != NEVER).then(|| Moment::at_tick(tick).since(now()))
}
