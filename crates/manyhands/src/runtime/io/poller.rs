//! The worker that polls the I/O driver: it sleeps inside the driver, or polls it once.
//!
//! Tasks that a socket wakes meanwhile go to the worker's own queue and notify no other worker: it runs them itself.
//!
//! Not here: the stand-in thread that polls when no worker does, and the driver (`sync/reactor.rs`, `tokio`).

use crate::runtime::RuntimeInner;
use crate::runtime::worker::occupied_slot::OccupiedSlot;
use crate::runtime::worker::slot::WorkerSlot;
use crate::sync::{PollerState, Reactor, Sleeper};
use std::task::{Context, Poll};
use std::time::Duration;

impl RuntimeInner {
    /// The I/O driver of this runtime, if it has one.
    pub(crate) fn reactor(&self) -> Option<&'static dyn Reactor> {
        self.settings.tokio_context.reactor()
    }

    /// Whether the worker on `slot` may poll the driver.
    pub(crate) fn vacancy(&self, slot: &'static WorkerSlot) -> PollerState {
        self.reactor()
            .map_or(PollerState::None, |reactor| reactor.vacancy(slot))
    }

    /// Monitor: makes sure that a thread polls the driver.
    pub(crate) fn attend_to_sockets(&self) {
        if let Some(reactor) = self.reactor() {
            reactor.attend();
        }
    }

    /// Worker: will poll the driver no more.
    pub(crate) fn leave_sockets(&self) {
        if let Some(reactor) = self.reactor() {
            reactor.leave();
        }
    }

    /// Worker on `slot`: sleeps until it is unparked, its next timer is due, or `limit` is over; inside the driver, if
    /// no other thread polls it.
    pub(crate) fn sleep_until_timer(&self, slot: &'static OccupiedSlot, limit: Option<Duration>) {
        // A worker that has tasks but no room to run them would leave the driver at once.
        let reactor = self.reactor().filter(|_| slot.tasks.is_empty());
        if let Some(reactor) = reactor
            && watch(slot, || reactor.sleep(&**slot, slot.time_to_sleep(limit)))
        {
            slot.parker.end_polls();
        } else {
            slot.park_until_timer(limit);
        }
    }

    /// Busy worker on `slot`: polls the driver once, which wakes tasks whose sockets are ready.
    pub(crate) fn look_at_sockets(&self, slot: &'static OccupiedSlot) {
        if let Some(reactor) = self.reactor() {
            watch(slot, || reactor.look(&**slot));
        }
    }
}

fn watch<R>(slot: &OccupiedSlot, watch: impl FnOnce() -> R) -> R {
    slot.is_turning.set(true);
    slot.is_watching.set(true);
    let watched = watch();
    slot.is_watching.set(false);
    slot.is_turning.set(false);
    watched
}

impl Sleeper for WorkerSlot {
    fn poll_wake(&self, context: &Context<'_>) -> Poll<()> {
        self.parker.poll_park(context)
    }

    fn wake(&self) {
        self.parker.unpark();
    }

    fn has_work(&self) -> bool {
        !self.tasks.is_empty() || !self.local.is_empty()
    }
}
