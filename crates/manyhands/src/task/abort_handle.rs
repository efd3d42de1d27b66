//! The handle that can cancel a task, and not wait for it.
//!
//! It holds the cell as a waker does, and is counted with the wakers (`state.rs`).
//!
//! Not here: the handle that waits (`handle.rs`).
//!
//! Unsafe: the handle holds its part of the cell by pointer.

use crate::task::cell::{self, Header};
use crate::task::{TaskId, steps};
use std::fmt;
use std::panic::Location;
use std::ptr::NonNull;

/// Cancels a task, from wherever it is needed, while somebody else waits for it; made by
/// [`JoinHandle::abort_handle`](crate::task::JoinHandle::abort_handle).
///
/// It keeps the task's memory, and nothing else: a task whose [`JoinHandle`](crate::task::JoinHandle) is dropped is
/// detached, as without it. The result of a detached closure is dropped with the last abort handle.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let waits = task::spawn(std::future::pending::<()>());
/// let abort = waits.abort_handle();
/// assert_eq!((abort.id(), abort.name()), (waits.id(), None));
/// println!("may be cancelled: the task of {}", abort.location());
/// let waiter = std::thread::spawn(|| waits.join());
/// abort.cancel();
/// assert!(waiter.join().unwrap().unwrap_err().is_cancelled());
/// assert!(abort.is_finished());
/// ```
pub struct AbortHandle {
    cell: NonNull<Header>,
}

// SAFETY: the pointer forbids it. The cell is shared by the state word's rules. What it drops with the cell may be
// dropped anywhere: a closure's outcome is `Send`, a future's is gone when the runner and the handle are.
unsafe impl Send for AbortHandle {}
// SAFETY: as above; a shared handle only reads the task's state, and cancels it.
unsafe impl Sync for AbortHandle {}

impl AbortHandle {
    /// For the task in this cell.
    ///
    /// # Safety
    /// The caller holds the cell.
    pub(super) unsafe fn of(cell: NonNull<Header>) -> Self {
        // SAFETY: by the caller's promise.
        unsafe { cell.as_ref() }.state.add_waker();
        Self { cell }
    }

    /// Requests that the task end without a result, as [`JoinHandle::cancel`](crate::task::JoinHandle::cancel) does.
    ///
    /// Example: see [`AbortHandle`].
    #[doc(alias = "abort")]
    pub fn cancel(&self) {
        // SAFETY: the handle holds the cell.
        unsafe { steps::cancel(self.cell) };
    }

    /// Whether the task has ended: finished, panicked or cancelled.
    ///
    /// Example: see [`AbortHandle`].
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let header = self.header();
        header.joiner.is_final() || header.state.is_done()
    }

    /// The task's number.
    ///
    /// Example: see [`AbortHandle`].
    #[must_use]
    pub fn id(&self) -> TaskId {
        TaskId::of(self.cell)
    }

    /// The name that the task was given by [`Builder::name`](crate::task::Builder::name).
    ///
    /// Example: see [`AbortHandle`].
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        // SAFETY: the handle holds the cell.
        unsafe { cell::name(&self.cell) }
    }

    /// Where the task was spawned.
    ///
    /// Example: see [`AbortHandle`].
    #[must_use]
    pub fn location(&self) -> &'static Location<'static> {
        self.header().location
    }

    fn header(&self) -> &Header {
        // SAFETY: valid, because the handle holds its part.
        unsafe { self.cell.as_ref() }
    }
}

impl Clone for AbortHandle {
    fn clone(&self) -> Self {
        // SAFETY: this handle holds the cell.
        unsafe { Self::of(self.cell) }
    }
}

impl Drop for AbortHandle {
    fn drop(&mut self) {
        // SAFETY: the handle holds its part, and ends here.
        unsafe { steps::release_waker(self.cell) };
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle")
            .field("id", &format_args!("{}", self.id()))
            .field("name", &self.name())
            .field("location", &format_args!("{}", self.location()))
            .field("is_finished", &self.is_finished())
            .finish()
    }
}
