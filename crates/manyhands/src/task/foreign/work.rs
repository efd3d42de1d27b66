//! What lies in the cell of a future that another library's executor polls, and the run that polls or drops it.
//!
//! Not here: the executor's ends of the task (`mod.rs`).
//!
//! Unsafe: cells are reached by pointer.

use super::{ForeignRunnable, OnPanic, WokenWhilePolled};
use crate::job::{Action, Job, JobKind, PanicPayload, Payload, SlotNumber, catch, contain};
use crate::recording::{self, WorkType};
use crate::runtime::Priority;
use crate::task::budget;
use crate::task::cell::{self, Cell, Failure, ForeignKind, Header, Kind, TaskKind, Work};
use crate::task::joiner::Joiner;
use crate::task::state::State;
use crate::task::steps::{self, Closed, Held, HeldFuture, Step};
use crate::task::waker::{self, Borrowed};
use std::marker::PhantomData;
use std::mem::{self, MaybeUninit};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

/// The future in its cell, which is written after the cell was made.
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

    const KIND: &'static Kind = &Kind {
        job: JobKind::new(never_queued),
        run: Self::run,
        take_outcome: Cell::<Self>::take_outcome,
        drop_outcome: Cell::<Self>::drop_outcome,
        free: Self::free,
        name: no_name,
        priority: normal_priority,
        home: no_home,
        sort: TaskKind::Future,
        work_type: WorkType::future::<F>(None),
        foreign: Some(&ForeignKind {
            schedule: Self::schedule,
            poll: Self::poll,
            metadata: Self::metadata,
        }),
    };
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

    /// Where the future is.
    ///
    /// # Safety
    /// Only the caller accesses the stage of a cell of this type, and it holds no outcome.
    pub(super) unsafe fn place(cell: NonNull<Header>) -> *mut F {
        // SAFETY: by the caller's promise. The work is a future, or the place for one.
        unsafe { Cell::<Self>::work(cell) }.cast()
    }

    /// See [`Kind::run`]; polling is [`poll`](Self::poll).
    unsafe fn run(cell: NonNull<Header>, step: Step) -> bool {
        debug_assert_eq!(step, Step::Drop, "another library's future is not run here");
        // SAFETY: the caller is the runner of a cell of this type.
        unsafe { Self::end(cell, Err(Failure::Cancelled)) };
        true
    }

    /// See [`ForeignKind::poll`].
    unsafe fn poll(cell: NonNull<Header>, panic: &mut Option<Payload>) -> bool {
        // SAFETY: the caller is the runner.
        let waker = unsafe { Borrowed::of(cell) };
        // SAFETY: the caller is the runner, and there is no outcome yet.
        let place = unsafe { Self::place(cell) };
        // SAFETY: as above; the future is there until it has been ready.
        let future = unsafe { &mut *place };
        // SAFETY: the cell is on the heap, and the future is dropped in place.
        let future = unsafe { Pin::new_unchecked(future) };
        let mut outcome = match catch(|| future.poll(&mut Context::from_waker(&waker))) {
            Ok(Poll::Pending) => return false,
            Ok(Poll::Ready(value)) => Ok(value),
            // SAFETY: the caller holds a cell of this type.
            Err(payload) => match unsafe { Cell::<Self>::extra(cell) }.on_panic {
                OnPanic::Keep => Err(Failure::Panicked(PanicPayload::new(payload))),
                OnPanic::Unwind => {
                    *panic = Some(payload);
                    Err(Failure::Cancelled)
                }
            },
        };
        // SAFETY: held by the runner.
        let is_unwanted = unsafe { cell.as_ref() }.state.is_cancelled();
        let unwanted = is_unwanted.then(|| mem::replace(&mut outcome, Err(Failure::Cancelled)));
        // SAFETY: the caller is the runner, and the future has been ready or has panicked.
        unsafe { Self::end(cell, outcome) };
        contain(|| drop(unwanted));
        true
    }

    /// Drops the future and writes the outcome.
    ///
    /// # Safety
    /// The caller is the runner of a cell of this type, and the future is there.
    unsafe fn end(cell: NonNull<Header>, outcome: cell::Outcome<F::Output>) {
        // SAFETY: as promised.
        let place = unsafe { Self::place(cell) };
        // SAFETY: the future is there, and is not used again.
        contain(|| unsafe { place.drop_in_place() });
        // SAFETY: the caller is the runner, and the future was dropped above.
        unsafe { Cell::<Self>::write_outcome(cell, outcome) };
    }

    /// See [`ForeignKind::schedule`].
    unsafe fn schedule(cell: NonNull<Header>, woken: WokenWhilePolled) {
        // SAFETY: the queue's part is the caller's.
        unsafe { cell.as_ref() }.record.woken();
        // SAFETY: held, of this type.
        let extra = unsafe { Cell::<Self>::extra(cell) };
        // SAFETY: the queue's part is the caller's, which gives it away.
        let give = || (extra.schedule)(unsafe { ForeignRunnable::of(cell) }, woken);
        // SAFETY: as above.
        unsafe { steps::give_by_own_function(cell, give) };
    }

    /// See [`ForeignKind::metadata`].
    unsafe fn metadata(cell: NonNull<Header>) -> NonNull<()> {
        // SAFETY: the caller holds a cell of this type.
        NonNull::from(&unsafe { Cell::<Self>::extra(cell) }.metadata).cast()
    }

    /// See [`Kind::free`]. What the executor has put into the cell may panic when it is dropped.
    unsafe fn free(cell: NonNull<Header>) {
        // SAFETY: only the caller holds the cell, and it holds an outcome.
        contain(|| unsafe { Cell::<Self>::free(cell) });
    }
}

