//! A call that helpers can join. The owner opens it in a helper slot, runs it, closes it, and waits for the last helper. Also
//! here: how helpers reach its work, what happens to panics, and when a helper leaves for tasks that wait.
//!
//! # Access
//! The call lives on the owner's stack. Helpers touch it while they hold a guard of the owner's slot; the owner leaves
//! only when the slot is closed and drained.
//!
//! # The yield check
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
//! Not here: the helper slot's own protocol (`helper_slot.rs`), what the work is, and which thread does which part of it:
//! closures in `scope.rs`, positions in `engine/shared_loop.rs`, an iterator's items in `parallel/source/pull.rs`; which tasks
//! come first (`search.rs`), and owners without helpers, whose tasks the monitor takes care of.
//!
//! Unsafe: helpers reach the call by pointer.

use crate::job::{OnDrop, Payload, abort, catch};
use crate::runtime::fork_join::helper_slot::CallHeader;
use crate::runtime::policy::{self, WantedFor};
use crate::runtime::worker::search;
use crate::runtime::worker::slot::OPEN_DEPTH;
use crate::runtime::{HelperSlot, OccupiedSlot, Priority, RuntimeInner, current, wait};
use crate::sync::clock;
use std::mem;

/// A helper slot in which the occupant of a worker slot can open its next call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenCall {
    pub(crate) slot: &'static OccupiedSlot,
    pub(crate) helper_slot: &'static HelperSlot,
}

impl OpenCall {
    /// The next helper slot of `slot`, whose occupant calls this; `None` if it has too many calls open.
    pub(crate) fn next(slot: &'static OccupiedSlot) -> Option<Self> {
        const { assert!(OPEN_DEPTH > 0, "a slot can open at least one call") };
        let helper_slot = slot.open_calls.get(slot.open_depth.get())?;
        Some(Self { slot, helper_slot })
    }
}

/// Work that helpers can take part in.
pub(crate) trait HelpedWork: Sync {
    /// A helper's part, on its own thread and slot; `None` if the thread has entered another runtime, in which it has none.
    fn help(&self, slot: Option<&'static OccupiedSlot>);

    /// A body has panicked. A loop begins no more of its work.
    fn note_panic(&self, payload: Payload);
}

/// A call with its work.
#[repr(C)]
pub(crate) struct Helped<W> {
    open: CallHeader,
    pub(crate) work: W,
}

impl<W: HelpedWork> Helped<W> {
    #[inline]
    pub(crate) fn new(work: W) -> Self {
        Self {
            open: CallHeader { help: help::<W> },
            work,
        }
    }

    /// Runs the owner's part while helpers may join, if `place` is given; returns when the last of them has left. If helpers
    /// can recall the owner, `own` itself must last until then.
    ///
    /// Helpers hold pointers to the caller's frame, so the caller must not leave it before: a panic of `own` aborts.
    #[inline]
    pub(crate) fn keep_open<R>(&self, place: Option<OpenCall>, own: impl FnOnce(&W) -> R) -> R {
        let frame =
            OnDrop(|| abort("a call that others help with has panicked outside of its bodies"));
        let own = || own(&self.work);
        let value = match place {
            Some(OpenCall { slot, helper_slot }) => {
                let call = &raw const *self;
                let wait = || wait::for_helpers(slot, helper_slot);
                slot.open_depth.set(slot.open_depth.get() + 1);
                // SAFETY: made of a pointer to the whole call, which is borrowed until this returns; a panic aborts.
                let value = unsafe { helper_slot.open_during(call.cast(), own, wait) };
                slot.open_depth.set(slot.open_depth.get() - 1);
                value
            }
            None => own(),
        };
        frame.disarm();
        value
    }
}

/// Runs a helper's part of the call that it has joined.
///
/// # Safety
/// `open` is the head of a call of exactly this type, for which the caller holds a guard.
unsafe fn help<W: HelpedWork>(open: *const CallHeader) {
    // SAFETY: the pointer is to the whole call, and the guard keeps it in place.
    let call = unsafe { &*open.cast::<Helped<W>>() };
    // A runner's state may panic when it is begun or finished.
    if let Err(payload) = catch(|| call.work.help(current::slot())) {
        call.work.note_panic(payload);
    }
}

/// A helper's check for tasks, between two blocks of a loop, or some closures of a scope.
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
        let before = mem::replace(&mut self.oldest, other.tasks.oldest());
        if self.oldest == 0 || self.oldest == before {
            self.watched = self.watched.wrapping_add(1);
            let has_waited = mem::take(&mut self.oldest) != 0;
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
