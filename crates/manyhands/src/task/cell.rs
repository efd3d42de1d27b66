//! The heap cell of a task: a header, and its closure or future, which its outcome replaces.
//!
//! # Which thread may touch what
//! `stage`: see `state.rs`; before the claim or the end of the future it holds the work, from then on the
//! outcome, until the cell is freed. `place`: the runner, or the thread that drops a queued future. The
//! header's atomics: every holder.
//!
//! Not here: how closures (`closure.rs`) and futures (`future.rs`) run, and what a task is called (`name.rs`).
//!
//! Unsafe: the cell is reached through a pointer to its header, and freed by its last holder.

use crate::integrations::tracing_events::{self, TaskSpan};
use crate::job::{Job, JobKind, SlotNumber, block, contain};
use crate::queue::Unqueued;
use crate::recording::{self, TaskRecord, WorkType};
use crate::runtime::{WorkerSlot, current};
use crate::sync::atomic::AtomicU32;
use crate::task::join_error::JoinError;
use crate::task::joiner::Joiner;
use crate::task::name::{Label, Name, TaskKind};
use crate::task::schedule;
use crate::task::state::State;
use crate::task::steps::{self, Step, TaskCell};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;

/// See [`steps`].
pub(super) type CellRef<'part> = steps::CellRef<'part, Header>;
/// See [`steps`].
pub(super) type QueuePart = steps::QueuePart<Header>;
/// See [`steps`].
pub(super) type LastPart = steps::LastPart<Header>;
/// See [`steps`].
pub(super) type HandlePart<T> = steps::HandlePart<Header, T>;
/// See [`steps`].
pub(super) type WakerPart = steps::WakerPart<Header>;

/// The first part of every cell, whatever it runs.
#[repr(C)]
pub(super) struct Header {
    job: Job,
    pub(super) state: State,
    /// The key under which the task is registered as waiting: a `TaskKey`, or 0.
    pub(super) place: AtomicU32,
    pub(super) joiner: Joiner,
    /// Where it was spawned.
    pub(super) location: &'static Location<'static>,
    /// What is recorded of it.
    pub(super) record: TaskRecord,
}

