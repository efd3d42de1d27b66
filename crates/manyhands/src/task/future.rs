//! How a task that is a future runs: polled by one worker after another until it is ready, then dropped.
//!
//! The future never moves, and is dropped in its place before anybody learns of the outcome. A panic of
//! a poll is the task's outcome; one of a drop is swallowed.
//!
//! Not here: closures (`closure.rs`), where a woken task is queued (`schedule.rs`).
//!
//! Unsafe: cells are reached by pointer, and a future in a cell is pinned.

use crate::job::{Action, Job, JobKind, PanicPayload, catch, contain};
use crate::task::budget;
use crate::task::cell::{self, Cell, Failure, Header, Kind, Name, Step, TaskKind, Work};
use crate::task::schedule;
use crate::task::state::{AfterFinish, AfterPoll, AfterRelease, AfterWake, Begin};
use crate::task::waker::Borrowed;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// A future in a cell, that may be polled within reach of `R`.
pub(super) struct Async<F, N, R>(F, PhantomData<(N, R)>);

/// Which workers may poll a future.
pub(super) trait Affinity {
    /// What a future of this reach is.
    const SORT: TaskKind;
}

/// Any worker.
pub(super) struct AnyWorker;

/// The one it was spawned on.
pub(super) struct BoundWorker;

impl Affinity for AnyWorker {
    const SORT: TaskKind = TaskKind::Future;
}

impl Affinity for BoundWorker {
    const SORT: TaskKind = TaskKind::LocalFuture;
}

impl<F, N, R> Async<F, N, R> {
    pub(super) fn new(future: F) -> Self {
        Self(future, PhantomData)
    }
}

impl<F: Future, N: Name, R: Affinity> Work for Async<F, N, R> {
    type Result = F::Output;
    type Name = N;

    const KIND: &'static Kind = &Kind {
        job: JobKind::cancellable(perform, cancel_registered),
        run: run::<F, N, R>,
        take_outcome: Cell::<Self>::take_outcome,
        drop_outcome: Cell::<Self>::drop_outcome,
        free: Cell::<Self>::free,
        name: Cell::<Self>::name,
        priority: Cell::<Self>::priority,
        sort: match R::SORT {
            TaskKind::Future if N::HAS_PRIORITY => TaskKind::PrioritizedFuture,
            sort => sort,
        },
    };
}

/// Polls the future once, or drops it. Returns whether the outcome is written.
///
/// # Safety
/// The caller is the runner of a cell of this type.
unsafe fn run<F: Future, N: Name, R: Affinity>(cell: NonNull<Header>, step: Step) -> bool {
    let outcome = match step {
        // SAFETY: as promised.
        Step::Run => match unsafe { poll::<F, N, R>(cell) } {
            None => return false,
            Some(outcome) => outcome,
        },
        Step::Drop => Err(Failure::Cancelled),
    };
    // SAFETY: as promised.
    let work = unsafe { Cell::<Async<F, N, R>>::work(cell) };
    // SAFETY: there, and not used again; the outcome follows.
    contain(|| unsafe { work.drop_in_place() });
    // SAFETY: the runner's, and the future is gone.
    unsafe { Cell::<Async<F, N, R>>::write_outcome(cell, outcome) };
    true
}

/// # Safety
/// The caller is the runner of a cell of this type.
unsafe fn poll<F: Future, N: Name, R: Affinity>(
    cell: NonNull<Header>,
) -> Option<cell::Outcome<F::Output>> {
    // SAFETY: as promised.
    let waker = unsafe { Borrowed::of(cell) };
    // SAFETY: as promised.
    let work = unsafe { Cell::<Async<F, N, R>>::work(cell) };
    // SAFETY: the runner's, and the future is not gone, because it has not been ready.
    let Async(future, _) = unsafe { &mut *work };
    // SAFETY: the cell is on the heap, and the future is dropped in its place.
    let future = unsafe { Pin::new_unchecked(future) };
    match catch(|| future.poll(&mut Context::from_waker(&waker))) {
        Ok(Poll::Pending) => None,
        Ok(Poll::Ready(value)) => Some(Ok(value)),
        Err(payload) => Some(Err(Failure::Panicked(PanicPayload::new(payload)))),
    }
}

