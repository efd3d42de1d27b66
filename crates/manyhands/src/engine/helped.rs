//! A call that helpers can join: how they reach its work, and what happens to panics.
//!
//! # Access
//! The call lives on the owner's stack. Helpers touch it while they hold a guard of the owner's slot; the owner leaves
//! only when the slot is closed and drained.
//!
//! Not here: what the work is, and which thread does which part of it: positions in `shared_loop.rs`, an iterator's
//! items in `source/iterator.rs`.
//!
//! Unsafe: helpers reach the call by pointer.

use crate::job::{Payload, catch, resume_all};
use crate::runtime::worker::occupied_slot::OccupiedSlot;
use crate::runtime::{CallHeader, OpenCall, current, with_helper_slot};
use crate::sync::{Mutex, lock};
use std::mem;

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
