//! A helper's look around, between two blocks of the loop or some closures of the scope that it helps with,
//! for tasks that wait.
//!
//! A loop may run for ever, and a task must not wait that long. Its owner cannot leave, because other work
//! must not run on top of the owner's frames; a helper that found the call itself can, and comes back when
//! the tasks are done. So on a busy pool a loop shrinks, down to its caller.
//!
//! It leaves for nothing, too, when more threads run than should: when one that was blocked has come back while
//! another stood in for it.
//!
//! One helper at a time goes: it counts as searching until it is back where it looks for work, and nobody
//! else goes for what it may find.
//!
//! Not here: which tasks come first (`run_loop.rs`), and owners without helpers, whose tasks are the
//! monitor's business.

use crate::runtime::sleep::idle::Activity;
use crate::runtime::worker::run_loop;
use crate::runtime::worker::slot::WorkerSlot;
use crate::runtime::{Priority, RuntimeInner};
use crate::sync::clock;

/// A helper's attention to tasks. While it is wanted, and until it is dropped, the helper counts as searching.
#[derive(Debug)]
pub(crate) struct YieldCheck {
    slot: &'static WorkerSlot,
    /// Which other slot is watched.
    watched: usize,
    /// The oldest task there at the last look, or 0.
    oldest: usize,
    is_wanted: bool,
}

impl YieldCheck {
    /// That of the helper on `slot`; `None` where it cannot leave, because it helps while it waits for
    /// something itself.
    pub(crate) fn of(slot: &'static WorkerSlot) -> Option<Self> {
        if !slot.is_outermost() {
            return None;
        }
        slot.set_attentive(true);
        Some(Self {
            slot,
            watched: slot.next_random() as usize,
            oldest: 0,
            is_wanted: false,
        })
    }

    /// Looks around. If there is something to do, or one too many runs, the helper must go and look for work at
    /// once.
    ///
    /// # Cost
    /// Four loads of lines that change with the tasks and the number of threads only, and one of another slot's.
    pub(crate) fn is_wanted(&mut self) -> bool {
        let slot = self.slot;
        let shared = slot.runtime();
        // What only this worker may run cannot be left to one who searches.
        self.is_wanted = !slot.local.is_empty()
            || ((self.has_waiting_task(shared) || shared.idle.is_overfull())
                && !shared.idle.is_anyone_searching());
        if self.is_wanted {
            shared.idle.begin(Activity::Searching);
        }
        self.is_wanted
    }

    fn has_waiting_task(&mut self, shared: &RuntimeInner) -> bool {
        !self.slot.tasks.is_empty()
            || !shared.injector.is_empty()
            || (shared.priority_queues.is_used() && self.is_lane_waiting(shared))
            || self.fetch_from_others(shared)
    }

    fn is_lane_waiting(&self, shared: &RuntimeInner) -> bool {
        let is_overdue = || {
            let turns = self.slot.turns.get();
            turns.is_overdue(Priority::Background, clock::ticks())
        };
        !shared.priority_queues.interactive.is_empty()
            || (!shared.priority_queues.background.is_empty() && is_overdue())
    }

    /// Looks at one other slot after the other. A task that is the oldest there at two looks is not being
    /// come to: fetches it, and those behind it.
    fn fetch_from_others(&mut self, shared: &RuntimeInner) -> bool {
        let Some(other) = shared.other_slots(self.slot, self.watched).next() else {
            return false;
        };
        let before = std::mem::replace(&mut self.oldest, other.tasks.oldest());
        if self.oldest == 0 || self.oldest == before {
            self.watched = self.watched.wrapping_add(1);
            let has_waited = std::mem::take(&mut self.oldest) != 0;
            return has_waited && run_loop::fetch_tasks(self.slot, other);
        }
        false
    }
}

impl Drop for YieldCheck {
    fn drop(&mut self) {
        self.slot.set_attentive(false);
        if self.is_wanted {
            self.slot.runtime().idle.end(Activity::Searching);
        }
    }
}