/// The queue's part: see [`Job::perform`].
unsafe fn perform(job: *mut Job, action: Action<'_>) -> bool {
    let cell = cell::from_job(job);
    // SAFETY: valid, because the queue's part is held, which becomes the runner's.
    let header = unsafe { cell.as_ref() };
    let begin = header.state.begin_poll();
    match (action, begin) {
        (Action::Run(_), Begin::Poll) => {
            cell::show(header);
            let is_over = {
                // SAFETY: held by the runner.
                let _span = unsafe { cell::span(cell) };
                // SAFETY: the caller is the runner now.
                budget::during_poll(|| unsafe { (header.kind().run)(cell, Step::Run) })
            };
            if is_over {
                // SAFETY: the outcome is written.
                unsafe { finish(cell, action) };
            } else {
                // SAFETY: the caller is still the runner.
                unsafe { end_poll(cell, action) };
            }
        }
        // SAFETY: the caller is the runner now.
        _ => unsafe { drop_future(cell, action) },
    }
    true
}

/// Lets go of a pending future.
///
/// # Safety
/// The caller is the runner, and goes no further.
unsafe fn end_poll(cell: NonNull<Header>, action: Action<'_>) {
    // SAFETY: the caller is the runner.
    if unsafe { schedule::prepare_to_wait(cell) }.is_err() {
        // The runtime ends: nothing may wait any more.
        // SAFETY: the caller is still the runner.
        return unsafe { drop_future(cell, action) };
    }
    // SAFETY: held by the runner.
    match unsafe { cell.as_ref() }.state.end_poll() {
        AfterPoll::Wait => {}
        // SAFETY: the state says that it must be queued, by us.
        AfterPoll::Queue => unsafe { schedule::queue_polled(cell) },
        // SAFETY: the caller is still the runner.
        AfterPoll::Drop => unsafe { drop_future(cell, action) },
    }
}

/// # Safety
/// The caller is the runner, and goes no further.
unsafe fn drop_future(cell: NonNull<Header>, action: Action<'_>) {
    // SAFETY: the caller is the runner.
    let run = unsafe { cell.as_ref() }.kind().run;
    // SAFETY: as above.
    unsafe { run(cell, Step::Drop) };
    // SAFETY: the outcome is written.
    unsafe { finish(cell, action) };
}

/// The future is gone: passes the outcome on and lets go.
///
/// # Safety
/// The caller is the runner, the outcome is written, and it goes no further.
unsafe fn finish(cell: NonNull<Header>, action: Action<'_>) {
    // SAFETY: held by the runner.
    let header = unsafe { cell.as_ref() };
    schedule::take_out(header, action);
    let after = match header.state.finish() {
        AfterFinish::Sole => AfterRelease::Free,
        AfterFinish::Detached => {
            // SAFETY: the outcome is the runner's.
            unsafe { (header.kind().drop_outcome)(cell) };
            header.state.release_runner()
        }
        AfterFinish::Awaited => {
            // SAFETY: held by the runner.
            unsafe { cell::announce_end(cell) };
            header.state.release_runner()
        }
    };
    // SAFETY: let go just now.
    unsafe { cell::after_release(cell, after) };
}

/// The runtime ends: see [`Job::cancel`].
unsafe fn cancel_registered(job: *mut Job) {
    let cell = cell::from_job(job);
    // SAFETY: a registered task is not freed.
    if unsafe { cell.as_ref() }.state.cancel() == AfterWake::Queue {
        // SAFETY: the state says that it must be queued, by us.
        unsafe { schedule::queue(cell) };
    }
}
