//! A worker where sockets are watched: it sleeps there, or has a look.
//!
//! What a socket wakes meanwhile goes to the worker's own queue, and rings for nobody: the worker comes itself.
//!
//! Not here: who watches when no worker does, and what does the watching (`sync/reactor.rs`, `tokio`).

use crate::runtime::Shared;
use crate::runtime::seat::Seat;
use crate::sync::{Reactor, Sleeper, Vacancy};
use std::task::{Context, Poll};
use std::time::Duration;

impl Shared {
    /// What watches sockets for this runtime, if anything does.
    pub(super) fn reactor(&self) -> Option<&'static dyn Reactor> {
        self.settings.surroundings.reactor()
    }

    /// Whether the worker on `seat` may watch.
    pub(super) fn vacancy(&self, seat: &'static Seat) -> Vacancy {
        self.reactor()
            .map_or(Vacancy::None, |reactor| reactor.vacancy(seat))
    }

    /// Monitor: sees to it that somebody watches.
    pub(super) fn attend_to_sockets(&self) {
        if let Some(reactor) = self.reactor() {
            reactor.attend();
        }
    }

    /// Worker: will watch no more.
    pub(super) fn leave_sockets(&self) {
        if let Some(reactor) = self.reactor() {
            reactor.leave();
        }
    }

    /// Worker on `seat`: sleeps until it is unparked, its next timer is due, or `limit` is over; where sockets
    /// are watched, if there is room.
    pub(super) fn sleep_until_timer(&self, seat: &'static Seat, limit: Option<Duration>) {
        // Who has tasks but no room to run them would be sent away at once.
        let reactor = self.reactor().filter(|_| seat.tasks.is_empty());
        if let Some(reactor) = reactor
            && watch(seat, || reactor.sleep(seat, seat.time_to_sleep(limit)))
        {
            seat.parker.end_polls();
        } else {
            seat.park_until_timer(limit);
        }
    }

    /// Worker on `seat`, which has much to do: wakes whom sockets wake by now.
    pub(super) fn look_at_sockets(&self, seat: &'static Seat) {
        if let Some(reactor) = self.reactor() {
            watch(seat, || reactor.look(seat));
        }
    }
}

fn watch<R>(seat: &Seat, watch: impl FnOnce() -> R) -> R {
    seat.is_turning.set(true);
    seat.is_watching.set(true);
    let watched = watch();
    seat.is_watching.set(false);
    seat.is_turning.set(false);
    watched
}

impl Sleeper for Seat {
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
