//! Futures in our cells that another library's executor polls, where and when it likes.
//!
//! In place of our queues such a task has a function of the executor's, which gets the queue's part of the cell as a
//! [`ForeignRunnable`]. Words and steps are those of every task: the handle, wakers and the runner meet in the same
//! way. Such a task belongs to no runtime: it is in no registry, and no worker shows that it runs it.
//!
//! Not here: the interface of such a library (the façades in `compat`).
//!
//! Unsafe: cells are reached by pointer, and what a future borrows is the executor's business.

use crate::inspect::{self, WorkType};
use crate::job::{
    Action, ExecutionId, Job, JobKind, PanicPayload, Payload, SlotNumber, block, catch, contain,
};
use crate::runtime::Priority;
use crate::task::budget;
use crate::task::cell::{self, Cell, Failure, ForeignKind, Header, Kind, TaskKind, Work};
use crate::task::joiner::Joiner;
use crate::task::state::State;
use crate::task::steps::{self, Closed, Held, HeldFuture, Step};
use crate::task::waker::{self, Borrowed};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::panic::{Location, resume_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

pub use crate::task::cell::WokenWhilePolled;

/// What becomes of a panic of the future.
///
/// Example: see [`spawn_foreign`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnPanic {
    /// It goes on in [`ForeignRunnable::run`].
    Unwind,
    /// The task has it as its outcome.
    Keep,
}

/// The right, and the duty, to run or to drop a task.
///
/// Dropping it drops the future, on the calling thread.
///
/// Example: see [`spawn_foreign`].
pub struct ForeignRunnable<M> {
    cell: NonNull<Header>,
    metadata: PhantomData<M>,
}

/// The handle of a task. Dropping it detaches the task.
///
/// Example: see [`spawn_foreign`].
pub struct ForeignTask<T, M> {
    cell: NonNull<Header>,
    types: PhantomData<(T, M)>,
}

// SAFETY: the pointer forbids it; the cell is shared by the state word's rules. That the future is polled and dropped
// only where it may be is promised at `spawn_foreign`.
unsafe impl<M: Send + Sync> Send for ForeignRunnable<M> {}
// SAFETY: as above; a shared one reads the metadata and makes wakers.
unsafe impl<M: Send + Sync> Sync for ForeignRunnable<M> {}
// SAFETY: as above; the outcome moves through it.
unsafe impl<T: Send, M: Send + Sync> Send for ForeignTask<T, M> {}
// SAFETY: as above; a shared one reads state and metadata, and cancels.
unsafe impl<T, M: Send + Sync> Sync for ForeignTask<T, M> {}

// The outcome is not in the handle.
impl<T, M> Unpin for ForeignTask<T, M> {}

