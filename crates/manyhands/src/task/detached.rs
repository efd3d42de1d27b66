//! Closures without a handle: a job and the closure, with no outcome and no name.
//!
//! Not a task with a dropped handle (`closure.rs`): that one has space for everything that its handle might have read.
//!
//! Unsafe: cells are reached by pointer.

use crate::job::{Action, Job, JobKind, block, contain};
use crate::queue::Unqueued;
use crate::runtime::Priority;
use crate::runtime::enqueue::enqueue_new;
use std::ptr::NonNull;

/// The cell.
#[repr(C)]
struct Detached<F> {
    job: Job,
    closure: F,
}

/// Queues `closure` on the current runtime.
pub(super) fn run<F: FnOnce() + Send + 'static>(closure: F) {
    let cell = block::allocate(Detached {
        job: Job::new(const { &JobKind::new(Detached::<F>::perform) }),
        closure,
    });
    // SAFETY: 1. valid until it is performed; 2. new.
    let job = unsafe { Unqueued::new(cell.cast()) };
    enqueue_new(job, Priority::Normal);
}

impl<F: FnOnce()> Detached<F> {
    /// See [`Job::perform`].
    unsafe fn perform(job: *mut Job, action: Action<'_>) -> bool {
        // SAFETY: a job is never null.
        let cell = unsafe { NonNull::new_unchecked(job.cast::<Self>()) };
        // SAFETY: the job is the first field of a cell allocated by `run`, performed once.
        let closure = unsafe { block::free(cell) }.closure;
        match action {
            Action::Run(_) => contain(closure),
            Action::Discard | Action::Drop(_) => contain(|| drop(closure)),
        }
        true
    }
}