/// How one run ended, beside what the state says.
#[derive(Default)]
pub(super) struct EndOfRun {
    pub(super) panic: std::cell::Cell<Option<Payload>>,
    pub(super) is_scheduled: std::cell::Cell<bool>,
}

/// A cell in the hands of the thread that runs it.
#[derive(Clone, Copy)]
pub(super) struct Run<'a>(pub(super) NonNull<Header>, pub(super) &'a EndOfRun);

impl Held for Run<'_> {
    unsafe fn state(&self) -> &State {
        // SAFETY: held by the caller.
        &unsafe { self.0.as_ref() }.state
    }

    unsafe fn joiner(&self) -> &Joiner {
        // SAFETY: held by the caller.
        &unsafe { self.0.as_ref() }.joiner
    }

    unsafe fn show(&self) {}

    fn wake_slot(self, slot: SlotNumber) {
        self.0.wake_slot(slot);
    }

    unsafe fn queue(self) {
        // SAFETY: the queue's part is the caller's.
        unsafe { self.0.queue() };
    }

    unsafe fn free(self) {
        // SAFETY: nobody else holds the cell.
        unsafe { self.0.free() };
    }
}

impl HeldFuture for Run<'_> {
    unsafe fn poll(self) -> bool {
        // SAFETY: the caller is the runner.
        let _span = unsafe { cell::span(self.0) };
        // SAFETY: as above.
        let kind = unsafe { foreign_kind(self.0) };
        let mut panic = None;
        // SAFETY: as above.
        let mut poll = || budget::during_poll(|| unsafe { (kind.poll)(self.0, &mut panic) });
        let is_over = if recording::is_open() {
            // SAFETY: as above.
            let wakers = || unsafe { self.state() }.wakers();
            // SAFETY: as above.
            unsafe { cell::recorded(self.0, poll, wakers, || None) }
        } else {
            poll()
        };
        self.1.panic.set(panic);
        is_over
    }

    unsafe fn drop_future(self) {
        // SAFETY: the caller is the runner.
        unsafe { self.0.drop_future() };
    }

    unsafe fn drop_outcome(self) {
        // SAFETY: the outcome is the runner's.
        unsafe { self.0.drop_outcome() };
    }

    unsafe fn prepare_to_wait(self) -> Result<(), Closed> {
        Ok(())
    }

    unsafe fn take_out(&self, _action: Action<'_>) {}

    unsafe fn queue_polled(self) {
        self.1.is_scheduled.set(true);
        // SAFETY: the queue's part is the caller's, which has polled it.
        let kind = unsafe { foreign_kind(self.0) };
        // SAFETY: as above.
        unsafe { (kind.schedule)(self.0, WokenWhilePolled::Yes) };
    }
}

/// A waker with a part of its own.
///
/// # Safety
/// The caller holds the cell.
pub(super) unsafe fn new_waker(cell: NonNull<Header>) -> Waker {
    // SAFETY: held by the caller.
    unsafe { cell.as_ref() }.state.add_waker();
    // SAFETY: the part was added above.
    unsafe { waker::from_task(cell.as_ptr().cast()) }
}

/// # Safety
/// The caller holds a cell of such a future.
unsafe fn foreign_kind(cell: NonNull<Header>) -> &'static ForeignKind {
    // SAFETY: held by the caller.
    let foreign = unsafe { cell.as_ref() }.kind().foreign;
    foreign.expect("a cell that was made by `spawn_foreign`")
}

/// # Safety
/// The caller holds a cell of such a future for as long as the reference, with metadata of this type.
pub(super) unsafe fn metadata_of<'a, M>(cell: NonNull<Header>) -> &'a M {
    // SAFETY: as promised.
    let kind = unsafe { foreign_kind(cell) };
    // SAFETY: as promised.
    let metadata = unsafe { (kind.metadata)(cell) };
    // SAFETY: of this type, and valid as long as the cell.
    unsafe { metadata.cast().as_ref() }
}

/// The job of a cell that gets into no queue of this library.
unsafe fn never_queued(_job: *mut Job, _action: Action<'_>) -> bool {
    unreachable!("another library's executor runs this task");
}

unsafe fn no_name(_cell: NonNull<Header>) -> Option<NonNull<str>> {
    None
}

unsafe fn normal_priority(_cell: NonNull<Header>) -> Priority {
    Priority::Normal
}

unsafe fn no_home(_cell: NonNull<Header>) -> Option<SlotNumber> {
    None
}
