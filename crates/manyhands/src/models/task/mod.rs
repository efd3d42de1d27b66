//! The words of a task's cell, its parts and the steps of their holders, as the library has them, with wakers that know no
//! task.
//!
//! One file for tasks that are closures and one for futures.

mod closure;
mod future;

#[path = "../../task/joiner.rs"]
mod joiner;
#[path = "../../task/state.rs"]
mod state;
#[path = "../../task/steps.rs"]
mod steps;

/// What the joiner asks of `task/waker.rs`: here every waker is a stranger's.
mod waker {
    use std::task::Waker;

    pub(super) fn task_of(_waker: &Waker) -> Option<*mut ()> {
        None
    }

    /// # Safety
    /// Never called, because no word holds a task.
    pub(super) unsafe fn from_task(_task: *mut ()) -> Waker {
        unreachable!("no waker here is a task's")
    }
}

use crate::job::SlotNumber;
use crate::sync::Parker;
use std::cell::Cell;
use std::mem::ManuallyDrop;

loom::lazy_static! {
    /// Of the thread that waits for the task.
    static ref PARKER: Parker = Parker::default();
}

const SLOT: SlotNumber = 7;

fn wake_slot(slot: SlotNumber) {
    assert_eq!(slot, SLOT);
    PARKER.unpark();
}

/// A part of the model's cell, until the thread that it is for takes it. One that is left over is not released.
struct Kept<P>(Cell<Option<ManuallyDrop<P>>>);

// SAFETY: loom runs one thread at a time, and changes to another one in its own operations only, of which there are none here.
unsafe impl<P> Sync for Kept<P> {}
// SAFETY: as above; the pointer in a part forbids it, but the model's words say which thread may use it.
unsafe impl<P> Send for Kept<P> {}

impl<P> Kept<P> {
    fn none() -> Self {
        Self(Cell::new(None))
    }

    /// Keeps a part that was not here.
    fn put(&self, part: P) {
        let before = self.0.replace(Some(ManuallyDrop::new(part)));
        assert!(before.is_none(), "a part is there twice");
    }

    fn take(&self) -> P {
        self.try_take().expect("a part is there until it is taken")
    }

    fn try_take(&self) -> Option<P> {
        self.0.take().map(ManuallyDrop::into_inner)
    }
}
