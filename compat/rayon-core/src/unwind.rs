//! Panics that must not cross a frame.
//!
//! Not here: what becomes of a payload (`registry.rs`, `scope.rs`, `join.rs`).

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Calls `f` and catches its panic. The caller resumes or reports the payload, so no broken invariant goes unseen.
pub(crate) fn halt_unwinding<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Drops the payload of a panic that another one has come before. Does not unwind: a payload that panics with another
/// one is enough, and the latter is leaked.
pub(crate) fn discard(payload: Payload) {
    if let Err(next) = halt_unwinding(|| drop(payload)) {
        std::mem::forget(next);
    }
}

/// Ends the process if it is dropped by unwinding: other threads may hold pointers into the frame.
pub(crate) struct AbortIfPanic;

impl AbortIfPanic {
    /// The frame may be left now.
    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortIfPanic {
    fn drop(&mut self) {
        std::process::abort();
    }
}
