//! Wakers of tasks: counted pointers to the cell.
//!
//! Not here: what a wake does to the state (`state.rs`) and where the task is queued (`schedule.rs`).
//!
//! Unsafe: a waker is a raw pointer to a cell, and holds a part of it.

use crate::task::cell::Header;
use crate::task::steps;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

/// The waker of a task while it is polled. Holds no part of the cell; its clones do.
#[derive(Debug)]
pub(super) struct Borrowed(ManuallyDrop<Waker>);

impl Borrowed {
    /// # Safety
    /// The caller is the runner of `cell` as long as this exists.
    pub(super) unsafe fn of(cell: NonNull<Header>) -> Self {
        // SAFETY: never dropped, so it needs no part of its own.
        Self(ManuallyDrop::new(unsafe {
            from_task(cell.as_ptr().cast())
        }))
    }
}

impl Deref for Borrowed {
    type Target = Waker;

    fn deref(&self) -> &Waker {
        &self.0
    }
}

/// The task that `waker` wakes, if it is one of this library.
pub(super) fn task_of(waker: &Waker) -> Option<*mut ()> {
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

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, release);

/// # Safety
/// `data` is that of a valid waker from this file; so for the functions below.
unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the waker holds the cell.
    unsafe { cell_of(data).as_ref() }.state.add_waker();
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker holds the cell, and ends here.
    unsafe { steps::wake_and_release(cell_of(data)) };
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker holds the cell.
    unsafe { steps::wake(cell_of(data)) };
}

unsafe fn release(data: *const ()) {
    // SAFETY: the waker holds the cell, and ends here.
    unsafe { steps::release_waker(cell_of(data)) };
}

fn cell_of(data: *const ()) -> NonNull<Header> {
    NonNull::new(data.cast_mut().cast()).expect("a waker's cell is not null")
}