/// A cell for the future that `generate` makes of the metadata, and its two parts. The task has not been scheduled.
///
/// `schedule` is called with the task whenever it is to be run: on the thread that wakes or cancels it, or that drops
/// the last waker of one without a handle. It is dropped with the cell, and so is `metadata`.
///
/// # Cost
/// One allocation.
///
/// # Panics
/// If `generate` does.
///
/// # Safety
/// 1. Unless the future is `Send`, the runnables of this task are run and dropped on the calling thread; unless its
///    output is, so is the [`ForeignTask`]. 2. Unless `schedule` is `Send` and `Sync`, the runnables, the wakers and the
///    handle are used and dropped on the calling thread. 3. What the future borrows lives until the last runnable of the
///    task is gone; what `schedule` and `metadata` borrow, until every part of the task is, the wakers too.
///
/// # Examples
/// ```
/// use manyhands::facade::{ForeignRunnable, ForeignTask, OnPanic, WokenWhilePolled, spawn_foreign};
/// use std::{sync::mpsc, task::{Context, Poll, Waker}};
///
/// let (sender, queue) = mpsc::channel::<(ForeignRunnable<u32>, WokenWhilePolled)>();
/// let schedule = move |runnable, woken| sender.send((runnable, woken)).unwrap();
/// let double = |number: &u32| std::future::ready(2 * number);
/// // SAFETY: all of it can be sent, and borrows nothing.
/// let (runnable, task) = unsafe { spawn_foreign(double, schedule, 21, OnPanic::Unwind) };
/// let mut task: ForeignTask<u32, u32> = task;
/// runnable.schedule();
/// let (runnable, woken) = queue.recv().unwrap();
/// assert_eq!((woken, *runnable.metadata()), (WokenWhilePolled::No, *task.metadata()));
///
/// let waker = runnable.waker();
/// assert!(!task.is_finished());
/// // SAFETY: the pointer is that of a runnable of this type.
/// let runnable: ForeignRunnable<u32> = unsafe { ForeignRunnable::from_raw(runnable.into_raw()) };
/// assert!(!runnable.run(), "it was not woken meanwhile");
/// waker.wake(); // too late
/// task.cancel(); // too late, too
/// let outcome = task.poll_outcome(&mut Context::from_waker(Waker::noop()));
/// assert!(matches!(outcome, Poll::Ready(Some(Ok(42)))));
/// ```
#[track_caller]
pub unsafe fn spawn_foreign<'a, G, F, S, M>(
    generate: G,
    schedule: S,
    metadata: M,
    on_panic: OnPanic,
) -> (ForeignRunnable<M>, ForeignTask<F::Output, M>)
where
    G: FnOnce(&'a M) -> F,
    F: Future + 'a,
    S: Fn(ForeignRunnable<M>, WokenWhilePolled),
    M: 'a,
{
    let extra = Extra {
        metadata,
        schedule,
        on_panic,
    };
    let empty = Foreign::<F, S, M>(MaybeUninit::uninit(), PhantomData);
    let cell = cell::allocate(empty, extra, Location::caller());
    // SAFETY: a new cell of this type. The future, which alone has the reference, is dropped before the cell is freed.
    let metadata: &'a M = unsafe { metadata_of(cell) };
    let future = match catch(|| generate(metadata)) {
        Ok(future) => future,
        Err(payload) => {
            // SAFETY: allocated above.
            unsafe { cell.as_ref() }.record.ended();
            // SAFETY: allocated above, with this type; nobody else has it, and neither future nor outcome are there.
            contain(|| unsafe { block::dispose(cell.cast::<Cell<Foreign<F, S, M>>>()) });
            resume_unwind(payload)
        }
    };
    // SAFETY: only this thread has the cell.
    let place = unsafe { Foreign::<F, S, M>::place(cell) };
    // SAFETY: as above; room for the future, and empty.
    unsafe { place.write(future) };
    let task = ForeignTask {
        cell,
        types: PhantomData,
    };
    // SAFETY: a new cell is held by a queue and by a handle.
    (unsafe { ForeignRunnable::of(cell) }, task)
}

impl<M> ForeignRunnable<M> {
    /// # Safety
    /// The caller has the queue's part of a cell with this type of metadata, and gives it away.
    unsafe fn of(cell: NonNull<Header>) -> Self {
        Self {
            cell,
            metadata: PhantomData,
        }
    }

    /// What was given to [`spawn_foreign`].
    ///
    /// Example: see [`spawn_foreign`].
    pub fn metadata(&self) -> &M {
        // SAFETY: the queue's part is held, of a cell with this type of metadata.
        unsafe { metadata_of(self.cell) }
    }

    /// Gives the task to its schedule function.
    ///
    /// Example: see [`spawn_foreign`].
    pub fn schedule(self) {
        let cell = self.into_cell();
        // SAFETY: the queue's part was this runnable's.
        unsafe { cell.queue() };
    }

    /// Polls the future, or drops it if the task was cancelled. Returns whether the task was woken meanwhile, and has
    /// been scheduled again.
    ///
    /// # Panics
    /// If the future does, and [`OnPanic::Unwind`] was asked for; the task has ended then.
    ///
    /// Example: see [`spawn_foreign`].
    pub fn run(self) -> bool {
        let end = EndOfRun::default();
        let action = Action::Run(ExecutionId::UNKNOWN);
        // SAFETY: the queue's part was this runnable's.
        unsafe { steps::perform_future(Run(self.into_cell(), &end), action) };
        if let Some(payload) = end.panic.take() {
            resume_unwind(payload);
        }
        end.is_scheduled.get()
    }

    /// A waker of the task.
    ///
    /// Example: see [`spawn_foreign`].
    pub fn waker(&self) -> Waker {
        // SAFETY: the queue's part is held.
        unsafe { new_waker(self.cell) }
    }

    /// The task as a pointer, which must get back to [`from_raw`](Self::from_raw).
    ///
    /// Example: see [`spawn_foreign`].
    pub fn into_raw(self) -> NonNull<()> {
        self.into_cell().cast()
    }

    /// The task that [`into_raw`](Self::into_raw) has returned.
    ///
    /// # Safety
    /// `pointer` is from `into_raw` of this very type, and is used once.
    ///
    /// Example: see [`spawn_foreign`].
    pub unsafe fn from_raw(pointer: NonNull<()>) -> Self {
        // SAFETY: by the caller's promise.
        unsafe { Self::of(pointer.cast()) }
    }

    fn into_cell(self) -> NonNull<Header> {
        ManuallyDrop::new(self).cell
    }
}

impl<M> Drop for ForeignRunnable<M> {
    fn drop(&mut self) {
        let end = EndOfRun::default();
        // SAFETY: the queue's part is held, and ends here.
        unsafe { steps::perform_future(Run(self.cell, &end), Action::GiveBack) };
    }
}

impl<T, M> ForeignTask<T, M> {
    /// What was given to [`spawn_foreign`].
    ///
    /// Example: see [`spawn_foreign`].
    pub fn metadata(&self) -> &M {
        // SAFETY: the handle holds the cell, which has this type of metadata.
        unsafe { metadata_of(self.cell) }
    }

    /// Whether the future is dropped, and the outcome is there, or was taken.
    ///
    /// Example: see [`spawn_foreign`].
    pub fn is_finished(&self) -> bool {
        self.joiner().is_final()
    }

    /// Asks the task to end without an outcome. Unless it has a runnable, it is scheduled once more, to be dropped.
    ///
    /// Example: see [`spawn_foreign`].
    pub fn cancel(&self) {
        // SAFETY: the handle holds the cell.
        unsafe { steps::cancel(self.cell) };
    }

    /// The outcome, once the future is dropped: the value, or its panic. `None` if the task was cancelled, its panic
    /// went elsewhere, or the outcome was taken before.
    ///
    /// Example: see [`spawn_foreign`].
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn poll_outcome(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, Box<dyn Any + Send>>>> {
        let joiner = self.joiner();
        if !joiner.is_final() && joiner.register(context.waker()) {
            // SAFETY: the handle holds the cell.
            let record = &unsafe { self.cell.as_ref() }.record;
            inspect::waits_for_task(&*self, context.waker(), record, self.cell.addr().get());
            return Poll::Pending;
        }
        // SAFETY: 1. the joiner is final, the handle held; 2. the handle was made with the cell's type.
        let outcome = unsafe { cell::take_outcome::<T>(self.cell) };
        Poll::Ready(match outcome {
            Ok(value) => Some(Ok(value)),
            Err(Failure::Panicked(payload)) => Some(Err(payload.into_inner())),
            Err(Failure::Cancelled | Failure::Taken) => None,
        })
    }

    fn joiner(&self) -> &Joiner {
        // SAFETY: the handle holds the cell.
        &unsafe { self.cell.as_ref() }.joiner
    }
}

impl<T, M> Drop for ForeignTask<T, M> {
    fn drop(&mut self) {
        inspect::forget(self);
        // SAFETY: where it is called the future is done, so the outcome belongs to the handle; of the handle's type.
        let take_outcome = || unsafe { cell::take_outcome::<T>(self.cell) };
        // SAFETY: the handle holds its part, and ends here.
        unsafe { steps::drop_handle(self.cell, take_outcome) };
    }
}

impl<M: fmt::Debug> fmt::Debug for ForeignRunnable<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignRunnable")
            .field("metadata", self.metadata())
            .finish_non_exhaustive()
    }
}

