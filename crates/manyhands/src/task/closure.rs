//! How a task that is a closure runs: a worker runs it once, or the thread that waits for it does, in place.
//!
//! Not here: futures (`future.rs`), and the order in which a cell is claimed, run and released (`steps.rs`).
//!
//! Unsafe: a task is taken from its queue, and run, by pointer.

use crate::job::{Action, Job, JobKind, catch, contain};
use crate::recording::WorkType;
use crate::task::cell::{self, CellRef, Header, QueuePart, Work, WorkInCell};
use crate::task::join_error::JoinError;
use crate::task::name::{Name, TaskKind};
use crate::task::steps::{self, ClaimedWork, ClosureCell, Handle, Part, Step};

/// A closure in a cell.
pub(super) struct Closure<F>(pub(super) F);

impl<F: FnOnce() -> T, T> Work for Closure<F> {
    type Result = T;

    const JOB: JobKind = JobKind::new(perform);
    const TYPE: WorkType = WorkType::closure::<F>();
    const IS_CLOSURE: bool = true;

    unsafe fn run<N: Name>(cell: CellRef<'_>, step: Step) -> bool {
        // SAFETY: as promised.
        let work = unsafe { WorkInCell::<Self, N>::of(cell) };
        let (name, spawned_at) = (work.name(), cell.location);
        let (Self(closure), place) = work.take();
        place.fill(match step {
            Step::Run => {
                let outcome = name.shown(spawned_at, || catch(closure));
                outcome.map_err(JoinError::panicked)
            }
            Step::Drop => {
                contain(|| drop(closure));
                Err(JoinError::CANCELLED)
            }
        });
        true
    }
}

/// Claims the closure for the handle and runs it on the calling thread. Returns whether it did. This function is not
/// generic, so that it is compiled once.
pub(super) fn run_in_place(part: &mut Part<Header, Handle>) -> bool {
    steps::run_in_place(part)
}

/// What a worker does with a closure from a queue; see [`Job::perform`].
unsafe fn perform(job: *mut Job, action: Action<'_>) -> bool {
    // SAFETY: the caller has taken it from a queue.
    let part = unsafe { QueuePart::from_raw(cell::from_job(job)) };
    steps::perform_closure(part, action)
}

impl ClosureCell for Header {
    #[inline]
    fn run(work: ClaimedWork<'_, Self>, step: Step) {
        let cell = work.cell();
        debug_assert_eq!(
            cell.vtable().kind,
            TaskKind::Closure,
            "only closures are claimed"
        );
        // SAFETY: from the cell's own table; claimed.
        let run = || unsafe { (cell.vtable().run)(cell, step) };
        cell.run_by(run, || None);
    }
}
