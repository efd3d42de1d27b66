//! A future that is polled and dropped only on the thread that made it.
//!
//! Unsafe: the future is pinned in its wrapper, and dropped by hand.

use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::{self, ThreadId};

/// Such a future.
pub(crate) struct Bound<F> {
    thread: ThreadId,
    future: ManuallyDrop<F>,
}

impl<F> Bound<F> {
    /// Binds `future` to the calling thread.
    pub(crate) fn here(future: F) -> Self {
        Self {
            thread: this_thread(),
            future: ManuallyDrop::new(future),
        }
    }
}

impl<F: Future> Future for Bound<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        assert!(
            self.thread == this_thread(),
            "a local task is run only on the thread that spawned it"
        );
        // SAFETY: pinned with its wrapper, whose drop does not move it.
        let future = unsafe { self.map_unchecked_mut(|bound| &mut *bound.future) };
        future.poll(context)
    }
}

impl<F> Drop for Bound<F> {
    fn drop(&mut self) {
        assert!(
            self.thread == this_thread(),
            "a local task is dropped only on the thread that spawned it"
        );
        // SAFETY: once, and it is not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.future) };
    }
}

/// The calling thread, also while its thread-local values are dropped.
fn this_thread() -> ThreadId {
    thread_local! {
        static ID: ThreadId = thread::current().id();
    }
    ID.try_with(|id| *id)
        .unwrap_or_else(|_| thread::current().id())
}
