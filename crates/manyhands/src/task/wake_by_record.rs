//! A wake by a thread that holds no part of the task's cell, and only knows that it is there: for `inspect`.
//!
//! Not here: what guarantees that the cell is there (`inspect/serve/wake_by_record.rs`), and wakers (`waker.rs`).
//!
//! Unsafe: the cell is reached by pointer.

use crate::recording::Waking;
use crate::task::cell::{CellRef, Header, QueuePart};
use crate::task::state::AfterWake;
use crate::task::steps::TaskCell;
use std::ptr::NonNull;

/// Of every future that this library's workers poll.
pub(super) const WAKING: Waking = Waking::by(request, queue);

/// Requests a poll; true if the caller must queue the task, of which it then has the queue's part.
///
/// # Safety
/// The cell is not freed during the call.
unsafe fn request(cell: NonNull<()>) -> bool {
    // SAFETY: by the caller's promise; a wake needs no part of its own.
    let cell = unsafe { CellRef::new(cell.cast()) };
    cell.state.wake() == AfterWake::Queue
}

/// # Safety
/// The caller has the queue's part, from [`request`].
unsafe fn queue(cell: NonNull<()>) {
    // SAFETY: by the caller's promise.
    Header::queue(unsafe { QueuePart::from_raw(cell.cast()) });
}
