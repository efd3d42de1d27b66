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
