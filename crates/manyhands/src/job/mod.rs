//! Erased work: a pointer to something that can be run once, and the words its waiters sleep on.
//!
//! Not here: who runs it (`runtime`), and what it is (a stack job in `runtime/join.rs`, a scope's or a
//! task's cell on the heap).
//!
//! Unsafe: a job is reached by pointer and run through a function pointer.

#[cfg(not(loom))]
pub(crate) mod block;
mod execution;
mod latch;
mod payload;
mod unwind;

pub(crate) use execution::ExecutionId;
pub(crate) use latch::{Latch, SeatNumber};
pub use payload::PanicPayload;
pub use unwind::AggregatePanic;
pub(crate) use unwind::{AbortOnUnwind, Payload, catch, resume_all};

use crate::queue::Linked;
use crate::sync::atomic::AtomicPtr;
use std::ptr;

/// The head of every piece of work. Comes first in the cell, so that a pointer to it is one to the cell.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Job {
    perform: unsafe fn(*mut Self, Action) -> bool,
    /// Written by the queue that the job is pushed to; jobs in a deque have no use for it.
    link: AtomicPtr<Self>,
}

/// What to do with a job. Each job is given exactly one action.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    /// Run it, as this execution.
    Run(ExecutionId),
    /// Do not run it. A task is dropped, because the runtime ends; a job on its owner's stack goes back
    /// to the owner.
    Discard,
}

impl Job {
    /// A job that is performed by `perform`, which is given a pointer to this job.
    ///
    /// `perform` must not unwind. It returns false when somebody else has run the job before.
    #[inline(always)]
    pub(crate) fn new(perform: unsafe fn(*mut Self, Action) -> bool) -> Self {
        Self {
            perform,
            link: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Performs the job. Returns false when there was nothing left to do, because whoever waits for the
    /// job has run it in place.
    ///
    /// # Safety
    /// 1. `job` is valid. 2. Nobody performs it a second time.
    pub(crate) unsafe fn perform(job: *mut Self, action: Action) -> bool {
        // SAFETY: valid by 1.
        let perform = unsafe { (*job).perform };
        // SAFETY: this is the job the function was stored in; once, by 2.
        unsafe { perform(job, action) }
    }
}

// SAFETY: `link` is the job's own field; only the queue that holds the job uses it.
unsafe impl Linked for Job {
    unsafe fn link<'a>(task: *mut Self) -> &'a AtomicPtr<Self> {
        // SAFETY: valid by the caller's promise.
        unsafe { &(*task).link }
    }
}