impl<T, M: fmt::Debug> fmt::Debug for ForeignTask<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignTask")
            .field("is_finished", &self.is_finished())
            .field("metadata", self.metadata())
            .finish_non_exhaustive()
    }
}

/// The future in its cell, which is written after the cell was made.
#[repr(transparent)]
struct Foreign<F, S, M>(MaybeUninit<F>, PhantomData<(S, M)>);

/// What such a cell holds beside the future.
struct Extra<S, M> {
    metadata: M,
    schedule: S,
    on_panic: OnPanic,
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
        sort: TaskKind::Future,
        work_type: WorkType::future::<F>(),
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
    /// Where the future is.
    ///
    /// # Safety
    /// Only the caller accesses the stage of a cell of this type, and it holds no outcome.
    unsafe fn place(cell: NonNull<Header>) -> *mut F {
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
        // Keeps the cell, and with it the function, until that has returned.
        // SAFETY: the queue's part is the caller's.
        let kept = unsafe { new_waker(cell) };
        // SAFETY: held, of this type.
        let extra = unsafe { Cell::<Self>::extra(cell) };
        // SAFETY: the queue's part is the caller's, which gives it away.
        (extra.schedule)(unsafe { ForeignRunnable::of(cell) }, woken);
        drop(kept);
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
struct EndOfRun {
    panic: std::cell::Cell<Option<Payload>>,
    is_scheduled: std::cell::Cell<bool>,
}

/// A cell in the hands of the thread that runs it.
#[derive(Clone, Copy)]
struct Run<'a>(NonNull<Header>, &'a EndOfRun);

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
        // SAFETY: as above.
        let running = unsafe { cell::record_run(self.0) };
        let mut panic = None;
        // SAFETY: as above.
        let is_over = budget::during_poll(|| unsafe { (kind.poll)(self.0, &mut panic) });
        // SAFETY: as above.
        running.end(is_over, || unsafe { self.state() }.wakers());
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
unsafe fn new_waker(cell: NonNull<Header>) -> Waker {
    // SAFETY: held by the caller.
    unsafe { cell.as_ref() }.state.add_waker();
    // SAFETY: the part was added above.
    unsafe { waker::from_task(cell.as_ptr().cast()) }
}

/// # Safety
/// The caller holds a cell of this file.
unsafe fn foreign_kind(cell: NonNull<Header>) -> &'static ForeignKind {
    // SAFETY: held by the caller.
    let foreign = unsafe { cell.as_ref() }.kind().foreign;
    foreign.expect("a cell that was made here")
}

