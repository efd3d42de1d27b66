//! The heap cell of a task: its closure, later its result.
//!
//! # Who may touch what
//! `closure` in `stage`: the claimer. The result in `stage`: the claimer until it makes the latch final,
//! then the handle; the one who frees the cell. The header's atomics: both holders.
//!
//! Unsafe: the cell is reached through a pointer to its header, and freed by its last holder.

use crate::job::{Action, ExecutionId, Job, Latch, PanicPayload, block, catch};
use crate::runtime::seat::Seat;
use crate::task::state::{AfterRelease, Claim, State};
use std::cell::UnsafeCell;
use std::ptr::NonNull;

/// What every cell begins with, whatever it runs.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Header {
    job: Job,
    pub(super) state: State,
    pub(super) latch: Latch,
    kind: &'static Kind,
}

/// The operations that know the closure's and the result's type.
#[derive(Debug)]
struct Kind {
    run: unsafe fn(NonNull<Header>),
    discard: unsafe fn(NonNull<Header>),
    take_result: unsafe fn(NonNull<Header>, *mut ()),
    free: unsafe fn(NonNull<Header>),
}

/// How a task ended.
pub(super) type Outcome<T> = Result<T, Failure>;

/// Why a task has no result.
#[derive(Debug)]
pub(super) enum Failure {
    Panicked(PanicPayload),
    Cancelled,
}

#[repr(C)]
struct Cell<F, T> {
    header: Header,
    stage: UnsafeCell<Stage<F, T>>,
}

enum Stage<F, T> {
    Waiting(F),
    Finished(Outcome<T>),
    Taken,
}

/// A new cell, held by a queue and by a handle.
pub(super) fn allocate<F: FnOnce() -> T, T>(closure: F) -> NonNull<Header> {
    let cell: NonNull<Cell<F, T>> = block::allocate(Cell {
        header: Header {
            job: Job::new(perform),
            state: State::new(),
            latch: Latch::new(),
            kind: const {
                &Kind {
                    run: Cell::<F, T>::run,
                    discard: Cell::<F, T>::discard,
                    take_result: Cell::<F, T>::take_result,
                    free: Cell::<F, T>::free,
                }
            },
        },
        stage: UnsafeCell::new(Stage::Waiting(closure)),
    });
    cell.cast()
}

/// The cell as a queue holds it.
pub(super) fn as_job(cell: NonNull<Header>) -> *mut Job {
    cell.as_ptr().cast()
}

/// The handle's part of running: claims and runs the task in place. Returns whether it did.
///
/// # Safety
/// The caller holds the handle's part of the cell.
pub(super) unsafe fn run_in_place(cell: NonNull<Header>) -> bool {
    // SAFETY: valid, because the handle is held.
    let header = unsafe { cell.as_ref() };
    if header.state.claim() == Claim::TooLate {
        return false;
    }
    // SAFETY: claimed just now.
    unsafe { (header.kind.run)(cell) };
    // SAFETY: valid, because the handle is held. The handle waits here, so nobody sleeps.
    let sleeper = unsafe { Latch::set(&raw const header.latch) };
    debug_assert!(sleeper.is_none(), "only the handle's holder waits");
    true
}

/// Takes the result; cancelled if the task was dropped before it started.
///
/// # Safety
/// 1. The latch is final and the caller holds the handle's part. 2. `T` is the cell's result type.
pub(super) unsafe fn take_result<T>(cell: NonNull<Header>) -> Outcome<T> {
    let mut place: Outcome<T> = Err(Failure::Cancelled);
    // SAFETY: valid by 1.
    let take_result = unsafe { cell.as_ref() }.kind.take_result;
    // SAFETY: 1. and 2. as promised.
    unsafe { take_result(cell, (&raw mut place).cast()) };
    place
}

/// Lets go of the handle's part.
///
/// # Safety
/// The caller holds it, and does not use the cell again.
pub(super) unsafe fn release_handle(cell: NonNull<Header>) {
    // SAFETY: valid, because the handle is held.
    let header = unsafe { cell.as_ref() };
    if header.state.release_handle() == AfterRelease::Free {
        // SAFETY: the last holder has let go.
        unsafe { (header.kind.free)(cell) };
    }
}

