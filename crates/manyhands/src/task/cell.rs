//! The heap cell of a task: a header, and its closure or future, which its outcome replaces.
//!
//! # Who may touch what
//! `stage`: see `state.rs`; before the claim or the end of the future it holds the work, from then on the
//! outcome, until the cell is freed. `place`: the runner, or the thread that drops a queued future. The
//! header's atomics: every holder.
//!
//! Not here: how closures (`closure.rs`) and futures (`future.rs`) run.
//!
//! Unsafe: the cell is reached through a pointer to its header, and freed by its last holder.

use crate::integrations::tracing_events::{self, TaskSpan};
use crate::job::{Job, JobKind, PanicPayload, Payload, SlotNumber, block, contain};
use crate::recording::{self, Running, TaskRecord, WorkType};
use crate::runtime::worker::slot::WorkerSlot;
use crate::runtime::{Priority, current};
use crate::sync::atomic::AtomicU32;
use crate::sync::lock;
use crate::task::joiner::Joiner;
use crate::task::schedule;
use crate::task::state::State;
use crate::task::steps::{Held, Step};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Waker;

/// The first part of every cell, whatever it runs.
#[derive(Debug)]
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

/// The operations that depend on the work's and the outcome's type.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Kind {
    /// First, because a header's job points to it.
    pub(super) job: JobKind,
    /// Closure: runs or drops the closure and writes the outcome. Future: polls it, or drops it and writes
    /// the outcome. Returns whether the outcome is there.
    pub(super) run: unsafe fn(NonNull<Header>, Step) -> bool,
    pub(super) take_outcome: unsafe fn(NonNull<Header>, *mut ()),
    pub(super) drop_outcome: unsafe fn(NonNull<Header>),
    pub(super) free: unsafe fn(NonNull<Header>),
    pub(super) name: unsafe fn(NonNull<Header>) -> Option<NonNull<str>>,
    /// The task's priority.
    pub(super) priority: unsafe fn(NonNull<Header>) -> Priority,
    /// The slot of the worker that alone may run the task, if it is bound to one.
    pub(super) home: unsafe fn(NonNull<Header>) -> Option<SlotNumber>,
    pub(super) sort: TaskKind,
    /// The type of the work.
    pub(super) work_type: WorkType,
    /// What another library's executor needs, if that runs the task.
    pub(super) foreign: Option<&'static ForeignKind>,
}

/// The operations for a future that another library's executor runs; see `foreign/`.
#[derive(Debug)]
pub(super) struct ForeignKind {
    /// Hands the queue's part to the executor.
    pub(super) schedule: unsafe fn(NonNull<Header>, WokenWhilePolled),
    /// Polls the future. Returns whether it was dropped and the outcome written.
    pub(super) poll: unsafe fn(NonNull<Header>, &mut Option<Payload>) -> bool,
    pub(super) metadata: unsafe fn(NonNull<Header>) -> NonNull<()>,
}

/// Whether a task is queued because it was woken while it was polled.
///
/// Example: see [`spawn_foreign`](crate::facade::spawn_foreign).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WokenWhilePolled {
    /// It was: by itself, or by another thread.
    Yes,
    /// It waited, or is queued for the first time.
    No,
}

/// What runs in a cell, and on which workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskKind {
    /// A closure: on any worker, or in place by the thread that waits for it.
    Closure,
    /// A future: polled by any worker.
    Future,
    /// A future that only the worker that spawned it polls.
    LocalFuture,
    /// A future with a priority of its own: see [`Kind::priority`].
    PrioritizedFuture,
}

/// How a task ended.
pub(super) type Outcome<T> = Result<T, Failure>;

/// Why a task has no result.
#[derive(Debug)]
pub(super) enum Failure {
    Panicked(PanicPayload),
    Cancelled,
    /// The handle has taken the outcome before.
    Taken,
}

/// A cell.
#[repr(C)]
pub(super) struct Cell<W: Work> {
    header: Header,
    extra: W::Extra,
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

    /// What the cell holds beside it: its [`Name`], or what another library's executor needs.
    type Extra;

    /// The operations for cells with this work.
    const KIND: &'static Kind;
}

