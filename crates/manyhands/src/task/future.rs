//! How a task that is a future runs: workers poll it, one after another, until it is ready; the last one drops it.
//!
//! The future does not move. It is dropped in place before the outcome is published. If a poll panics, the panic is the
//! task's outcome; a panic of the drop is caught and ignored.
//!
//! Not here: closures (`closure.rs`), the order in which a cell is polled, finished and released (`steps.rs`), and where
//! a woken task is queued (`schedule.rs`).
//!
//! Unsafe: cells are reached by pointer, and a future in a cell is pinned.

use crate::job::{Action, Job, JobKind, PanicPayload, catch, contain};
use crate::recording::{self, WorkType};
use crate::task::budget;
use crate::task::cell::{self, Cell, Failure, Header, Kind, Name, TaskKind, Work};
use crate::task::schedule;
use crate::task::steps::{self, Closed, HeldFuture, Step};
use crate::task::wake_by_record::WAKING;
use crate::task::waker::Borrowed;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// A future in a cell; `R` says which workers may poll it.
pub(super) struct Async<F, N, R>(F, PhantomData<(N, R)>);

/// Which workers may poll a future.
pub(super) trait Affinity {
    /// The kind of task that such a future is.
    const SORT: TaskKind;
}

/// Any worker.
pub(super) struct AnyWorker;

/// The worker that the future was spawned on.
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
    type Extra = N;

    const KIND: &'static Kind = &Kind {
        job: JobKind::cancellable(perform, cancel_registered),
        run: run::<F, N, R>,
        take_outcome: Cell::<Self>::take_outcome,
        drop_outcome: Cell::<Self>::drop_outcome,
        free: Cell::<Self>::free,
        name: Cell::<Self>::name,
        priority: Cell::<Self>::priority,
        home: Cell::<Self>::home,
        sort: match R::SORT {
            TaskKind::Future if N::HAS_PRIORITY => TaskKind::PrioritizedFuture,
            sort => sort,
        },
        work_type: WorkType::future::<F>(Some(WAKING)),
        foreign: None,
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
    // SAFETY: as promised.
    let name = unsafe { Cell::<Async<F, N, R>>::extra(cell) };
    // SAFETY: as promised.
    let spawned_at = unsafe { cell.as_ref() }.location;
    // SAFETY: the future is there, and is not used again; the outcome takes its place below.
    name.shown(spawned_at, || contain(|| unsafe { work.drop_in_place() }));
    // SAFETY: the caller is the runner, and the future was dropped above.
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
    // SAFETY: the caller is the runner, and the future is there until it has been ready.
    let Async(future, _) = unsafe { &mut *work };
    // SAFETY: the cell is on the heap, and the future is dropped in place.
    let future = unsafe { Pin::new_unchecked(future) };
    // SAFETY: the cell is held while it is polled.
    let name = unsafe { Cell::<Async<F, N, R>>::extra(cell) };
    // SAFETY: as above.
    let spawned_at = unsafe { cell.as_ref() }.location;
    match name.shown(spawned_at, || {
        catch(|| future.poll(&mut Context::from_waker(&waker)))
    }) {
        Ok(Poll::Pending) => None,
        Ok(Poll::Ready(value)) => Some(Ok(value)),
        Err(payload) => Some(Err(Failure::Panicked(PanicPayload::new(payload)))),
    }
}

/// What a worker does with a future from a queue; see [`Job::perform`].
unsafe fn perform(job: *mut Job, action: Action<'_>) -> bool {
    // SAFETY: the caller holds the queue's part of a future's cell.
    unsafe { steps::perform_future(cell::from_job(job), action) };
    true
}

impl HeldFuture for NonNull<Header> {
    #[inline]
    unsafe fn poll(self) -> bool {
        if recording::is_open() {
            // SAFETY: the caller is the runner.
            return unsafe { poll_recorded(self) };
        }
        // SAFETY: as above.
        unsafe { poll_once(self) }
    }

    unsafe fn drop_future(self) {
        // SAFETY: the caller is the runner.
        let header = unsafe { self.as_ref() };
        // SAFETY: as above.
        unsafe { (header.kind().run)(self, Step::Drop) };
        header.record.ended();
    }

    #[inline]
    unsafe fn drop_outcome(self) {
        // SAFETY: the caller is the runner.
        let drop_outcome = unsafe { self.as_ref() }.kind().drop_outcome;
        // SAFETY: the outcome is the runner's.
        unsafe { drop_outcome(self) };
    }

    #[inline]
    unsafe fn prepare_to_wait(self) -> Result<(), Closed> {
        // SAFETY: the caller is the runner.
        unsafe { schedule::prepare_to_wait(self) }
    }

    #[inline]
    unsafe fn take_out(&self, action: Action<'_>) {
        // SAFETY: the caller holds the cell.
        schedule::take_out(unsafe { self.as_ref() }, action);
    }

    #[inline]
    unsafe fn queue_polled(self) {
        // SAFETY: the caller has polled it, and must queue it.
        unsafe { schedule::queue_polled(self) };
    }
}

/// # Safety
/// The caller is the runner.
#[inline(always)]
unsafe fn poll_once(cell: NonNull<Header>) -> bool {
    // SAFETY: the caller is the runner.
    let _span = unsafe { cell::span(cell) };
    // SAFETY: as above.
    let run = unsafe { cell.as_ref() }.kind().run;
    // SAFETY: as above.
    budget::during_poll(|| unsafe { run(cell, Step::Run) })
}

/// A function of its own, so that a poll that is not recorded is a load and a branch beside [`poll_once`].
///
/// # Safety
/// The caller is the runner.
#[cold]
#[inline(never)]
unsafe fn poll_recorded(cell: NonNull<Header>) -> bool {
    // SAFETY: the caller is the runner.
    let wakers = || unsafe { cell.as_ref() }.state.wakers();
    // SAFETY: as above.
    let poll = || unsafe { poll_once(cell) };
    // SAFETY: as above.
    let waker = || Some(unsafe { Borrowed::of(cell) }.clone());
    // SAFETY: as above.
    unsafe { cell::recorded(cell, poll, wakers, waker) }
}

/// What the end of the runtime does to a task that waits; see [`Job::cancel`].
unsafe fn cancel_registered(job: *mut Job) {
    // SAFETY: a registered task is not freed.
    unsafe { steps::cancel(cell::from_job(job)) };
}
