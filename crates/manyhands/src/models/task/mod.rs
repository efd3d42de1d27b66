//! The words of a task's cell and the steps of its holders, as the library has them, with wakers that know no task.
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