/// The name and the priority of a task; zero-sized for a task without a name and with the normal priority.
pub(super) trait Name: Send + Sync + 'static {
    /// Whether the priority may differ from the normal one.
    const HAS_PRIORITY: bool = false;

    /// The name.
    fn shared(&self) -> Option<&Arc<str>>;

    /// Runs `f`, which does not unwind, while the slot of the calling worker shows the name of this task, spawned there.
    #[inline]
    fn shown<R>(&self, spawned_at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
        match self.shared() {
            Some(name) => show(name, spawned_at, f),
            None => f(),
        }
    }

    /// The priority.
    fn priority(&self) -> Priority {
        Priority::Normal
    }

    /// The slot of the worker that alone may run the task, if it is bound to one.
    fn home(&self) -> Option<SlotNumber> {
        None
    }
}

/// A priority, and perhaps a name.
#[derive(Debug)]
pub(super) struct Label {
    pub(super) name: Option<Arc<str>>,
    pub(super) priority: Priority,
}

impl Name for Label {
    const HAS_PRIORITY: bool = true;

    fn shared(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    fn priority(&self) -> Priority {
        self.priority
    }
}

/// The name of a local task, and the slot of its worker.
#[derive(Debug)]
pub(super) struct Bound<N> {
    pub(super) name: N,
    pub(super) home: SlotNumber,
}

impl<N: Name> Name for Bound<N> {
    fn shared(&self) -> Option<&Arc<str>> {
        self.name.shared()
    }

    fn home(&self) -> Option<SlotNumber> {
        Some(self.home)
    }
}

impl Name for () {
    fn shared(&self) -> Option<&Arc<str>> {
        None
    }
}

impl Name for Arc<str> {
    fn shared(&self) -> Option<&Self> {
        Some(self)
    }
}

/// See [`Name::shown`].
fn show<R>(name: &Arc<str>, spawned_at: &'static Location<'static>, f: impl FnOnce() -> R) -> R {
    let Some((slot, _)) = current::worker() else {
        return f();
    };
    let (outer_task, outer_name) = (slot.task(), lock(&slot.task_name).take());
    slot.set_task(Some(spawned_at));
    *lock(&slot.task_name) = Some(Arc::clone(name));
    let result = f();
    *lock(&slot.task_name) = outer_name;
    slot.set_task(outer_task);
    result
}

impl Header {
    /// The operations of this cell.
    pub(super) fn kind(&self) -> &'static Kind {
        // SAFETY: `allocate` made the job with a pointer to a whole kind, whose first field it is.
        unsafe { &*self.job.kind().cast::<Kind>() }
    }
}

/// A new cell, held by a queue and by a handle.
pub(super) fn allocate<W: Work>(
    work: W,
    extra: W::Extra,
    location: &'static Location<'static>,
) -> NonNull<Header> {
    let cell: NonNull<Cell<W>> = block::allocate(Cell {
        header: Header {
            // SAFETY: a kind begins with that of its jobs.
            job: unsafe { Job::with_more(W::KIND) },
            state: State::new(),
            place: AtomicU32::new(0),
            joiner: Joiner::new(),
            location,
            record: TaskRecord::none(),
        },
        extra,
        stage: UnsafeCell::new(Stage {
            work: ManuallyDrop::new(work),
        }),
    });
    let cell = cell.cast();
    if recording::is_open() {
        // SAFETY: the caller holds the new cell.
        unsafe { record_spawn(cell) };
    }
    cell
}

/// Records that the task exists.
///
/// # Safety
/// The caller holds the cell.
#[cold]
unsafe fn record_spawn(cell: NonNull<Header>) {
    // SAFETY: by the caller's promise.
    let header = unsafe { cell.as_ref() };
    let kind = header.kind();
    // SAFETY: by the caller's promise.
    let name = unsafe { name(&cell) };
    // SAFETY: by the caller's promise.
    let priority = unsafe { (kind.priority)(cell) };
    let (work, location) = (&kind.work_type, header.location);
    header
        .record
        .spawned(cell.cast(), (name, priority), work, location);
}

/// Runs or polls the task by `run`, which says whether it is over, and records that. `wakers`: how many there are of a task
/// that is not over. If the task is frozen, it is not run, and not over; `waker` is then asked for a waker of it, and a task
/// that has none is never frozen.
///
/// For who has seen that recording is open: it has a path of its own, on which nothing is kept while the task runs.
///
/// # Safety
/// The caller holds the cell, and runs it.
pub(super) unsafe fn recorded(
    cell: NonNull<Header>,
    run: impl FnOnce() -> bool,
    wakers: impl FnOnce() -> Option<u32>,
    waker: impl FnOnce() -> Option<Waker>,
) -> bool {
    // SAFETY: by the caller's promise.
    let Some(running) = (unsafe { record_run(cell, waker) }) else {
        return false;
    };
    let is_over = run();
    running.end(is_over, wakers);
    is_over
}

