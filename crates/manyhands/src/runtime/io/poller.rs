//! How a worker polls the I/O driver: it sleeps inside the driver, or polls it once between two jobs.
//!
//! A task that a socket wakes meanwhile goes to the worker's own queue. No other worker is notified, because this one
//! runs the task itself.
//!
//! Not here: the sleep of a worker (`run_loop.rs`), the driver, and its stand-in thread, which polls while no worker does
//! (`sync/reactor.rs`, `sync/poller.rs`, `tokio_driver`).

use crate::job::RunPermit;
use crate::runtime::{OccupiedSlot, RuntimeInner, WorkerSlot};
use crate::sync::{PollerState, Reactor, Sleeper};
use std::task::{Context, Poll};

impl RuntimeInner {
    /// The I/O driver of this runtime, if it has one.
    pub(crate) fn reactor(&self) -> Option<&'static dyn Reactor> {
        self.settings.tokio_context.reactor()
    }

    /// Whether the worker on `slot` may poll the driver now.
    pub(crate) fn poller_state(&self, slot: &'static WorkerSlot) -> PollerState {
        self.reactor()
            .map_or(PollerState::None, |reactor| reactor.poller_state(slot))
    }

    /// Busy worker on `slot`: polls the driver once, which wakes tasks whose sockets are ready. While long jobs hold every
    /// place another thread polls, so that sockets need not wait until one of these has ended.
    pub(crate) fn poll_driver_once(&self, slot: &'static OccupiedSlot, _permit: RunPermit<'_>) {
        let Some(reactor) = self.reactor() else {
            return;
        };
        if self.idle.overcommits() {
            reactor.call_poller();
        } else {
            while_polling(slot, || reactor.poll_once(&**slot));
        }
    }
}

/// Runs `poll` with the slot marked: the tasks that sockets wake meanwhile are for this worker.
pub(crate) fn while_polling<R>(slot: &OccupiedSlot, poll: impl FnOnce() -> R) -> R {
    slot.advances_timers.set(true);
    slot.is_polling.set(true);
    let polled = poll();
    slot.is_polling.set(false);
    slot.advances_timers.set(false);
    polled
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
