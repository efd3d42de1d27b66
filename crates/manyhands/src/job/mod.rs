//! Erased work: a pointer to something that can be run once, and the words on which its waiters sleep.
//!
//! Not here: which thread runs it (`runtime`), and what it is (a stack job in `runtime/fork_join/join.rs`, a scope's or
//! a task's cell on the heap).
//!
//! Unsafe: a job is reached by pointer and run through a function pointer.

#[cfg(not(loom))]
pub(crate) mod block;
mod borrowed_waker;
mod execution;
mod in_place;
mod latch;
mod long_kinds;
mod payload;
mod run_permit;
mod task_registry;
mod unwind;

pub(crate) use borrowed_waker::BorrowedWaker;
pub(crate) use execution::ExecutionId;
pub(crate) use in_place::InPlace;
pub(crate) use latch::{Latch, SlotNumber};
pub(crate) use long_kinds::LongKinds;
pub use payload::PanicPayload;
pub(crate) use run_permit::RunPermit;
pub(crate) use task_registry::{TaskKey, TaskRegistry};
pub use unwind::AggregatePanic;
pub(crate) use unwind::{
    OnDrop, Payload, catch, contain, discard, dispose, resume_all, value_or_resume, wake,
    wake_by_ref,
};

use crate::queue::{Linked, Unqueued};
use crate::sync::atomic::AtomicPtr;
pub(crate) use crate::sync::process::abort;
use std::ptr;

/// The header of every piece of work. It comes first in the cell, so that a pointer to it is a pointer to the cell.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Job {
    kind: *const JobKind,
    /// Written by the queue that the job is pushed to; a deque does not use it. A task that is
    /// in no queue may keep another pointer here.
    link: AtomicPtr<Self>,
}

/// The operations on jobs of one type.
pub(crate) struct JobKind {
    perform: unsafe fn(*mut Job, Action<'_>) -> bool,
    cancel: unsafe fn(*mut Job),
}

/// What to do with a job. A job that was taken out of a queue or deque gets exactly one action.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action<'registry> {
    /// Run it, as this execution.
    Run(ExecutionId),
    /// Do not run it: a queue outside of any runtime has dropped it.
    Discard,
    /// Do not run it: the runtime of this registry ends. A task is dropped.
    Drop(&'registry TaskRegistry),
}

impl JobKind {
    /// Jobs that are performed by `perform` and cannot be cancelled.
    ///
    /// `perform` gets a pointer to the job and must not unwind. It returns false if another thread has
    /// run the job before.
    pub(crate) const fn new(perform: unsafe fn(*mut Job, Action<'_>) -> bool) -> Self {
        Self::cancellable(perform, |_| {})
    }

    /// As [`new`](Self::new), for jobs that may wait in a [`TaskRegistry`]: `cancel` asks such a job to end, queues it
    /// for that if need be, and must not unwind.
    pub(crate) const fn cancellable(
        perform: unsafe fn(*mut Job, Action<'_>) -> bool,
        cancel: unsafe fn(*mut Job),
    ) -> Self {
        Self { perform, cancel }
    }
}

impl Job {
    /// A job of this kind.
    #[inline(always)]
    pub(crate) fn new(kind: &'static JobKind) -> Self {
        // SAFETY: a `JobKind` is its own beginning.
        unsafe { Self::with_more(kind) }
    }

    /// A job whose kind is the beginning of `kind`, so that the rest of `kind` can be reached from
    /// [`kind`](Self::kind).
    ///
    /// # Safety
    /// A `K` begins with a [`JobKind`].
    #[inline(always)]
    pub(crate) unsafe fn with_more<K>(kind: &'static K) -> Self {
        Self {
            kind: ptr::from_ref(kind).cast(),
            link: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The kind it was made with.
    pub(crate) fn kind(&self) -> *const JobKind {
        self.kind
    }

    /// Performs the job. Returns false if there was nothing left to do, because the thread that waits for the
    /// job has run it in place.
    pub(crate) fn perform(job: Unqueued<Self>, action: Action<'_>, _permit: RunPermit<'_>) -> bool {
        // SAFETY: kinds are never freed. Held by the types: a job is made with a `&'static`.
        let perform = unsafe { (*job.kind).perform };
        // SAFETY: this is a job of the kind; once, because nobody else has it.
        unsafe { perform(job.into_raw(), action) }
    }

    /// Asks a waiting job to end.
    ///
    /// # Safety
    /// `job` is registered in a [`TaskRegistry`] for as long as this call takes.
    pub(crate) unsafe fn cancel(job: *mut Self) {
        // SAFETY: valid while registered.
        let kind = unsafe { (*job).kind };
        // SAFETY: kinds are never freed. Held by the types: a job is made with a `&'static`.
        let cancel = unsafe { (*kind).cancel };
        // SAFETY: this is a job of the kind.
        unsafe { cancel(job) };
    }
}

// SAFETY: `link` is the job's own field; only the queue that holds the job uses it.
unsafe impl Linked for Job {
    unsafe fn link<'a>(task: *mut Self) -> &'a AtomicPtr<Self> {
        // SAFETY: valid by the caller's promise.
        unsafe { &(*task).link }
    }
}
