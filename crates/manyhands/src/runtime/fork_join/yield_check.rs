//! The yield check: between two blocks of a loop, or some closures of a scope, a helper checks for waiting tasks.
//!
//! A loop may run for ever, and a task must not wait that long. The loop's owner cannot leave, because other work
//! must not run on top of its frames. A helper that entered the call from its run loop can leave, and comes back when
//! the tasks have run. So on a busy pool a loop shrinks, down to its caller.
//!
//! A helper also leaves when more threads run than may: when a blocked thread has gone on while another one runs in
//! its place.
//!
//! What its loop still has to end of the user's runs before the helper is back in its run loop, and may take long. So
//! the helper does not count as searching meanwhile, and another one may leave for the same tasks.
//!
//! Not here: which tasks come first (`search.rs`), and owners without helpers, whose tasks the monitor takes care
//! of.

use crate::runtime::policy::{self, WantedFor};
use crate::runtime::worker::occupied_slot::OccupiedSlot;
use crate::runtime::worker::search;
use crate::runtime::{Priority, RuntimeInner};
use crate::sync::clock;

/// A helper's check for tasks.
#[derive(Debug)]
pub(crate) struct YieldCheck {
    slot: &'static OccupiedSlot,
    /// Which other slot it watches.
    watched: usize,
    /// The oldest task there at the last check, or 0.
    oldest: usize,
}

impl YieldCheck {
    /// The check of the helper on `slot`; `None` if it cannot leave, because it helps while it waits itself.
    pub(crate) fn of(slot: &'static OccupiedSlot) -> Option<Self> {
        if !slot.is_outermost() {
            return None;
        }
        slot.set_may_yield(true);
        Some(Self {
            slot,
            watched: slot.next_random() as usize,
            oldest: 0,
        })
    }

    /// Checks. If it returns true, tasks wait or too many threads run, and the helper must leave and look for work at
    /// once.
    ///
    /// # Cost
    /// Three loads of cache lines that change only with the tasks and the number of threads, one more of each shard of
    /// the tasks from outside, and one of another slot's.
    pub(crate) fn is_wanted(&mut self) -> bool {
        let slot = self.slot;
        let shared = slot.runtime();
        let wanted = if !slot.local.is_empty() {
            Some(WantedFor::OwnTasks)
        } else if self.has_waiting_task(shared) {
            Some(WantedFor::Tasks)
        } else {
            shared.idle.is_overfull().then_some(WantedFor::Sleep)
        };
        policy::gives_way(wanted, shared.idle.is_anyone_searching())
    }

    fn has_waiting_task(&mut self, shared: &RuntimeInner) -> bool {
        !self.slot.tasks.is_empty()
            || !shared.injector.is_empty()
            || !shared.set_aside.is_empty()
            || (shared.priority_queues.is_used() && self.has_waiting_priority_task(shared))
            || self.fetch_from_others(shared)
    }

    fn has_waiting_priority_task(&self, shared: &RuntimeInner) -> bool {
        let is_overdue = || {
            let turns = self.slot.turns.get();
            turns.is_overdue(Priority::Background, clock::ticks())
        };
        !shared.priority_queues.interactive.is_empty()
            || (!shared.priority_queues.background.is_empty() && is_overdue())
    }

    /// Watches one other slot after the other. If the same task is the oldest there at two checks, its worker does not
    /// get to it: fetches it, and those behind it.
    fn fetch_from_others(&mut self, shared: &RuntimeInner) -> bool {
        let Some(other) = shared.other_slots(self.slot, self.watched).next() else {
            return false;
        };
        let before = std::mem::replace(&mut self.oldest, other.tasks.oldest());
        if self.oldest == 0 || self.oldest == before {
            self.watched = self.watched.wrapping_add(1);
            let has_waited = std::mem::take(&mut self.oldest) != 0;
            return has_waited && search::fetch_tasks(self.slot, other);
        }
        false
    }
}

impl Drop for YieldCheck {
    fn drop(&mut self) {
        self.slot.set_may_yield(false);
    }
}
