//! A call that helpers can join. The owner opens it in a helper slot, runs it, closes it, and waits for the last helper. Also
//! here: how helpers reach its work, and what happens to panics.
//!
//! # Access
//! The call lives on the owner's stack. Helpers touch it while they hold a guard of the owner's slot; the owner leaves
//! only when the slot is closed and drained.
//!
//! Not here: the helper slot's own protocol (`helper_slot.rs`), what the work is, and which thread does which part of it:
//! closures in `scope.rs`, positions in `engine/shared_loop.rs`, an iterator's items in `parallel/source/pull.rs`.
//!
//! Unsafe: helpers reach the call by pointer.

use crate::job::{AbortOnUnwind, Payload, catch, resume_all};
use crate::runtime::current;
use crate::runtime::fork_join::helper_slot::{CallHeader, HelperSlot};
use crate::runtime::fork_join::wait;
use crate::runtime::worker::occupied_slot::OccupiedSlot;
use crate::runtime::worker::slot::OPEN_DEPTH;
use crate::sync::{Mutex, lock};
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

/// Work that helpers can take part in.
pub(crate) trait HelpedWork: Sync {
    /// A helper's part, on its own thread.
    fn help(&self, slot: &'static OccupiedSlot);

    /// A body has panicked: no more of the work begins.
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
            open: CallHeader::new(help::<W>),
            work,
        }
    }

    /// Runs the owner's part while helpers may join, if a helper slot is free. Returns when the last of them has left.
    /// The bodies' panics must be caught, else the process ends.
    #[inline]
    pub(crate) fn keep_open(&self, place: Option<OpenCall>, own: impl FnOnce(&W)) {
        let call = &raw const *self;
        // SAFETY: made of a pointer to the whole call, which is borrowed until this returns.
        unsafe { with_helper_slot(place, call.cast(), || own(&self.work)) };
    }
}

/// Runs a helper's part of the call that it has joined.
///
/// # Safety
/// `open` is the head of a call of exactly this type, for which the caller holds a guard.
unsafe fn help<W: HelpedWork>(open: *const CallHeader) {
    // SAFETY: the pointer is to the whole call, and the guard keeps it in place.
    let call = unsafe { &*open.cast::<Helped<W>>() };
    let Some(slot) = current::slot() else { return };
    // A runner's state may panic when it is begun or finished.
    if let Err(payload) = catch(|| call.work.help(slot)) {
        call.work.note_panic(payload);
    }
}

/// The panics of all runners of a call.
pub(crate) struct Panics(Mutex<Vec<Payload>>);

impl Panics {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    pub(crate) fn push(&self, payload: Payload) {
        lock(&self.0).push(payload);
    }

    /// Owner, when the call is over: resumes the panics, if there are any.
    pub(crate) fn resume(&self) {
        resume_all(mem::take(&mut *lock(&self.0)));
    }
}
