//! The handle that can cancel a task, and not wait for it.
//!
//! It holds the cell as a waker does, and is counted with the wakers (`state.rs`).
//!
//! Not here: the handle that waits (`handle.rs`).
//!
//! Unsafe: the handle goes to other threads with its part of the cell.

use crate::task::TaskId;
use crate::task::cell::{CellRef, WakerPart};
use std::fmt;
use std::panic::Location;

/// Cancels a task, from wherever it is needed, while somebody else waits for it; made by
/// [`JoinHandle::abort_handle`](crate::task::JoinHandle::abort_handle).
///
/// It keeps the task's memory, and a future that nothing else can wake. Otherwise a task whose
/// [`JoinHandle`](crate::task::JoinHandle) is dropped is detached, as without it. The result of a detached closure is dropped
/// with the last abort handle.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let waits = task::spawn(std::future::pending::<()>());
/// let abort = waits.abort_handle();
/// assert_eq!((abort.id(), abort.name()), (waits.id(), None));
/// println!("may be cancelled: the task of {}", abort.location());
/// let waiter = std::thread::spawn(|| waits.join());
/// abort.abort();
/// assert!(waiter.join().unwrap().unwrap_err().is_cancelled());
/// assert!(abort.is_finished());
/// ```
#[derive(Clone)]
pub struct AbortHandle {
    part: WakerPart,
}

// SAFETY: the pointer forbids it. The cell is shared by the state word's rules. What it drops with the cell may be
// dropped anywhere: a closure's outcome is `Send`, a future's is gone when the runner and the handle are.
unsafe impl Send for AbortHandle {}
// SAFETY: as above; a shared handle only reads the task's state, and cancels it.
unsafe impl Sync for AbortHandle {}

impl AbortHandle {
    /// For the task in this cell.
    pub(super) fn of(cell: CellRef<'_>) -> Self {
        let part = cell.new_waker();
        Self { part }
    }

    /// Requests that the task end without a result, as [`JoinHandle::abort`](crate::task::JoinHandle::abort) does.
    ///
    /// Example: see [`AbortHandle`].
    #[doc(alias = "cancel")]
    pub fn abort(&self) {
        self.part.cell().cancel();
    }

    /// Whether the task has ended: finished, panicked or cancelled.
    ///
    /// Example: see [`AbortHandle`].
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.part.joiner.is_final() || self.part.state.is_done()
    }

    /// The task's number.
    ///
    /// Example: see [`AbortHandle`].
    #[must_use]
    pub fn id(&self) -> TaskId {
        TaskId::of(self.part.cell())
    }

    /// The name that the task was given by [`Builder::name`](crate::task::Builder::name).
    ///
    /// Example: see [`AbortHandle`].
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.part.cell().name()
    }

    /// Where the task was spawned.
    ///
    /// Example: see [`AbortHandle`].
    #[must_use]
    pub fn location(&self) -> &'static Location<'static> {
        self.part.location
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
