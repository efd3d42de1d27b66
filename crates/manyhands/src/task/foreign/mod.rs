//! Futures in our cells that another library's executor polls, where and when it likes.
//!
//! In place of our queues such a task has a function of the executor's, which gets the queue's part of the cell as a
//! [`ForeignRunnable`]. Words and steps are those of every task: the handle, wakers and the runner meet in the same
//! way. Such a task belongs to no runtime: it is in no registry, and no worker shows that it runs it.
//!
//! Not here: what lies in such a cell, and how it is run (`work.rs`); the interface of such a library (the façades in
//! `compat`).
//!
//! Unsafe: the parts go to other threads, and what a future borrows is the executor's business.

mod work;

use crate::job::{Action, ExecutionId, block, catch, contain};
use crate::recording;
use crate::task::cell::{self, Cell, Failure, HandlePart, Header, QueuePart};
use crate::task::steps::{self, TaskCell};
use crate::task::waker;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{Location, resume_unwind};
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};
use work::{EndOfRun, Extra, Foreign, metadata_of};

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
    /// Until it is run, dropped or given away.
    part: Option<QueuePart>,
    metadata: PhantomData<M>,
}

/// The handle of a task. Dropping it detaches the task.
///
/// Example: see [`spawn_foreign`].
pub struct ForeignTask<T, M> {
    part: HandlePart<T>,
    metadata: PhantomData<M>,
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
    let work = Foreign::<F, S, M>::new();
    let (queued, handle) = cell::allocate(work, extra, Location::caller());
    // SAFETY: a new cell of this type. The future, which alone has the reference, is dropped before the cell is freed.
    let metadata: &'a M = unsafe { metadata_of(queued.cell()) };
    let future = match catch(|| generate(metadata)) {
        Ok(future) => future,
        Err(payload) => {
            queued.record.ended();
            let _released = ManuallyDrop::new(handle);
            let cell = queued.into_raw().cast::<Cell<Foreign<F, S, M>>>();
            // SAFETY: allocated above, with this type; nobody else has it, and neither future nor outcome are there.
            contain(|| unsafe { block::dispose(cell) });
            resume_unwind(payload)
        }
    };
    // SAFETY: only this thread has the cell, which is of this type and has no future yet.
    unsafe { Foreign::<F, S, M>::place(queued.cell(), future) };
    let task = ForeignTask {
        part: handle,
        metadata: PhantomData,
    };
    (ForeignRunnable::of(queued), task)
}

impl<M> ForeignRunnable<M> {
    /// Of a cell with this type of metadata.
    fn of(part: QueuePart) -> Self {
        Self {
            part: Some(part),
            metadata: PhantomData,
        }
    }

    /// What was given to [`spawn_foreign`].
    ///
    /// Example: see [`spawn_foreign`].
    pub fn metadata(&self) -> &M {
        // SAFETY: of a cell with this type of metadata.
        unsafe { metadata_of(self.part().cell()) }
    }

    /// Gives the task to its schedule function.
    ///
    /// Example: see [`spawn_foreign`].
    pub fn schedule(mut self) {
        Header::queue(self.take());
    }

    /// Polls the future, or drops it if the task was cancelled. Returns whether the task was woken meanwhile, and has
    /// been scheduled again.
    ///
    /// # Panics
    /// If the future does, and [`OnPanic::Unwind`] was asked for; the task has ended then.
    ///
    /// Example: see [`spawn_foreign`].
    pub fn run(mut self) -> bool {
        let end = EndOfRun::default();
        let action = Action::Run(ExecutionId::UNKNOWN);
        steps::perform_future(self.take(), &end, action);
        if let Some(payload) = end.panic.take() {
            resume_unwind(payload);
        }
        end.is_scheduled.get()
    }

    /// A waker of the task.
    ///
    /// Example: see [`spawn_foreign`].
    pub fn waker(&self) -> Waker {
        waker::from_part(self.part().cell().new_waker())
    }

    /// The task as a pointer, which must get back to [`from_raw`](Self::from_raw).
    ///
    /// Example: see [`spawn_foreign`].
    pub fn into_raw(mut self) -> NonNull<()> {
        self.take().into_raw().cast()
    }

    /// The task that [`into_raw`](Self::into_raw) has returned.
    ///
    /// # Safety
    /// `pointer` is from `into_raw` of this very type, and is used once.
    ///
    /// Example: see [`spawn_foreign`].
    pub unsafe fn from_raw(pointer: NonNull<()>) -> Self {
        // SAFETY: by the caller's promise.
        Self::of(unsafe { QueuePart::from_raw(pointer.cast()) })
    }

    fn part(&self) -> &QueuePart {
        self.part
            .as_ref()
            .expect("taken only where the runnable ends")
    }

    fn take(&mut self) -> QueuePart {
        self.part.take().expect("taken once")
    }
}

impl<M> Drop for ForeignRunnable<M> {
    fn drop(&mut self) {
        if let Some(part) = self.part.take() {
            steps::perform_future(part, &EndOfRun::default(), Action::Discard);
        }
    }
}

impl<T, M> ForeignTask<T, M> {
    /// What was given to [`spawn_foreign`].
    ///
    /// Example: see [`spawn_foreign`].
    pub fn metadata(&self) -> &M {
        // SAFETY: of a cell with this type of metadata.
        unsafe { metadata_of(self.part.cell()) }
    }

    /// Whether the future is dropped, and the outcome is there, or was taken.
    ///
    /// Example: see [`spawn_foreign`].
    pub fn is_finished(&self) -> bool {
        self.part.joiner.is_final()
    }

    /// Asks the task to end without an outcome. Unless it has a runnable, it is scheduled once more, to be dropped.
    ///
    /// Example: see [`spawn_foreign`].
    pub fn cancel(&self) {
        self.part.cell().cancel();
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
        Poll::Ready(match self.part.poll_outcome(context.waker()) {
            Poll::Ready(Ok(value)) => Some(Ok(value)),
            Poll::Ready(Err(Failure::Panicked(payload))) => Some(Err(payload.into_inner())),
            Poll::Ready(Err(Failure::Cancelled | Failure::Taken)) => None,
            Poll::Pending => {
                let id = self.part.cell().id();
                recording::waits_for_task(&*self, context.waker(), &self.part.record, id);
                return Poll::Pending;
            }
        })
    }
}

impl<T, M> Drop for ForeignTask<T, M> {
    fn drop(&mut self) {
        recording::forget_task(self, self.part.cell().id());
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
