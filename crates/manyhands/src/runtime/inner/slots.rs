//! The slots of a runtime: who takes one, who looks at all of them, and the way from a slot to the runtime that holds it.
//!
//! Not here: what a slot holds, and where slots come from (`worker/slot.rs`).
//!
//! Unsafe: slots are kept as pointers to leaked memory, and a slot keeps its runtime as a pointer.

use crate::runtime::inner::EXTERNAL_THREADS_MAX;
use crate::runtime::sleep::idle::take_lowest;
use crate::runtime::{Claim, OccupiedSlot, RuntimeInner, WorkerSlot};
use crate::sync::atomic::Ordering;
use std::ptr;

impl RuntimeInner {
    /// The slots of started workers and of external threads past and present.
    pub(crate) fn all_slots(&self) -> impl Iterator<Item = &'static WorkerSlot> {
        // Acquire: pairs with the AcqRel in `slot_for`; a slot not yet stored reads as null.
        let external_end = self.external_end.load(Ordering::Acquire);
        let external_threads = self.settings.threads_max..self.settings.threads_max + external_end;
        let external_slots = external_threads.filter_map(|index| self.slot_at(index));
        self.worker_slots().chain(external_slots)
    }

    /// The slots of started workers.
    pub(crate) fn worker_slots(&self) -> impl Iterator<Item = &'static WorkerSlot> {
        (0..self.idle.started()).filter_map(|index| self.slot_at(index))
    }

    /// All slots but `slot`, beginning after the `random`th.
    pub(crate) fn other_slots(
        &self,
        slot: &WorkerSlot,
        random: usize,
    ) -> impl Iterator<Item = &'static WorkerSlot> {
        let (workers, threads_max) = (self.idle.started(), self.settings.threads_max);
        // Acquire: as in `all_slots`.
        let count = workers + self.external_end.load(Ordering::Acquire);
        // Between the slots of workers and those of external threads are those of workers that were never started.
        let unused = threads_max - workers;
        let place = move |at: usize| at + unused * usize::from(at >= workers);
        (0..count)
            .map(move |step| (step + random) % count)
            .filter_map(move |position| self.slot_at(place(position)))
            .filter(move |other| !ptr::eq(*other, slot))
    }

    /// Takes an external thread place, with its slot.
    pub(crate) fn take_external_slot(&self) -> Option<(usize, &'static WorkerSlot)> {
        let place = take_lowest(&self.external_free)?;
        let slot = self.slot_for(self.settings.threads_max + place);
        if slot.is_none() {
            // There may be slots again later. Release: as where it is given back.
            self.external_free[place / 64].fetch_or(1 << (place % 64), Ordering::Release);
        }
        slot.map(|slot| (place, slot))
    }

    /// Whether half of the external thread places are taken, or were a moment ago: the lowest are taken first.
    pub(crate) fn has_many_externals(&self) -> bool {
        // Relaxed: advice.
        self.external_free[EXTERNAL_THREADS_MAX / 64 / 2].load(Ordering::Relaxed) != u64::MAX
    }

    /// Leaves an external thread place.
    pub(crate) fn give_external_slot_back(&self, place: usize) {
        // Release: pairs with the Acquire of `take_lowest`; the cells of its slot are those of who takes it.
        self.external_free[place / 64].fetch_or(1 << (place % 64), Ordering::Release);
    }

    pub(in crate::runtime) fn slot_at(&self, index: usize) -> Option<&'static WorkerSlot> {
        // Acquire: pairs with the Release that stored it.
        let slot = self.slots[index].load(Ordering::Acquire);
        // SAFETY: null, or a leaked slot.
        unsafe { slot.as_ref() }
    }

    /// The slot at `index`, where an earlier occupant may have left one; else one of the process is taken for it. `None` if
    /// there are no more.
    pub(in crate::runtime) fn slot_for(&self, index: usize) -> Option<&'static WorkerSlot> {
        if let Some(slot) = self.slot_at(index) {
            return Some(slot);
        }
        let slot = WorkerSlot::take(ptr::from_ref(self).cast())?;
        let external = index.checked_sub(self.settings.threads_max);
        if external.is_none() {
            slot.set_worker(index);
        }
        // Release: pairs with the Acquire in `slot_at`.
        self.slots[index].store(ptr::from_ref(slot).cast_mut(), Ordering::Release);
        if let Some(place) = external {
            // AcqRel: a thread that sees the new end sees the slot.
            self.external_end.fetch_max(place + 1, Ordering::AcqRel);
        }
        Some(slot)
    }

    /// The slot of the one worker of a simulated runtime, whose thread is the calling one. Nobody can be
    /// woken in it, and no monitor comes.
    pub(crate) fn slot_simulator(&self) -> &'static WorkerSlot {
        let is_first = self.idle.claim() == Some(Claim::Unstarted(0));
        assert!(is_first, "a new runtime has no worker");
        self.monitor.close();
        self.slot_for(0)
            .expect("fewer than 65,536 threads take part or wait at once")
    }
}

impl WorkerSlot {
    /// The runtime of a slot that a runtime holds.
    #[inline]
    pub(crate) fn runtime(&self) -> &RuntimeInner {
        self.runtime_or_none()
            .expect("only a waiting thread's slot is without a runtime")
    }

    /// The runtime this slot belongs to; `None` for a thread that only waits.
    #[inline]
    pub(crate) fn runtime_or_none(&self) -> Option<&RuntimeInner> {
        // SAFETY: null, or a runtime that has taken the slot (`callers.rs`), and outlives every occupant of it. Held by
        // `tests/it/storm.rs::a_runtime_that_ends_amid_wakes_from_outside_ends_whole` and `models/shutdown.rs`.
        unsafe { self.runtime_ptr().cast::<RuntimeInner>().as_ref() }
    }
}

impl OccupiedSlot {
    /// Whether the slot belongs to a runtime, and to the same as `other`.
    pub(crate) fn shares_runtime_with(&self, other: &WorkerSlot) -> bool {
        // A slot changes runtimes only when nothing runs on it; see `executions.rs`.
        let runtime = self.runtime_ptr();
        !runtime.is_null() && ptr::eq(runtime, other.runtime_ptr())
    }

    /// If the monitor counts the occupant as blocked, it is not any more.
    #[inline]
    pub(crate) fn is_not_blocked(&self) {
        if self.detected_blocked.is_set()
            && let Some(shared) = self.runtime_or_none()
        {
            shared.idle.detected_blocked.unmark(&self.detected_blocked);
        }
    }
}
