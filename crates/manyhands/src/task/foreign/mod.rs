//! Futures in our cells that another library's executor polls, where and when it likes.
//!
//! In place of our queues such a task has a function of the executor's, which gets the queue's part of the cell as a
//! [`ForeignRunnable`]. Words and steps are those of every task: the handle, wakers and the runner meet in the same
//! way. Such a task belongs to no runtime: it is in no registry, and no worker shows that it runs it.
//!
//! Not here: what lies in such a cell, and how it is run (`work.rs`); the interface of such a library (the façades in
//! `compat`).
//!
//! Unsafe: cells are reached by pointer, and what a future borrows is the executor's business.

mod work;

use crate::job::{Action, ExecutionId, block, catch, contain};
use crate::recording;
use crate::task::cell::{self, Cell, Failure, Header};
use crate::task::joiner::Joiner;
use crate::task::steps::{self, Held};
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{Location, resume_unwind};
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};
use work::{EndOfRun, Extra, Foreign, Run, metadata_of, new_waker};

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
///    output is, so is the [`ForeignTask`]. 2. Unless `schedule` and `metadata` are `Send` and `Sync`, the runnables, the
///    wakers and the handle are used and dropped on the calling thread. 3. What the future borrows lives until the last runnable of the
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
    let cell = cell::allocate(Foreign::<F, S, M>::new(), extra, Location::caller());
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
        unsafe { steps::perform_future(Run(self.cell, &end), Action::Discard) };
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
            recording::waits_for_task(&*self, context.waker(), record, self.cell.addr().get());
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
        recording::forget_task(self, self.cell.addr().get());
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

#[cfg(all(test, not(shuttle)))]
mod tests;
