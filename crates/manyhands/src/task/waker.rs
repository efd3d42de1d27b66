//! Wakers of tasks: counted pointers to the cell; and a wake without one.
//!
//! Not here: what a wake does to the state (`state.rs`) and where the task is queued (`schedule.rs`).
//!
//! Unsafe: a waker is a part of a cell as a raw pointer.

use crate::job::BorrowedWaker;
use crate::task::cell::{CellRef, Header, QueuePart, WakerPart};
use crate::task::steps::TaskCell;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

/// The waker of a task while it is polled. Holds no part of the cell; its clones do.
pub(super) fn lend(cell: CellRef<'_>) -> BorrowedWaker<'_> {
    // SAFETY: never dropped, so it needs no part of its own.
    BorrowedWaker::new(unsafe { from_task(cell.as_ptr().as_ptr().cast()) })
}

/// The task that `waker` wakes, if it is one of this library.
pub(crate) fn task_of(waker: &Waker) -> Option<*mut ()> {
    ptr::eq(waker.vtable(), &raw const VTABLE).then(|| waker.data().cast_mut())
}

/// The waker of a task.
///
/// # Safety
/// `task` is a cell, of which the waker gets a part.
pub(super) unsafe fn from_task(task: *mut ()) -> Waker {
    // SAFETY: the table's functions do what a waker's must.
    unsafe { Waker::new(task, &VTABLE) }
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: the waker has the part, and keeps it.
        let part = ManuallyDrop::new(unsafe { part_of(data) });
        let _clone = ManuallyDrop::new(WakerPart::clone(&part));
        RawWaker::new(data, &VTABLE)
    },
    // SAFETY: the waker has the part, and ends here.
    |data| unsafe { part_of(data) }.wake(),
    |data| {
        // SAFETY: the waker has the part, and keeps it.
        ManuallyDrop::new(unsafe { part_of(data) }).cell().wake();
    },
    // SAFETY: the waker has the part, and ends here.
    |data| drop(unsafe { part_of(data) }),
);

/// # Safety
/// `data` is that of a waker of this file, which has the part.
unsafe fn part_of(data: *const ()) -> WakerPart {
    let cell = NonNull::new(data.cast_mut()).expect("a waker's cell is not null");
    // SAFETY: as promised.
    unsafe { WakerPart::from_raw(cell.cast()) }
}

/// Requests a poll of a future that this library's workers poll, by a thread that holds no part of the cell and only knows that
/// it is there: for `inspect`. What guarantees that is in `inspect/serve/wake_by_record.rs`. True if the caller must queue the
/// task, of which it then has the queue's part.
///
/// # Safety
/// The cell is not freed during the call.
pub(super) unsafe fn request_poll(cell: NonNull<()>) -> bool {
    // SAFETY: by the caller's promise; a wake needs no part of its own.
    let cell = unsafe { CellRef::new(cell.cast()) };
    cell.state.wake()
}

/// # Safety
/// The caller has the queue's part, from [`request_poll`].
pub(super) unsafe fn queue_requested(cell: NonNull<()>) {
    // SAFETY: by the caller's promise.
    Header::queue(unsafe { QueuePart::from_raw(cell.cast()) });
}
