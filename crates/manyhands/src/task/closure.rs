//! How a task that is a closure runs: once, by a worker or, in place, by who waits for it.
//!
//! Not here: futures (`future.rs`).
//!
//! Unsafe: cells are reached by pointer.

use crate::job::{Action, ExecutionId, Job, JobKind, PanicPayload, catch, contain, discard};
use crate::task::cell::{self, Cell, Failure, Header, Kind, Name, Step, TaskKind, Work};
use crate::task::joiner::Sleeper;
use crate::task::state::{AfterRelease, Claimed};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A closure in a cell.
pub(super) struct Closure<F, N>(F, PhantomData<N>);

impl<F, N> Closure<F, N> {
    pub(super) fn new(closure: F) -> Self {
        Self(closure, PhantomData)
    }
}

impl<F: FnOnce() -> T, T, N: Name> Work for Closure<F, N> {
    type Result = T;
    type Name = N;

    const KIND: &'static Kind = &Kind {
        job: JobKind::new(perform),
        run: run::<F, T, N>,
        take_outcome: Cell::<Self>::take_outcome,
        drop_outcome: Cell::<Self>::drop_outcome,
        free: Cell::<Self>::free,
        name: Cell::<Self>::name,
        priority: Cell::<Self>::priority,
        sort: TaskKind::Closure,
    };
}

/// Runs or drops the closure, and writes the outcome.
///
/// # Safety
/// The caller has claimed the closure of a cell of this type.
unsafe fn run<F: FnOnce() -> T, T, N: Name>(cell: NonNull<Header>, step: Step) -> bool {
    // SAFETY: claimed by the caller.
    let work = unsafe { Cell::<Closure<F, N>>::work(cell) };
    // SAFETY: there, and read once; the outcome follows.
    let Closure(closure, _) = unsafe { work.read() };
    let outcome = match step {
        Step::Run => {
            catch(closure).map_err(|payload| Failure::Panicked(PanicPayload::new(payload)))
        }
        Step::Drop => {
            contain(|| drop(closure));
            Err(Failure::Cancelled)
        }
    };
    // SAFETY: claimed by the caller, and taken out above.
    unsafe { Cell::<Closure<F, N>>::write_outcome(cell, outcome) };
    true
}

/// The handle's part of running: claims and runs the closure in place. Returns whether it did.
///
/// # Safety
/// The caller holds the handle's part of a cell with a closure.
pub(super) unsafe fn run_in_place(cell: NonNull<Header>) -> bool {
    // SAFETY: valid, because the handle is held.
    let header = unsafe { cell.as_ref() };
    let Some(claimed) = header.state.claim() else {
        return false;
    };
    {
        // SAFETY: the handle is held.
        let _span = unsafe { cell::span(cell) };
        // SAFETY: claimed just now.
        unsafe { (header.kind().run)(cell, step_for(claimed)) };
    }
    // The handle waits here, so nobody sleeps; but it may have been polled before, and have left a waker.
    if let Some(Sleeper::Waker(waker)) = header.joiner.finish() {
        discard(Some(waker));
    }
    true
}

/// The queue's part: see [`Job::perform`].
unsafe fn perform(job: *mut Job, action: Action<'_>) -> bool {
    let cell = cell::from_job(job);
    // SAFETY: valid, because the queue's part is held.
    let header = unsafe { cell.as_ref() };
    let claimed = header.state.claim_queued();
    if let Some(claimed) = claimed {
        // SAFETY: claimed just now.
        unsafe { run_queued(cell, action, claimed) };
        if !claimed.is_awaited {
            // SAFETY: nobody has the handle, and the queue's part is ours.
            unsafe { cell::after_release(cell, AfterRelease::Free) };
            return true;
        }
        // SAFETY: valid, because the queue's part is held until below.
        unsafe { cell::announce_end(cell) };
    }
    let after = header.state.release_queue();
    // SAFETY: let go just now.
    unsafe { cell::after_release(cell, after) };
    claimed.is_some()
}

/// # Safety
/// The caller has claimed the closure.
unsafe fn run_queued(cell: NonNull<Header>, action: Action<'_>, claimed: Claimed) {
    // SAFETY: claimed, so the cell is valid.
    let header = unsafe { cell.as_ref() };
    let step = match action {
        Action::Run(execution) => {
            cell::show(header);
            if claimed.is_awaited && execution != ExecutionId::UNKNOWN {
                // Whoever waits for the task may help it.
                header.joiner.start(execution);
            }
            step_for(claimed)
        }
        Action::GiveBack | Action::Drop(_) => Step::Drop,
    };
    // SAFETY: claimed by the caller.
    let _span = unsafe { cell::span(cell) };
    // SAFETY: claimed by the caller.
    unsafe { (header.kind().run)(cell, step) };
}

fn step_for(claimed: Claimed) -> Step {
    if claimed.is_cancelled {
        Step::Drop
    } else {
        Step::Run
    }
}
