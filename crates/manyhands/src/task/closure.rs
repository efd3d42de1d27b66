//! How a task that is a closure runs: a worker runs it once, or the thread that waits for it does, in place.
//!
//! Not here: futures (`future.rs`), and the order in which a cell is claimed, run and released (`steps.rs`).
//!
//! Unsafe: cells are reached by pointer.

use crate::job::{Action, Job, JobKind, PanicPayload, catch, contain};
use crate::recording::{self, WorkType};
use crate::task::cell::{self, Cell, Failure, Header, Kind, Name, TaskKind, Work};
use crate::task::steps::{self, HeldClosure, Step};
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
    type Extra = N;

    const KIND: &'static Kind = &Kind {
        job: JobKind::new(perform),
        run: run::<F, T, N>,
        take_outcome: Cell::<Self>::take_outcome,
        drop_outcome: Cell::<Self>::drop_outcome,
        free: Cell::<Self>::free,
        name: Cell::<Self>::name,
        priority: Cell::<Self>::priority,
        home: Cell::<Self>::home,
        sort: TaskKind::Closure,
        work_type: WorkType::closure::<F>(),
        foreign: None,
    };
}

/// Runs or drops the closure, and writes the outcome.
///
/// # Safety
/// The caller has claimed the closure of a cell of this type.
unsafe fn run<F: FnOnce() -> T, T, N: Name>(cell: NonNull<Header>, step: Step) -> bool {
    // SAFETY: claimed by the caller.
    let work = unsafe { Cell::<Closure<F, N>>::work(cell) };
    // SAFETY: the closure is there, and is read once; the outcome takes its place below.
    let Closure(closure, _) = unsafe { work.read() };
    let outcome = match step {
        Step::Run => {
            // SAFETY: the cell is held while the closure runs.
            let spawned_at = unsafe { cell.as_ref() }.location;
            // SAFETY: as above.
            let name = unsafe { Cell::<Closure<F, N>>::extra(cell) };
            let outcome = name.shown(spawned_at, || catch(closure));
            outcome.map_err(|payload| Failure::Panicked(PanicPayload::new(payload)))
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

/// Claims the closure for the handle and runs it on the calling thread. Returns whether it did. This function is not
/// generic, so that it is compiled once.
///
/// # Safety
/// The caller holds the handle's part of a cell with a closure.
pub(super) unsafe fn run_in_place(cell: NonNull<Header>) -> bool {
    // SAFETY: as promised.
    unsafe { steps::run_in_place(cell) }
}

/// What a worker does with a closure from a queue; see [`Job::perform`].
unsafe fn perform(job: *mut Job, action: Action<'_>) -> bool {
    // SAFETY: the caller holds the queue's part of a closure's cell.
    unsafe { steps::perform_closure(cell::from_job(job), action) }
}

impl HeldClosure for NonNull<Header> {
    #[inline]
    unsafe fn run(self, step: Step) {
        if recording::is_open() {
            // SAFETY: claimed by the caller.
            return unsafe { run_recorded(self, step) };
        }
        // SAFETY: as above.
        unsafe { run_once(self, step) };
    }
}

/// # Safety
/// The caller has claimed the closure.
#[inline(always)]
unsafe fn run_once(cell: NonNull<Header>, step: Step) -> bool {
    // SAFETY: claimed by the caller.
    let _span = unsafe { cell::span(cell) };
    // SAFETY: as above.
    let run = unsafe { cell.as_ref() }.kind().run;
    // SAFETY: as above.
    unsafe { run(cell, step) }
}

/// A function of its own, so that a run that is not recorded is a load and a branch beside [`run_once`].
///
/// # Safety
/// The caller has claimed the closure.
#[cold]
#[inline(never)]
unsafe fn run_recorded(cell: NonNull<Header>, step: Step) {
    // SAFETY: claimed by the caller.
    let run = || unsafe { run_once(cell, step) };
    // SAFETY: as above.
    unsafe { cell::recorded(cell, run, || None, || None) };
}