/// The operations that depend on the work's and the outcome's type. All of them want a cell of that type.
#[repr(C)]
pub(super) struct VTable {
    /// First, because a header's job points to it.
    pub(super) job: JobKind,
    /// Closure: runs or drops the closure and writes the outcome. Future: polls it, or drops it and writes
    /// the outcome. Returns whether the outcome is there. The caller has the right to the closure or future.
    pub(super) run: unsafe fn(CellRef<'_>, Step) -> bool,
    /// Where the outcome is, once it is there.
    pub(super) outcome: unsafe fn(CellRef<'_>) -> *mut (),
    /// Drops the outcome, which is there and the caller's.
    pub(super) drop_outcome: unsafe fn(CellRef<'_>),
    pub(super) free: unsafe fn(LastPart),
    pub(super) label: unsafe fn(CellRef<'_>) -> Label<'_>,
    pub(super) kind: TaskKind,
    /// The type of the work.
    pub(super) work_type: WorkType,
}

/// How a task ended.
pub(super) type Outcome<T> = Result<T, JoinError>;

/// A cell.
#[repr(C)]
struct Cell<W: Work, N> {
    header: Header,
    name: N,
    stage: UnsafeCell<Stage<W, W::Result>>,
}

/// The work or its outcome; the state says which.
#[repr(C)]
union Stage<W, T> {
    work: ManuallyDrop<W>,
    outcome: ManuallyDrop<Outcome<T>>,
}

/// Work that can be in a cell.
pub(super) trait Work: Sized {
    /// What it returns.
    type Result;

    /// What queues and registries do with it.
    const JOB: JobKind;

    /// See [`VTable::work_type`].
    const TYPE: WorkType;

    /// Whether it is a closure, or a future.
    const IS_CLOSURE: bool;

    /// See [`VTable::run`].
    ///
    /// # Safety
    /// It is a cell of this type, and the caller has the right to the work, which is there.
    unsafe fn run<N: Name>(cell: CellRef<'_>, step: Step) -> bool;
}

impl Header {
    /// The operations of this cell.
    pub(super) fn vtable(&self) -> &'static VTable {
        // SAFETY: `allocate` made the job with a pointer to a whole table, whose first field it is.
        unsafe { &*self.job.kind().cast::<VTable>() }
    }
}

/// The queue's and the handle's part of a new cell.
pub(super) fn allocate<W: Work, N: Name>(
    work: W,
    name: N,
    location: &'static Location<'static>,
) -> (QueuePart, HandlePart<W::Result>) {
    let cell: NonNull<Cell<W, N>> = block::allocate(Cell {
        header: Header {
            // SAFETY: a table begins with the kind of its jobs.
            job: unsafe { Job::with_more(Cell::<W, N>::VTABLE) },
            state: State::new(),
            place: AtomicU32::new(0),
            joiner: Joiner::new(),
            location,
            record: TaskRecord::default(),
        },
        name,
        stage: UnsafeCell::new(Stage {
            work: ManuallyDrop::new(work),
        }),
    });
    // SAFETY: the cell is new, and the state begins with this part.
    let queued = unsafe { QueuePart::from_raw(cell.cast()) };
    // SAFETY: as above; of this type.
    let handle = unsafe { HandlePart::from_raw(cell.cast()) };
    if recording::is_open() {
        queued.cell().record_spawn();
    }
    (queued, handle)
}

impl<'part> CellRef<'part> {
    /// The name, the priority and the home of the task.
    pub(super) fn label(self) -> Label<'part> {
        // SAFETY: from the cell's own table.
        unsafe { (self.vtable().label)(self) }
    }

    /// The name of the task.
    pub(super) fn name(self) -> Option<&'part str> {
        self.label().name.map(|name| &**name)
    }

    /// The number of the task for its handle, `tracing` and `inspect`.
    pub(super) fn id(self) -> usize {
        self.as_ptr().addr().get()
    }

    /// The span of one run or poll for the subscriber of `tracing`, until it is dropped.
    pub(super) fn span(self) -> TaskSpan {
        tracing_events::task_span(self.id(), || self.name(), self.location)
    }

    /// Records that the task exists.
    #[cold]
    fn record_spawn(self) {
        let work = &self.vtable().work_type;
        let name_and_priority = (self.name(), self.label().priority);
        self.record
            .spawned(self.as_ptr().cast(), name_and_priority, work, self.location);
    }

    /// Runs or polls the task by `run`, which says whether it is over, and records that if recording is open. `wakers`: how
    /// many there are of a task that is not over.
    #[inline]
    pub(super) fn run_by(
        self,
        run: impl FnOnce() -> bool,
        wakers: impl FnOnce() -> Option<u32>,
    ) -> bool {
        let run = move || {
            let _span = self.span();
            run()
        };
        if recording::is_open() {
            self.run_recorded(run, wakers)
        } else {
            run()
        }
    }

    /// A function of its own, so that a run that is not recorded is a load and a branch beside it, and nothing is kept for
    /// this one meanwhile.
    #[cold]
    #[inline(never)]
    fn run_recorded(
        self,
        run: impl FnOnce() -> bool,
        wakers: impl FnOnce() -> Option<u32>,
    ) -> bool {
        self.record.seen(|| self.record_spawn());
        let worker =
            current::worker().and_then(|(slot, shared)| Some((slot.worker()?, &shared.number)));
        let running = self.record.run(self.id(), worker);
        let is_over = run();
        running.end(is_over, wakers);
        is_over
    }

    /// The cell as a job.
    pub(super) fn job(self) -> *mut Job {
        self.as_ptr().as_ptr().cast()
    }
}

impl QueuePart {
    /// The part as a queue has it.
    pub(super) fn into_job(self) -> Unqueued<Job> {
        // SAFETY: 1. the part keeps the cell; 2. it cannot be copied.
        unsafe { Unqueued::new(self.into_raw().cast().as_ptr()) }
    }
}

/// The cell that a queue or a registry holds.
pub(super) fn from_job(job: *mut Job) -> NonNull<Header> {
    NonNull::new(job.cast()).expect("a queue holds no null")
}

impl TaskCell for Header {
    type Outcome<T> = Outcome<T>;

    #[inline]
    fn state(&self) -> &State {
        &self.state
    }

    #[inline]
    fn joiner(&self) -> &Joiner {
        &self.joiner
    }

    #[inline]
    fn show(&self) {
        if let Some((slot, _)) = current::worker() {
            slot.set_task(Some(self.location));
        }
    }

    fn wake_slot(slot: SlotNumber) {
        WorkerSlot::wake(slot);
    }

    fn queue(part: QueuePart) {
        schedule::queue(part);
    }

    #[inline]
    fn free(cell: LastPart) {
        // SAFETY: from the cell's own table.
        unsafe { (cell.vtable().free)(cell) };
    }

    unsafe fn take_outcome<T>(cell: CellRef<'_>) -> Outcome<T> {
        // SAFETY: from the cell's own table.
        let outcome = unsafe { (cell.vtable().outcome)(cell) };
        // SAFETY: it is there, of this type, and the caller's, as promised, who does not use it again.
        unsafe { outcome.cast::<Outcome<T>>().read() }
    }

    #[inline]
    fn drop_outcome(owner: &mut steps::EndedPart<Self>) {
        // SAFETY: from the cell's own table; the outcome is there.
        unsafe { (owner.vtable().drop_outcome)(owner.cell()) };
    }
}

/// The right to the work in a cell, which is there.
pub(super) struct WorkInCell<'part, W: Work, N>(steps::CellRef<'part, Cell<W, N>>);

/// The place of the outcome in a cell, whose work is gone.
pub(super) struct EmptyStage<'part, W: Work, N>(steps::CellRef<'part, Cell<W, N>>);