/// Records that the calling thread begins to run or poll the task. `None`: it must not; see [`recorded`].
///
/// # Safety
/// As for [`recorded`].
unsafe fn record_run(
    cell: NonNull<Header>,
    waker: impl FnOnce() -> Option<Waker>,
) -> Option<Running> {
    // SAFETY: by the caller's promise.
    let header = unsafe { cell.as_ref() };
    if header.record.is_none() {
        // SAFETY: by the caller's promise.
        unsafe { record_spawn(cell) };
        header.record.clear_parent();
    }
    let worker =
        current::worker().and_then(|(slot, shared)| Some((slot.worker()?, &shared.number)));
    header.record.run(cell.addr().get(), worker, waker)
}

/// The span of one run or poll for the subscriber of `tracing`, until it is dropped.
///
/// # Safety
/// The caller holds the cell.
pub(super) unsafe fn span(cell: NonNull<Header>) -> TaskSpan {
    // SAFETY: by the caller's promise.
    let header = unsafe { cell.as_ref() };
    // SAFETY: by the caller's promise.
    let name = || unsafe { name(&cell) };
    tracing_events::task_span(cell.addr().get(), name, header.location)
}

/// The name of the task.
///
/// # Safety
/// The caller holds the cell as long as the reference lives.
pub(super) unsafe fn name(cell: &NonNull<Header>) -> Option<&str> {
    // SAFETY: by the caller's promise.
    let name = unsafe { cell.as_ref() }.kind().name;
    // SAFETY: by the caller's promise.
    let name = unsafe { name(*cell) };
    // SAFETY: the name is valid as long as the cell.
    name.map(|name| unsafe { name.as_ref() })
}

/// The cell as a queue holds it.
pub(super) fn as_job(cell: NonNull<Header>) -> *mut Job {
    cell.as_ptr().cast()
}

/// The cell that a queue holds.
pub(super) fn from_job(job: *mut Job) -> NonNull<Header> {
    NonNull::new(job.cast()).expect("a queue holds no null")
}

/// Takes the outcome, which must be there.
///
/// # Safety
/// 1. The state gives the outcome to the caller. 2. `T` is the cell's result type.
pub(super) unsafe fn take_outcome<T>(cell: NonNull<Header>) -> Outcome<T> {
    let mut place: Outcome<T> = Err(Failure::Taken);
    // SAFETY: valid by 1.
    let take_outcome = unsafe { cell.as_ref() }.kind().take_outcome;
    // SAFETY: 1. and 2. by the caller's promise.
    unsafe { take_outcome(cell, (&raw mut place).cast()) };
    place
}

impl Held for NonNull<Header> {
    #[inline]
    unsafe fn state(&self) -> &State {
        // SAFETY: held by the caller.
        unsafe { &self.as_ref().state }
    }

    #[inline]
    unsafe fn joiner(&self) -> &Joiner {
        // SAFETY: held by the caller.
        unsafe { &self.as_ref().joiner }
    }

    #[inline]
    unsafe fn show(&self) {
        if let Some((slot, _)) = current::worker() {
            // SAFETY: held by the caller.
            slot.set_task(Some(unsafe { self.as_ref() }.location));
        }
    }

    fn wake_slot(self, slot: SlotNumber) {
        WorkerSlot::wake(slot);
    }

    unsafe fn queue(self) {
        // SAFETY: the queue's part is the caller's.
        match unsafe { self.as_ref() }.kind().foreign {
            // SAFETY: as above; a cell of this kind.
            Some(foreign) => unsafe { (foreign.schedule)(self, WokenWhilePolled::No) },
            // SAFETY: as above.
            None => unsafe { schedule::queue(self) },
        }
    }

    #[inline]
    unsafe fn free(self) {
        // SAFETY: still valid, because nobody else frees it.
        let free = unsafe { self.as_ref() }.kind().free;
        // SAFETY: nobody else holds the cell.
        unsafe { free(self) };
    }
}

