//! A call's life in its slot: opened, run by its owner, closed, left by its last helper.
//!
//! Not here: the slot's own protocol (`open.rs`), and what helpers do (`scope.rs`, `parallel`).
//!
//! Unsafe: the call is handed to its helpers by pointer.

use crate::job::AbortOnUnwind;
use crate::runtime::open::{OpenSlot, Shared as OpenCall};
use crate::runtime::seat::{OPEN_DEPTH, Seat};
use crate::runtime::wait;

/// Where the next call of a seat's occupant can be opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenPlace {
    pub(crate) seat: &'static Seat,
    pub(crate) slot: &'static OpenSlot,
}

impl OpenPlace {
    /// The next place of `seat`, whose occupant calls; `None` when it has too many calls open.
    pub(crate) fn next(seat: &'static Seat) -> Option<Self> {
        const { assert!(OPEN_DEPTH > 0, "a seat can open at least one call") };
        let slot = seat.slots.get(seat.open_depth.get())?;
        Some(Self { seat, slot })
    }
}

/// Runs `work` while helpers may come to `call`, if there is a place for it; returns when the last of them
/// has left. If helpers can call the owner back, `work` goes on until the last of them has left by itself.
///
/// Helpers hold pointers to the caller's frame, so it must not be left before: a panic of `work` aborts.
///
/// # Safety
/// `call` is made of a pointer to the whole call, which stays valid until this returns.
pub(crate) unsafe fn keep_open<R>(
    place: Option<OpenPlace>,
    call: *const OpenCall,
    work: impl FnOnce() -> R,
) -> R {
    let frame =
        AbortOnUnwind::new("a call that others help with has panicked outside of its bodies");
    if let Some(OpenPlace { seat, slot }) = place {
        seat.open_depth.set(seat.open_depth.get() + 1);
        // SAFETY: valid until the slot is closed and drained below.
        unsafe { slot.open(call) };
    }
    let value = work();
    if let Some(OpenPlace { seat, slot }) = place {
        slot.close();
        wait::for_helpers(seat, slot);
        assert!(
            slot.is_drained(),
            "who may be called back is so before this"
        );
        seat.open_depth.set(seat.open_depth.get() - 1);
    }
    frame.disarm();
    value
}
