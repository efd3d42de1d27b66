//! The way from a slot to the runtime that holds it.
//!
//! Not here: how a runtime finds its slots (`inner.rs`).
//!
//! Unsafe: a slot keeps its runtime as a pointer.

use crate::runtime::RuntimeInner;
use crate::runtime::worker::occupied_slot::OccupiedSlot;
use crate::runtime::worker::slot::WorkerSlot;
use std::ptr;

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
            shared.idle.unmark(&self.detected_blocked);
        }
    }
}