impl<W: Work> Cell<W> {
    /// A pointer to the work or the outcome.
    ///
    /// # Safety
    /// The header is that of a valid cell of this type.
    unsafe fn stage(header: NonNull<Header>) -> *mut Stage<W, W::Result> {
        // SAFETY: by the caller's promise.
        unsafe { header.cast::<Self>().as_ref() }.stage.get()
    }

    /// A pointer to the work.
    ///
    /// # Safety
    /// Only the caller accesses the stage, and it holds the work.
    pub(super) unsafe fn work(header: NonNull<Header>) -> *mut W {
        // SAFETY: by the caller's promise. Both variants begin where the stage does.
        unsafe { Self::stage(header) }.cast()
    }

    /// Writes the outcome where the work was.
    ///
    /// # Safety
    /// Only the caller accesses the stage, and the work is gone.
    pub(super) unsafe fn write_outcome(header: NonNull<Header>, outcome: Outcome<W::Result>) {
        // SAFETY: by the caller's promise.
        let place = unsafe { Self::stage(header) }.cast();
        // SAFETY: exclusive.
        unsafe { std::ptr::write(place, outcome) };
    }

    /// Moves the outcome to `place`.
    ///
    /// # Safety
    /// 1. The state gives the outcome to the caller. 2. `place` is an `Outcome` of this type.
    pub(super) unsafe fn take_outcome(header: NonNull<Header>, place: *mut ()) {
        // SAFETY: held by 1.
        let outcome = unsafe { Self::stage(header) }.cast::<Outcome<W::Result>>();
        // SAFETY: by 1. only the caller accesses it, and it is an outcome.
        let outcome = unsafe { outcome.replace(Err(Failure::Taken)) };
        // SAFETY: a valid outcome by 2.
        unsafe { *place.cast() = outcome };
    }

    /// Drops the outcome.
    ///
    /// # Safety
    /// The state gives the outcome to the caller.
    pub(super) unsafe fn drop_outcome(header: NonNull<Header>) {
        let mut outcome: Outcome<W::Result> = Err(Failure::Taken);
        // SAFETY: 1. by the caller's promise; 2. an outcome of this type.
        unsafe { Self::take_outcome(header, (&raw mut outcome).cast()) };
        if let Err(Failure::Panicked(payload)) = &outcome {
            // SAFETY: by the caller's promise.
            let spawned_at = unsafe { header.as_ref() }.location;
            tracing_events::panic_ignored(payload.message(), Some(spawned_at));
        }
        // A panic of the outcome's drop must not unwind into the worker.
        contain(|| drop(outcome));
    }

    /// # Safety
    /// Only the caller holds the cell, and it holds an outcome.
    pub(super) unsafe fn free(header: NonNull<Header>) {
        // SAFETY: only the caller holds the cell.
        unsafe { Self::drop_outcome(header) };
        // SAFETY: allocated with this type, and this is its last use. The outcome is gone, and what is left
        // does not unwind when dropped.
        unsafe { block::dispose(header.cast::<Self>()) };
    }

    /// What the cell holds beside the work. Written once, before any other thread saw the cell.
    ///
    /// # Safety
    /// The header is that of a valid cell of this type, which lives as long as the reference.
    pub(super) unsafe fn extra<'a>(header: NonNull<Header>) -> &'a W::Extra {
        let cell = header.cast::<Self>().as_ptr();
        // SAFETY: by the caller's promise.
        unsafe { &(*cell).extra }
    }
}

impl<W: Work<Extra: Name>> Cell<W> {
    /// The name.
    ///
    /// # Safety
    /// The header is that of a valid cell of this type.
    pub(super) unsafe fn name(header: NonNull<Header>) -> Option<NonNull<str>> {
        // SAFETY: by the caller's promise.
        let name = unsafe { Self::extra(header) };
        name.shared().map(|name| NonNull::from(&**name))
    }

    /// The priority.
    ///
    /// # Safety
    /// As for `name`.
    pub(super) unsafe fn priority(header: NonNull<Header>) -> Priority {
        // SAFETY: as for `name`.
        unsafe { Self::extra(header) }.priority()
    }

    /// The slot of the worker that alone may run it.
    ///
    /// # Safety
    /// As for `name`.
    pub(super) unsafe fn home(header: NonNull<Header>) -> Option<SlotNumber> {
        // SAFETY: as for `name`.
        unsafe { Self::extra(header) }.home()
    }
}

const _: () = assert!(
    size_of::<Header>() <= 40 + size_of::<TaskRecord>(),
    "a task's overhead is part of its contract"
);
