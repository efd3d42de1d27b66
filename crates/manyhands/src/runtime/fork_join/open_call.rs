//! Opening a call to helpers: the owner opens it in a helper slot, runs it, closes it, and waits for the last helper.
//!
//! Not here: the helper slot's own protocol (`helper_slot.rs`), and what helpers do (`scope.rs`, `parallel`).
//!
//! Unsafe: the call is handed to its helpers by pointer.

use crate::job::AbortOnUnwind;
use crate::runtime::fork_join::helper_slot::{CallHeader, HelperSlot};
use crate::runtime::fork_join::wait;
use crate::runtime::worker::occupied_slot::OccupiedSlot;
use crate::runtime::worker::slot::OPEN_DEPTH;

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

/// Runs `work` while `call` is open to helpers, if `place` is given; returns when the last of them has left. If
/// helpers can recall the owner, `work` itself must last until the last of them has left.
///
/// Helpers hold pointers to the caller's frame, so the caller must not leave it before: a panic of `work` aborts.
///
/// # Safety
/// `call` is made of a pointer to the whole call, which stays valid until this returns.
pub(crate) unsafe fn with_helper_slot<R>(
    place: Option<OpenCall>,
    call: *const CallHeader,
    work: impl FnOnce() -> R,
) -> R {
    let frame =
        AbortOnUnwind::new("a call that others help with has panicked outside of its bodies");
    let value = match place {
        Some(OpenCall { slot, helper_slot }) => {
            slot.open_depth.set(slot.open_depth.get() + 1);
            // SAFETY: valid until this returns, by the caller's promise; a panic aborts.
            let value = unsafe {
                helper_slot.open_during(call, work, || wait::for_helpers(slot, helper_slot))
            };
            slot.open_depth.set(slot.open_depth.get() - 1);
            value
        }
        None => work(),
    };
    frame.disarm();
    value
}
