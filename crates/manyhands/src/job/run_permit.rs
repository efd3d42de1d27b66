//! Permission to run code of the user.
//!
//! While a thread counts as searching, no worker is woken for new work. Code of the user that ran then, and waited for a
//! task, could wait for ever. So whatever performs jobs asks for the thread's permit, and a thread that begins to search
//! gives its permit away until it ends (`runtime/sleep/idle.rs`).
//!
//! Not here: what a job does.

use std::marker::PhantomData;

/// A thread's permission to run code of the user. It has no size.
#[must_use]
pub(crate) struct RunPermit<'a>(PhantomData<(&'a mut (), *const ())>);

impl RunPermit<'_> {
    /// For a thread at the beginning of its life, or on top of code of the user, which itself runs only with a permit.
    /// The files that may call this are in `callers.rs`.
    #[inline]
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }

    /// The same permission, for a part of the time.
    #[inline]
    pub(crate) fn again(&mut self) -> RunPermit<'_> {
        RunPermit(PhantomData)
    }
}
