//! Missed wakes and stalls: work that waits though there is room.
//!
//! While work waits and there is room, a sweep wakes a worker, unless one searches, or was woken and has not run yet. For
//! one that has not after 50 ms the sweep wakes another, and so on. If nobody can be woken and none can be started, although
//! no thread runs, the runtime stalls; after 0.1 s that is reported.
//!
//! Not here: the report (`stall.rs`).

use crate::runtime::policy::{self, IN_DOUBT, STALLED_AFTER};
use crate::runtime::{RuntimeInner, SlotState, Stall, WorkerSlot};
use std::time::Instant;

/// What the monitor remembers of it from sweep to sweep.
#[derive(Debug, Default)]
pub(super) struct Stalls {
    /// Since when a worker that was woken or started has not run yet, at all sweeps with work that waits.
    on_its_way: Option<Instant>,
    /// While no thread can go on: since when, whether that was reported, and how much was completed by then.
    stalled: Option<(Instant, bool, u64)>,
}

impl Stalls {
    /// Whether a worker comes for the work that waits: one that searches, one on its way, or one that this wakes.
    pub(super) fn brings_worker(&mut self, shared: &RuntimeInner, now: Instant) -> bool {
        let is_searching = shared.idle.is_anyone_searching();
        let searcher_comes = policy::searcher_comes(shared.idle.running(), is_searching);
        let comes = self.awaits_worker(shared, now) || searcher_comes || shared.wake_one();
        if comes {
            self.end();
        }
        comes
    }

    /// Whether a worker was woken or started that has not run yet, but not for too long.
    fn awaits_worker(&mut self, shared: &RuntimeInner, now: Instant) -> bool {
        if !is_worker_on_its_way(shared) {
            self.on_its_way = None;
            return false;
        }
        self.on_its_way.get_or_insert(now);
        let is_late = |since: &mut Instant| now.saturating_duration_since(*since) >= IN_DOUBT;
        self.on_its_way.take_if(is_late).is_none()
    }

    /// The runtime does not stall.
    pub(super) fn end(&mut self) {
        self.stalled = None;
    }

    /// Called when work waits and no worker comes for it. If no thread runs either, the runtime stalls; returns whether it
    /// does.
    pub(super) fn report_if_stalled(&mut self, shared: &RuntimeInner, now: Instant) -> bool {
        if shared.idle.running() > 0 {
            self.end();
            return false;
        }
        let completed = shared.completed();
        // Else it has gone on since the last sweep, and stalls again.
        self.stalled.take_if(|stalled| stalled.2 != completed);
        let (since, is_reported, _) = self.stalled.get_or_insert((now, false, completed));
        if !*is_reported && now.saturating_duration_since(*since) >= STALLED_AFTER {
            *is_reported = true;
            let stall = Stall::of(shared);
            shared.note_change(stall.threads, stall.reason);
            shared.settings.report_stall(&stall);
        }
        true
    }
}

/// Whether a worker was woken or started that has not run yet. It will look for work, and wake another one if there is
/// more. Were others woken in its place, each sweep would wake one for the same task where a woken thread has to wait for
/// a processor.
fn is_worker_on_its_way(shared: &RuntimeInner) -> bool {
    (0..shared.idle.started()).any(|worker| {
        let occupant = shared.slot_at(worker).map(WorkerSlot::occupant);
        match occupant.unwrap_or(SlotState::None) {
            SlotState::None => !shared.idle.is_vacant(worker),
            SlotState::Idle => !shared.idle.is_announced(worker),
            SlotState::Running | SlotState::Waiting | SlotState::Starting => false,
        }
    })
}
