//! A task in the hands of one thread, as a type: what a queue takes and gives.
//!
//! Not here: what is done with it, and who frees it.
//!
//! Unsafe: tasks are reached by pointer.

use std::ops::Deref;
use std::ptr::NonNull;

/// A task that is in no queue. Its holder alone may queue or perform it; until then it is valid.
#[must_use = "a task that is in no queue is to be queued or performed"]
pub(crate) struct Unqueued<T>(NonNull<T>);

impl<T> Unqueued<T> {
    /// A task that was a pointer.
    ///
    /// # Safety
    /// 1. `task` is valid until it is performed. 2. It is in no queue, and nobody else queues or performs it.
    #[inline]
    pub(crate) unsafe fn new(task: *mut T) -> Self {
        // SAFETY: what is valid is not null.
        Self(unsafe { NonNull::new_unchecked(task) })
    }

    /// The task as a pointer, also to what it heads.
    #[inline]
    pub(crate) fn into_raw(self) -> *mut T {
        self.0.as_ptr()
    }
}

impl<T> Deref for Unqueued<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: valid until it is performed.
        unsafe { self.0.as_ref() }
    }
}
