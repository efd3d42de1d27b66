//! How a task that is a future runs: workers poll it, one after another, until it is ready; the last one drops it.
//!
//! The future does not move. It is dropped in place before the outcome is published. If a poll panics, the panic is the
//! task's outcome; a panic of the drop is caught and ignored.
//!
//! Not here: closures (`closure.rs`), the order in which a cell is polled, finished and released (`steps.rs`), and how it
//! waits and is queued again (`schedule.rs`).
//!
//! Unsafe: a task is taken from its queue, and polled, by pointer, and a future in a cell is pinned.

use crate::job::{Action, Job, JobKind, catch};
use crate::recording::WorkType;
use crate::task::cell::{self, CellRef, QueuePart, Work, WorkInCell};
use crate::task::join_error::JoinError;
use crate::task::name::Name;
use crate::task::steps::{self, Step, TaskCell};
use crate::task::waker;
use std::task::{Context, Poll};

/// A future in a cell.
pub(super) struct Async<F>(pub(super) F);

impl<F: Future> Work for Async<F> {
    type Result = F::Output;

    const JOB: JobKind = JobKind::cancellable(perform, cancel_registered);
    const TYPE: WorkType = WorkType::future::<F>(waker::request_poll, waker::queue_requested);
    const IS_CLOSURE: bool = false;

    unsafe fn run<N: Name>(cell: CellRef<'_>, step: Step) -> bool {
        // SAFETY: as promised.
        let mut work = unsafe { WorkInCell::<Self, N>::of(cell) };
        let (name, spawned_at) = (work.name(), cell.location);
        let outcome = match step {
            Step::Run => {
                let waker = waker::lend(cell);
                // SAFETY: pinned with the work.
                let future = unsafe { work.pinned().map_unchecked_mut(|work| &mut work.0) };
                let poll = || catch(|| future.poll(&mut Context::from_waker(&waker)));
                match name.shown(spawned_at, poll) {
                    Ok(Poll::Pending) => return false,
                    Ok(Poll::Ready(value)) => Ok(value),
                    Err(payload) => Err(JoinError::panicked(payload)),
                }
            }
            Step::Drop => Err(JoinError::CANCELLED),
        };
        let place = name.shown(spawned_at, || work.drop_in_place());
        place.fill(outcome);
        true
    }
}

/// What a worker does with a future from a queue; see [`Job::perform`].
unsafe fn perform(job: *mut Job, action: Action<'_>) -> bool {
    // SAFETY: the caller has taken it from a queue.
    let part = unsafe { QueuePart::from_raw(cell::from_job(job)) };
    if let Action::Run(_) = action {
        part.show();
    }
    steps::perform_future(part, action);
    true
}

/// What the end of the runtime does to a task that waits; see [`Job::cancel`].
unsafe fn cancel_registered(job: *mut Job) {
    // SAFETY: a registered task is not freed.
    unsafe { CellRef::new(cell::from_job(job)) }.cancel();
}