/// # Safety
/// The caller holds a cell of this file for as long as the reference, with metadata of this type.
unsafe fn metadata_of<'a, M>(cell: NonNull<Header>) -> &'a M {
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

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::{ForeignRunnable, ForeignTask, OnPanic, WokenWhilePolled, spawn_foreign};
    use crate::sync::atomic::{AtomicUsize, Ordering};
    use std::future::{pending, poll_fn, ready};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, mpsc};
    use std::task::{Context, Poll, Waker};
    use std::thread;
    use std::time::Duration;

    /// For a task that never ends.
    const DEADLINE: Duration = Duration::from_secs(60);

    /// Counts how many of what it was given to were dropped.
    #[derive(Clone, Default)]
    struct Drops(Arc<AtomicUsize>);

    struct Dropped(Arc<AtomicUsize>);

    impl Drops {
        fn guard(&self) -> Dropped {
            Dropped(Arc::clone(&self.0))
        }

        fn count(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    type Queue = mpsc::Receiver<(ForeignRunnable<()>, WokenWhilePolled)>;

    fn spawn<F>(
        future: F,
        scheduler: &Drops,
        on_panic: OnPanic,
    ) -> (ForeignRunnable<()>, ForeignTask<F::Output, ()>, Queue)
    where
        F: Future + Send + 'static,
        F::Output: Send,
    {
        let (sender, queue) = mpsc::channel();
        let guard = scheduler.guard();
        let schedule = move |runnable, woken| {
            let _ = &guard;
            let _ = sender.send((runnable, woken));
        };
        // SAFETY: 1., 2. all of it can be sent, the sender by `Sync` of the standard library. 3. Nothing is borrowed.
        let (runnable, task) = unsafe { spawn_foreign(|()| future, schedule, (), on_panic) };
        (runnable, task, queue)
    }

    fn outcome<T>(task: &mut ForeignTask<T, ()>) -> Poll<Option<thread::Result<T>>> {
        task.poll_outcome(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_task_woken_while_it_is_polled_is_scheduled_once_and_says_so() {
        let scheduler = Drops::default();
        let future = poll_fn(|context| {
            context.waker().wake_by_ref();
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        let (runnable, mut task, queue) = spawn(future, &scheduler, OnPanic::Unwind);
        assert!(runnable.run());
        let (runnable, woken) = queue.try_recv().unwrap();
        assert_eq!(woken, WokenWhilePolled::Yes);
        assert!(queue.try_recv().is_err());
        assert!(outcome(&mut task).is_pending());
        drop(runnable);
        assert!(matches!(outcome(&mut task), Poll::Ready(None)));
        assert_eq!(scheduler.count(), 0);
        drop(task);
        assert_eq!(scheduler.count(), 1);
    }

    #[test]
    fn a_cancelled_task_is_scheduled_once_more_to_be_dropped() {
        let (scheduler, dropped) = (Drops::default(), Drops::default());
        let guard = dropped.guard();
        let future = async move {
            let _guard = guard;
            pending::<()>().await;
        };
        let (runnable, mut task, queue) = spawn(future, &scheduler, OnPanic::Unwind);
        let waker = runnable.waker();
        assert!(!runnable.run());
        task.cancel();
        task.cancel();
        let (runnable, woken) = queue.try_recv().unwrap();
        assert_eq!((woken, dropped.count()), (WokenWhilePolled::No, 0));
        assert!(queue.try_recv().is_err() && outcome(&mut task).is_pending());
        assert!(!runnable.run());
        assert_eq!(dropped.count(), 1);
        assert!(matches!(outcome(&mut task), Poll::Ready(None)));
        drop((task, waker));
        assert_eq!(scheduler.count(), 1);
    }

    #[test]
    fn a_panic_goes_where_it_was_asked_to() {
        let scheduler = Drops::default();
        let fails = || poll_fn(|_| -> Poll<()> { panic!("no") });
        let (runnable, mut task, _queue) = spawn(fails(), &scheduler, OnPanic::Unwind);
        let panic = catch_unwind(AssertUnwindSafe(|| runnable.run())).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"no"));
        assert!(matches!(outcome(&mut task), Poll::Ready(None)));
        let (runnable, mut task, _queue) = spawn(fails(), &scheduler, OnPanic::Keep);
        assert!(!runnable.run());
        let Poll::Ready(Some(Err(panic))) = outcome(&mut task) else {
            panic!("the panic is the outcome");
        };
        assert_eq!(panic.downcast_ref(), Some(&"no"));
    }

    #[test]
    fn a_generator_that_panics_leaves_nothing_behind() {
        let (scheduler, metadata) = (Drops::default(), Drops::default());
        let guard = scheduler.guard();
        let schedule = move |_: ForeignRunnable<Dropped>, _| {
            let _ = &guard;
        };
        let fails = |_: &Dropped| -> std::future::Ready<()> { panic!("no") };
        // SAFETY: all of it can be sent, and borrows nothing.
        let spawned = catch_unwind(AssertUnwindSafe(|| unsafe {
            spawn_foreign(fails, schedule, metadata.guard(), OnPanic::Unwind)
        }));
        assert!(spawned.is_err());
        assert_eq!((scheduler.count(), metadata.count()), (1, 1));
    }

    #[test]
    fn metadata_is_found_whatever_the_alignment_of_the_rest() {
        #[repr(align(128))]
        struct Aligned(u8);
        let aligned = Aligned(7);
        assert_eq!(aligned.0, 7);
        let schedule = move |_: ForeignRunnable<u16>, _| {
            std::hint::black_box(&aligned);
        };
        // SAFETY: all of it can be sent, and borrows nothing but the metadata.
        let (runnable, task) =
            unsafe { spawn_foreign(|_| ready(Aligned(9)), schedule, 0x1234_u16, OnPanic::Unwind) };
        assert_eq!((*runnable.metadata(), *task.metadata()), (0x1234, 0x1234));
        drop(runnable);
        assert_eq!(*task.metadata(), 0x1234);
    }

    #[test]
    fn wakes_cancellations_runs_and_drops_that_meet_drop_each_part_once() {
        const ROUNDS: usize = if cfg!(miri) { 20 } else { 2_000 };
        let (scheduler, futures, outputs) = (Drops::default(), Drops::default(), Drops::default());
        for round in 0..ROUNDS {
            let (future_guard, output) = (futures.guard(), outputs.guard());
            let mut parts = Some((future_guard, output));
            let mut polls = 0;
            let future = poll_fn(move |_| {
                polls += 1;
                if polls < 3 {
                    return Poll::Pending;
                }
                let (guard, output) = parts.take().expect("not polled again");
                drop(guard);
                Poll::Ready(output)
            });
            let (runnable, task, queue) = spawn(future, &scheduler, OnPanic::Keep);
            let wakers = [runnable.waker(), runnable.waker(), runnable.waker()];
            thread::scope(|threads| {
                threads.spawn(move || {
                    runnable.run();
                    while let Ok((runnable, _)) = queue.recv_timeout(DEADLINE) {
                        if round % 7 == 3 {
                            drop(runnable);
                        } else {
                            runnable.run();
                        }
                    }
                });
                threads.spawn(move || {
                    for waker in wakers {
                        if round % 2 == 0 {
                            waker.wake_by_ref();
                        }
                        waker.wake();
                    }
                });
                let mut task = task;
                let _ = outcome(&mut task);
                if round % 3 == 0 {
                    task.cancel();
                }
                drop(task);
            });
            let all = round + 1;
            assert_eq!(
                (scheduler.count(), futures.count(), outputs.count()),
                (all, all, all)
            );
        }
    }
}
