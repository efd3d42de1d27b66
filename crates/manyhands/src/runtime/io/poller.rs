//! A worker where sockets are watched: it sleeps there, or has a look.
//!
//! What a socket wakes meanwhile goes to the worker's own queue, and rings for nobody: the worker comes itself.
//!
//! Not here: who watches when no worker does, and what does the watching (`sync/reactor.rs`, `tokio`).

use crate::runtime::RuntimeInner;
use crate::runtime::worker::slot::WorkerSlot;
use crate::sync::{PollerState, Reactor, Sleeper};
use std::task::{Context, Poll};
use std::time::Duration;

impl RuntimeInner {
    /// What watches sockets for this runtime, if anything does.
    pub(crate) fn reactor(&self) -> Option<&'static dyn Reactor> {
        self.settings.tokio_context.reactor()
    }

    /// Whether the worker on `slot` may watch.
    pub(crate) fn vacancy(&self, slot: &'static WorkerSlot) -> PollerState {
        self.reactor()
            .map_or(PollerState::None, |reactor| reactor.vacancy(slot))
    }

    /// Monitor: sees to it that somebody watches.
    pub(crate) fn attend_to_sockets(&self) {
        if let Some(reactor) = self.reactor() {
            reactor.attend();
        }
    }

    /// Worker: will watch no more.
    pub(crate) fn leave_sockets(&self) {
        if let Some(reactor) = self.reactor() {
            reactor.leave();
        }
    }

    /// Worker on `slot`: sleeps until it is unparked, its next timer is due, or `limit` is over; where sockets
    /// are watched, if there is room.
    pub(crate) fn sleep_until_timer(&self, slot: &'static WorkerSlot, limit: Option<Duration>) {
        // Who has tasks but no room to run them would be sent away at once.
        let reactor = self.reactor().filter(|_| slot.tasks.is_empty());
        if let Some(reactor) = reactor
            && watch(slot, || reactor.sleep(slot, slot.time_to_sleep(limit)))
        {
            slot.parker.end_polls();
        } else {
            slot.park_until_timer(limit);
        }
    }

    /// Worker on `slot`, which has much to do: wakes whom sockets wake by now.
    pub(crate) fn look_at_sockets(&self, slot: &'static WorkerSlot) {
        if let Some(reactor) = self.reactor() {
            watch(slot, || reactor.look(slot));
        }
    }
}

fn watch<R>(slot: &WorkerSlot, watch: impl FnOnce() -> R) -> R {
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
