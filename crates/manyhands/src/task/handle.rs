//! The handle of a task.
//!
//! Unsafe: the handle goes to other threads with its part of the cell.

use crate::recording::{self, Awaited, TaskRecord};
use crate::runtime::{OccupiedSlot, WorkerSlot, current, refused_starts, wait};
use crate::task::abort_handle::AbortHandle;
use crate::task::cell::{CellRef, HandlePart};
use crate::task::name::TaskKind;
use crate::task::{JoinError, budget, closure};
use futures_core::future::FusedFuture;
use std::fmt;
use std::num::NonZeroUsize;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

/// Waits for the result of a task: blocking, by [`join`](Self::join), or as a future.
///
/// Dropping it detaches the task, which runs all the same; [`abort`](Self::abort) asks the task to end.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let outer = task::spawn(async {
///     let inner = task::run(|| 6 * 7);
///     inner.await.unwrap()
/// });
/// assert_eq!(outer.join().unwrap(), 42);
/// ```
///
/// # Panics
/// As a future, when it is polled again after it has given its result.
#[doc(alias = "Task")]
pub struct JoinHandle<T> {
    pub(super) part: HandlePart<T>,
}

/// Identifies a task. No two existing tasks have the same id. The id of a task that has ended and whose handle is
/// dropped may be used again.
///
/// # Examples
/// ```
/// use manyhands::task::{self, TaskId};
/// use std::collections::HashMap;
/// let tasks = ["many", "hands"].map(|word| (word, task::run(|| word.len())));
/// let words: HashMap<TaskId, &str> = tasks.iter().map(|(word, task)| (task.id(), *word)).collect();
/// let [(_, first), (_, second)] = tasks;
/// assert_eq!((words[&first.id()], words[&second.id()]), ("many", "hands"));
/// # assert_eq!(first.join().unwrap() + second.join().unwrap(), 9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(NonZeroUsize);

impl TaskId {
    /// Of the task in this cell.
    pub(super) fn of(cell: CellRef<'_>) -> Self {
        Self(cell.as_ptr().addr())
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

// SAFETY: the pointer forbids it; the cell behind it is shared by the state word's rules, and the result
// that moves through it is `Send`.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: as above; a shared handle only reads the task's state, and cancels it.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

// The result is not in the handle.
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Whether the task has ended: finished, panicked or cancelled.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{channel, task};
    /// let (sender, receiver) = channel::bounded(1);
    /// let handle = task::spawn(async move { receiver.recv().await });
    /// assert!(!handle.is_finished());
    /// sender.send_blocking(1).unwrap();
    /// assert_eq!(handle.join().unwrap(), Ok(1));
    /// ```
    #[doc(alias = "IsCompleted")]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.part.joiner.is_final()
    }

    /// The task's number.
    ///
    /// Example: see [`TaskId`].
    #[must_use]
    pub fn id(&self) -> TaskId {
        TaskId::of(self.part.cell())
    }

