//! How a task that is a future runs: workers poll it, one after another, until it is ready; the last one drops it.
//!
//! The future does not move. It is dropped in place before the outcome is published. If a poll panics, the panic is the
//! task's outcome; a panic of the drop is caught and ignored.
//!
//! Not here: closures (`closure.rs`), the order in which a cell is polled, finished and released (`steps.rs`), and where
//! a woken task is queued (`schedule.rs`).
//!
//! Unsafe: a task is taken from its queue, and polled, by pointer, and a future in a cell is pinned.

use crate::job::{Action, Job, JobKind, PanicPayload, catch};
use crate::recording::WorkType;
use crate::task::budget;
use crate::task::cell::{self, CellRef, Failure, Header, QueuePart, Work, WorkInCell};
use crate::task::name::Name;
use crate::task::schedule;
use crate::task::steps::{self, Closed, EndedPart, FutureCell, Polled, RunnerPart, Step};
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
                    Err(payload) => Err(Failure::Panicked(PanicPayload::new(payload))),
                }
            }
            Step::Drop => Err(Failure::Cancelled),
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

impl FutureCell for Header {
    #[inline]
    fn poll(runner: RunnerPart<Self>) -> Polled<Self> {
        let cell = runner.cell();
        // SAFETY: from the cell's own table; the future is there.
        let run = || unsafe { (cell.vtable().run)(cell, Step::Run) };
        let poll = || budget::during_poll(run);
        if cell.run_by(poll, || cell.state.wakers()) {
            // SAFETY: the poll has done so.
            return Polled::Ended(unsafe { runner.ended() });
        }
        Polled::Pending(runner)
    }

    #[inline]
    fn prepare_to_wait(runner: &mut RunnerPart<Self>) -> Result<(), Closed> {
        schedule::prepare_to_wait(runner)
    }

    #[inline]
    fn queue_polled(part: QueuePart) {
        schedule::queue_polled(part);
    }

    #[inline]
    fn take_out(runner: &EndedPart<Self>, action: Action<'_>) {
        schedule::take_out(runner, action);
    }

    fn drop_future(runner: RunnerPart<Self>) -> EndedPart<Self> {
        // SAFETY: from the cell's own table; the future is there.
        unsafe { (runner.vtable().run)(runner.cell(), Step::Drop) };
        runner.record.ended();
        // SAFETY: done just now.
        unsafe { runner.ended() }
    }
}