/// The queue's part: see [`Job::perform`].
unsafe fn perform(job: *mut Job, action: Action) -> bool {
    // SAFETY: the job is the first field of the header of a live cell.
    let cell = unsafe { NonNull::new_unchecked(job.cast::<Header>()) };
    // SAFETY: valid, because the queue's part is held.
    let header = unsafe { cell.as_ref() };
    let claim = header.state.claim_queued();
    if claim != Claim::TooLate {
        // SAFETY: claimed just now.
        unsafe { run_or_discard(cell, action, claim) };
    }
    if claim == Claim::Detached {
        // SAFETY: nobody has the handle, and the queue's part is ours.
        unsafe { (header.kind.free)(cell) };
        return true;
    }
    if claim == Claim::Awaited {
        // SAFETY: valid, because the queue's part is held until below.
        if let Some(sleeper) = unsafe { Latch::set(&raw const header.latch) } {
            Seat::wake(sleeper);
        }
    }
    if header.state.release_queue() == AfterRelease::Free {
        // SAFETY: the last holder has let go.
        unsafe { (header.kind.free)(cell) };
    }
    claim != Claim::TooLate
}

/// # Safety
/// The caller has claimed the cell.
unsafe fn run_or_discard(cell: NonNull<Header>, action: Action, claim: Claim) {
    // SAFETY: claimed, so the cell is valid.
    let header = unsafe { cell.as_ref() };
    if let Action::Run(execution) = action {
        if claim == Claim::Awaited && execution != ExecutionId::UNKNOWN {
            // Whoever waits for the task may help it.
            header.latch.start(execution);
        }
        // SAFETY: claimed by the caller.
        unsafe { (header.kind.run)(cell) };
    } else {
        // SAFETY: claimed by the caller.
        unsafe { (header.kind.discard)(cell) };
    }
}

impl<F: FnOnce() -> T, T> Cell<F, T> {
    /// # Safety
    /// The caller has claimed the cell.
    unsafe fn run(header: NonNull<Header>) {
        // SAFETY: this function is in the kind of a cell of just this type.
        let cell = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: only the claimer touches the stage until the latch is final.
        let stage = unsafe { &mut *cell.stage.get() };
        let Stage::Waiting(closure) = std::mem::replace(stage, Stage::Taken) else {
            unreachable!("a task is claimed once")
        };
        let outcome =
            catch(closure).map_err(|payload| Failure::Panicked(PanicPayload::new(payload)));
        *stage = Stage::Finished(outcome);
    }

    /// Drops the closure without running it.
    ///
    /// # Safety
    /// The caller has claimed the cell.
    unsafe fn discard(header: NonNull<Header>) {
        // SAFETY: this function is in the kind of a cell of just this type.
        let cell = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: only the claimer touches the stage until the latch is final.
        let stage = unsafe { &mut *cell.stage.get() };
        let closure = std::mem::replace(stage, Stage::Taken);
        // What the closure does when dropped must not unwind into the worker.
        if let Err(payload) = catch(|| drop(closure)) {
            let _ = catch(|| drop(payload));
        }
    }

    /// Moves the result to `place`, if there is one.
    ///
    /// # Safety
    /// As [`take_result`](take_result): the latch is final, and `place` is an `Outcome<T>`.
    unsafe fn take_result(header: NonNull<Header>, place: *mut ()) {
        // SAFETY: this function is in the kind of a cell of just this type.
        let cell = unsafe { header.cast::<Self>().as_ref() };
        // SAFETY: with the latch final, only the handle touches the stage.
        let stage = unsafe { &mut *cell.stage.get() };
        if let Stage::Finished(outcome) = std::mem::replace(stage, Stage::Taken) {
            // SAFETY: `place` is a live `Outcome<T>` by the caller's promise.
            unsafe { *place.cast::<Outcome<T>>() = outcome };
        }
    }

    /// # Safety
    /// Nobody else holds the cell.
    unsafe fn free(header: NonNull<Header>) {
        // What the closure or the result does when dropped must not unwind into the worker.
        // SAFETY: the cell was allocated with this type, and this is its last use.
        if let Err(payload) = catch(|| unsafe { block::dispose(header.cast::<Self>()) }) {
            let _ = catch(|| drop(payload));
        }
    }
}

const _: () = assert!(
    size_of::<Header>() <= 48,
    "a task's overhead is part of its contract"
);
