//! What lies in the cell of a future that another library's executor polls, and the run that polls or drops it.
//!
//! Not here: the executor's ends of the task (`mod.rs`).
//!
//! Unsafe: the future is written into its cell later, and is pinned there.

use super::{ForeignRunnable, OnPanic, WokenWhilePolled};
use crate::job::{Action, Job, JobKind, PanicPayload, Payload, catch, contain};
use crate::recording::{self, WorkType};
use crate::task::budget;
use crate::task::cell::{
    Cell, CellRef, Failure, ForeignVTable, Header, Label, LastPart, QueuePart,
};
use crate::task::cell::{TaskKind, VTable, Work, WorkInCell};
use crate::task::steps::{self, Closed, EndedPart, Executor, Polled, RunnerPart, Step};
use crate::task::waker::Borrowed;
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// The future in its cell, which is written after the cell was made. Dropped only there.
#[repr(transparent)]
pub(super) struct Foreign<F, S, M>(MaybeUninit<F>, PhantomData<(S, M)>);

/// What such a cell holds beside the future.
pub(super) struct Extra<S, M> {
    pub(super) metadata: M,
    pub(super) schedule: S,
    pub(super) on_panic: OnPanic,
}

impl<F, S, M> Work for Foreign<F, S, M>
where
    F: Future,
    S: Fn(ForeignRunnable<M>, WokenWhilePolled),
{
    type Result = F::Output;
    type Extra = Extra<S, M>;

    const VTABLE: &'static VTable = &VTable {
        job: JobKind::new(never_queued),
        run: Self::run,
        take_outcome: Cell::<Self>::take_outcome,
        drop_outcome: Cell::<Self>::drop_outcome,
        free: Self::free,
        label: |_| Label::default(),
        kind: TaskKind::Future,
        work_type: WorkType::future::<F>(None),
        foreign: Some(&ForeignVTable {
            schedule: Self::schedule,
            poll: Self::poll,
            metadata: Self::metadata,
        }),
    };
}

impl<F, S, M> Drop for Foreign<F, S, M> {
    fn drop(&mut self) {
        // SAFETY: it is dropped in a cell, in which the future is.
        unsafe { self.0.assume_init_drop() };
    }
}

impl<F, S, M> Foreign<F, S, M>
where
    F: Future,
    S: Fn(ForeignRunnable<M>, WokenWhilePolled),
{
    /// Room for the future.
    pub(super) fn new() -> Self {
        Self(MaybeUninit::uninit(), PhantomData)
    }

    /// Writes the future into a new cell.
    ///
    /// # Safety
    /// Only the caller has the cell, which is of this type and has no future yet.
    pub(super) unsafe fn place(cell: CellRef<'_>, future: F) {
        // SAFETY: as promised.
        let mut work = unsafe { WorkInCell::<Self>::of(cell) };
        // SAFETY: nothing is pinned yet.
        unsafe { work.pinned().get_unchecked_mut() }.0.write(future);
    }

    /// See [`VTable::run`]; polling is [`poll`](Self::poll).
    unsafe fn run(cell: CellRef<'_>, step: Step) -> bool {
        debug_assert_eq!(step, Step::Drop, "another library's future is not run here");
        // SAFETY: as promised.
        let work = unsafe { WorkInCell::<Self>::of(cell) };
        work.drop_in_place().fill(Err(Failure::Cancelled));
        true
    }

    /// See [`ForeignVTable::poll`].
    unsafe fn poll(cell: CellRef<'_>, panic: &mut Option<Payload>) -> bool {
        let waker = Borrowed::of(cell);
        // SAFETY: as promised.
        let mut work = unsafe { WorkInCell::<Self>::of(cell) };
        // SAFETY: the future is not moved.
        let Self(future, _) = unsafe { work.pinned().get_unchecked_mut() };
        // SAFETY: the future is there until it has been ready.
        let future = unsafe { future.assume_init_mut() };
        // SAFETY: pinned with the work.
        let future = unsafe { Pin::new_unchecked(future) };
        let mut outcome = match catch(|| future.poll(&mut Context::from_waker(&waker))) {
            Ok(Poll::Pending) => return false,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(payload) => match work.extra().on_panic {
                OnPanic::Keep => Err(Failure::Panicked(PanicPayload::new(payload))),
                OnPanic::Unwind => {
                    *panic = Some(payload);
                    Err(Failure::Cancelled)
                }
            },
        };
        let is_unwanted = cell.state.is_cancelled();
        let unwanted = is_unwanted.then(|| mem::replace(&mut outcome, Err(Failure::Cancelled)));
        work.drop_in_place().fill(outcome);
        contain(|| drop(unwanted));
        true
    }

    /// See [`ForeignVTable::schedule`].
    unsafe fn schedule(part: QueuePart, woken: WokenWhilePolled) {
        part.record.woken();
        steps::give_by_own_function(part, |cell, part| {
            // SAFETY: as promised.
            let cell = unsafe { Cell::<Self>::of(cell) };
            (cell.extra().schedule)(ForeignRunnable::of(part), woken);
        });
    }

    /// See [`ForeignVTable::metadata`].
    unsafe fn metadata(cell: CellRef<'_>) -> NonNull<()> {
        // SAFETY: as promised.
        NonNull::from(&unsafe { Cell::<Self>::of(cell) }.extra().metadata).cast()
    }

    /// See [`VTable::free`]. What the executor has put into the cell may panic when it is dropped.
    unsafe fn free(cell: LastPart) {
        // SAFETY: as promised.
        contain(|| unsafe { Cell::<Self>::free(cell) });
    }
}