    /// The name it was given by [`Builder::name`](super::Builder::name).
    ///
    /// Example: see [`Builder`](super::Builder).
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.part.cell().name()
    }

    /// Where the task was spawned.
    ///
    /// # Examples
    /// ```
    /// let handle = manyhands::task::run(|| ());
    /// assert!(handle.location().file().ends_with(".rs"));
    /// # handle.join().unwrap();
    /// ```
    #[must_use]
    pub fn location(&self) -> &'static Location<'static> {
        self.part.location
    }

    /// Asks the task to end without a result, and returns at once.
    ///
    /// A future is dropped where tasks run, at its next suspension at the latest; never while it is being
    /// polled, and never by this call. A closure that has not started is dropped; one that runs continues.
    /// The task ends with an error that [is cancelled](JoinError::is_cancelled), unless it ended first.
    /// A [`TokenSource`](crate::cancel::TokenSource) only asks: its `cancel` drops nothing, and the code that looks at the
    /// token ends by itself.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task;
    /// let handle = task::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(handle.join().unwrap_err().is_cancelled());
    /// ```
    #[doc(alias = "cancel")]
    pub fn abort(&self) {
        self.part.cell().cancel();
    }

    /// Returns a handle that can cancel the task while other code holds this one.
    ///
    /// Example: see [`AbortHandle`].
    #[must_use]
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle::of(self.part.cell())
    }

    /// Waits for the task and returns its result.
    ///
    /// # Blocking
    /// A closure that has not been started yet runs on the calling thread, if that belongs to a pool, or if
    /// the system has refused threads for 0.3 s and there is none. That may be another pool than the closure's, whose
    /// runtime is then the closure's current one. Only its own pool runs a future, which waits while there is no thread.
    /// Otherwise the caller waits and helps only with this task's own forks and loops. While it
    /// sleeps another worker runs in its place. Inside a future, await the handle instead.
    ///
    /// # Errors
    /// [`JoinError`] when the task panicked, was cancelled, or was dropped because its runtime was shut
    /// down.
    ///
    /// # Panics
    /// Where the system has refused every thread of the runtime for ten seconds while work waits for one
    /// ([`RuntimeBuilder::build`](crate::RuntimeBuilder::build)). And on the worker of a [local task](super::spawn_local()) that has not
    /// ended: it would wait for itself. The task goes on.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task;
    /// assert_eq!(task::run(|| 6 * 7).join().unwrap(), 42);
    /// # std::panic::set_hook(Box::new(|_| ()));
    /// let failed = task::run(|| panic!("no")).join();
    /// assert!(failed.unwrap_err().is_panic());
    /// ```
    #[doc(alias("Wait", "Result"))]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn join(mut self) -> Result<T, JoinError> {
        assert!(
            !self.waits_for_caller(),
            "`join` was called on the worker that alone can run this local task: await the handle instead"
        );
        let pool_slot = current::slot_of_runtime();
        // Before it is run in place, because the calling task waits for it then, too.
        let _recorded = recording::thread_waits_for_task(self.record(), self.part.cell().id());
        // If the system keeps refusing threads, perhaps no other thread will run it.
        let in_place = (pool_slot.is_some()
            || refused_starts::must_help_itself(|| self.is_finished()))
            && self.part.vtable().kind == TaskKind::Closure
            && closure::run_in_place(&mut self.part.0);
        if !in_place {
            match pool_slot {
                Some((slot, _)) => self.wait_on(slot),
                None => WorkerSlot::borrow_to_wait(|slot| self.wait_on(slot)),
            }
        }
        let Poll::Ready(outcome) = self.part.poll_outcome(Waker::noop()) else {
            unreachable!("the task has ended");
        };
        outcome
    }

    /// Whether only the calling thread can run what is left of the task.
    fn waits_for_caller(&self) -> bool {
        self.part.vtable().kind == TaskKind::LocalFuture
            && !self.is_finished()
            && self.part.cell().label().home == current::worker().map(|(slot, _)| slot.number)
    }

    fn wait_on(&self, slot: &'static OccupiedSlot) {
        let joiner = &self.part.joiner;
        wait::for_task(slot, &|| joiner.is_final(), &|| joiner.runner(), &|| {
            joiner.fall_asleep(slot.number)
        });
    }

    /// What a wait for the task waits for.
    fn awaited(&self) -> Awaited<'_> {
        Awaited::Task(self.record(), self.part.cell().id())
    }

    /// What is recorded of the task.
    pub(super) fn record(&self) -> &TaskRecord {
        &self.part.record
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let permit = ready!(budget::poll_proceed(context));
        let Poll::Ready(outcome) = self.part.poll_outcome(context.waker()) else {
            recording::waits(&*self, context.waker(), || self.awaited());
            return Poll::Pending;
        };
        permit.charge();
        Poll::Ready(outcome)
    }
}

impl<T> FusedFuture for JoinHandle<T> {
    fn is_terminated(&self) -> bool {
        self.part.joiner.is_taken()
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        recording::forget_moved(self, || self.awaited());
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle")
            .field("id", &format_args!("{}", self.id()))
            .field("name", &self.name())
            .field("location", &format_args!("{}", self.location()))
            .field("is_finished", &self.is_finished())
            .finish()
    }
}
