//! The right to run a task.
//!
//! Unsafe: a runnable can be a pointer for a while, and is then what its holder says.

use manyhands::facade::ForeignRunnable;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::task::Waker;

/// The right to run a task once. There is at most one at a time for each task, and none while it waits.
///
/// Dropping it cancels the task: its future is dropped at once.
///
/// # Examples
/// ```
/// let (runnable, task) = async_task::spawn(async {}, |runnable: async_task::Runnable| drop(runnable));
/// drop(runnable);
/// assert_eq!(smol::block_on(task.fallible()), None);
/// ```
pub struct Runnable<M = ()>(ForeignRunnable<M>);

impl<M> UnwindSafe for Runnable<M> {}
impl<M> RefUnwindSafe for Runnable<M> {}

impl<M> Runnable<M> {
    pub(crate) fn new(runnable: ForeignRunnable<M>) -> Self {
        Self(runnable)
    }

    /// What the task was given by [`Builder::metadata`](crate::Builder::metadata).
    pub fn metadata(&self) -> &M {
        self.0.metadata()
    }

    /// Passes the task to its schedule function.
    pub fn schedule(self) {
        self.0.schedule();
    }

    /// Polls the future; if the task was cancelled, drops it. Returns whether the task was woken meanwhile, and so has
    /// been scheduled again.
    ///
    /// # Panics
    /// If the future does, unless that [goes to the `Task`](crate::Builder::propagate_panic).
    pub fn run(self) -> bool {
        self.0.run()
    }

    /// A waker of the task. A wake before the task is run has no effect.
    pub fn waker(&self) -> Waker {
        self.0.waker()
    }

    /// The task as a pointer, for interfaces that take nothing else. It is given back to
    /// [`from_raw`](Self::from_raw); until then the task waits.
    pub fn into_raw(self) -> NonNull<()> {
        self.0.into_raw()
    }

    /// The task that [`into_raw`](Self::into_raw) made a pointer of.
    ///
    /// # Safety
    /// `ptr` is from [`into_raw`](Self::into_raw) of a runnable with this type of metadata, and is used once.
    pub unsafe fn from_raw(ptr: NonNull<()>) -> Self {
        // SAFETY: by the caller's promise.
        Self(unsafe { ForeignRunnable::from_raw(ptr) })
    }
}

impl<M: fmt::Debug> fmt::Debug for Runnable<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runnable")
            .field("metadata", self.metadata())
            .finish_non_exhaustive()
    }
}