/// The executor for one run, and how that ended, beside what the state says.
#[derive(Default)]
pub(super) struct EndOfRun {
    pub(super) panic: std::cell::Cell<Option<Payload>>,
    pub(super) is_scheduled: std::cell::Cell<bool>,
}

impl Executor<Header> for EndOfRun {
    fn poll(&self, runner: RunnerPart<Header>) -> Polled<Header> {
        let cell = runner.cell();
        let _span = cell.span();
        let mut panic = None;
        // SAFETY: from the cell's own table; the future is there.
        let mut run = || unsafe { (vtable_of(cell).poll)(cell, &mut panic) };
        let mut poll = || budget::during_poll(&mut run);
        let is_over = if recording::is_open() {
            cell.recorded(poll, || cell.state.wakers(), || None)
        } else {
            poll()
        };
        self.panic.set(panic);
        if is_over {
            // SAFETY: the poll has done so.
            return Polled::Ended(unsafe { runner.ended() });
        }
        Polled::Pending(runner)
    }

    fn prepare_to_wait(&self, _runner: &mut RunnerPart<Header>) -> Result<(), Closed> {
        Ok(())
    }

    fn take_out(&self, _runner: &EndedPart<Header>, _action: Action<'_>) {}

    fn queue_polled(&self, part: QueuePart) {
        self.is_scheduled.set(true);
        let schedule = vtable_of(part.cell()).schedule;
        // SAFETY: from the cell's own table.
        unsafe { schedule(part, WokenWhilePolled::Yes) };
    }
}

fn vtable_of(cell: CellRef<'_>) -> &'static ForeignVTable {
    let foreign = cell.vtable().foreign;
    foreign.expect("a cell that was made by `spawn_foreign`")
}

/// # Safety
/// The cell has metadata of this type, and lives as long as the reference.
pub(super) unsafe fn metadata_of<'a, M>(cell: CellRef<'_>) -> &'a M {
    // SAFETY: from the cell's own table.
    let metadata = unsafe { (vtable_of(cell).metadata)(cell) };
    // SAFETY: of this type, and valid as long as the cell.
    unsafe { metadata.cast().as_ref() }
}

/// The job of a cell that gets into no queue of this library.
unsafe fn never_queued(_job: *mut Job, _action: Action<'_>) -> bool {
    unreachable!("another library's executor runs this task");
}