impl<'part, W: Work, N: Name> WorkInCell<'part, W, N> {
    /// # Safety
    /// 1. It is a cell of this type. 2. The work is there, and only the caller accesses it.
    pub(super) unsafe fn of(cell: CellRef<'part>) -> Self {
        // SAFETY: by 1.
        Self(unsafe { Cell::of(cell) })
    }

    /// What the task is called.
    pub(super) fn name(&self) -> &'part N {
        &self.0.get().name
    }

    /// The work, to be polled.
    pub(super) fn pinned(&mut self) -> Pin<&mut W> {
        // SAFETY: only this has it. Both variants begin where the stage does.
        let work = unsafe { &mut *self.0.stage.get().cast() };
        // SAFETY: the cell is on the heap, and pinned work is dropped in place.
        unsafe { Pin::new_unchecked(work) }
    }

    /// Moves the work, which was not pinned, out of the cell.
    pub(super) fn take(self) -> (W, EmptyStage<'part, W, N>) {
        // SAFETY: the work is there, and is not used again.
        let work = unsafe { self.0.stage.get().cast::<W>().read() };
        (work, EmptyStage(self.0))
    }

    /// Drops the work in place.
    pub(super) fn drop_in_place(self) -> EmptyStage<'part, W, N> {
        let work: *mut W = self.0.stage.get().cast();
        // SAFETY: the work is there, and is not used again.
        contain(|| unsafe { work.drop_in_place() });
        EmptyStage(self.0)
    }
}

impl<W: Work, N> EmptyStage<'_, W, N> {
    /// Writes the outcome.
    pub(super) fn fill(self, outcome: Outcome<W::Result>) {
        let place = self.0.stage.get().cast::<Outcome<W::Result>>();
        // SAFETY: nothing is there, and only this has the place.
        unsafe { place.write(outcome) };
    }
}

impl<W: Work, N: Name> Cell<W, N> {
    const VTABLE: &'static VTable = &VTable {
        job: W::JOB,
        run: W::run::<N>,
        outcome: Self::outcome,
        drop_outcome: Self::drop_outcome,
        free: Self::free,
        label: Self::label,
        kind: if W::IS_CLOSURE {
            TaskKind::Closure
        } else {
            N::FUTURE
        },
        work_type: W::TYPE,
    };

    /// # Safety
    /// It is a cell of this type.
    unsafe fn of(cell: CellRef<'_>) -> steps::CellRef<'_, Self> {
        // SAFETY: valid as long as the other one; of this type, as promised.
        unsafe { steps::CellRef::new(cell.as_ptr().cast()) }
    }

    /// See [`VTable::outcome`].
    unsafe fn outcome(cell: CellRef<'_>) -> *mut () {
        // SAFETY: as promised.
        unsafe { Self::of(cell) }.stage.get().cast()
    }

    /// See [`VTable::drop_outcome`].
    unsafe fn drop_outcome(cell: CellRef<'_>) {
        // SAFETY: as promised.
        let stage = unsafe { Self::of(cell) }.stage.get();
        // SAFETY: it is an outcome, and the caller's, who does not use it again.
        let outcome = unsafe { stage.cast::<Outcome<W::Result>>().read() };
        if let Some(payload) = outcome.as_ref().err().and_then(JoinError::panic) {
            tracing_events::panic_ignored(payload.message(), Some(cell.location));
        }
        // A panic of the outcome's drop must not unwind into the worker.
        contain(|| drop(outcome));
    }

    /// See [`VTable::free`].
    unsafe fn free(cell: LastPart) {
        if cell.has_outcome() {
            // SAFETY: nobody else has the cell, and it is there.
            unsafe { Self::drop_outcome(cell.cell()) };
        }
        // SAFETY: allocated with this type, and this is its last use. The outcome is gone, and what is left
        // does not unwind when dropped.
        unsafe { block::dispose(cell.into_raw().cast::<Self>()) };
    }

    /// See [`VTable::label`].
    unsafe fn label(cell: CellRef<'_>) -> Label<'_> {
        let cell = cell.as_ptr().cast::<Self>().as_ptr();
        // SAFETY: of this type, as promised, and valid as long as the label.
        unsafe { &(*cell).name }.label()
    }
}

const _: () = assert!(
    size_of::<Header>() <= 40 + size_of::<TaskRecord>(),
    "a task's overhead is part of its contract"
);
