//! The handle of a task.

use manyhands::facade::ForeignTask;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits for a task's output, as a future.
///
/// Dropping it cancels the task, which is then dropped where it runs. [`detach`](Self::detach) lets it run on.
///
/// # Panics
/// When it is polled after it has returned the output, and when the task was cancelled by the drop of its
/// [`Runnable`](crate::Runnable) or has panicked; a panic that was
/// [to be propagated](crate::Builder::propagate_panic) goes on here.
///
/// # Examples
/// ```
/// let spawn = || async_task::spawn(async { 42 }, |runnable: async_task::Runnable| { runnable.run(); });
/// let (runnable, task) = spawn();
/// runnable.schedule();
/// assert!(task.is_finished());
/// assert_eq!(smol::block_on(task), 42);
/// let (runnable, task) = spawn();
/// runnable.run();
/// assert_eq!(smol::block_on(task.cancel()), Some(42), "too late");
/// ```
#[must_use = "a task that is dropped is cancelled; `detach` lets it run on"]
pub struct Task<T, M = ()> {
    /// `None` when the task was detached.
    handle: Option<ForeignTask<T, M>>,
}

impl<T, M> Unpin for Task<T, M> {}
impl<T, M> UnwindSafe for Task<T, M> {}
impl<T, M> RefUnwindSafe for Task<T, M> {}

impl<T, M> Task<T, M> {
    pub(crate) fn new(handle: ForeignTask<T, M>) -> Self {
        Self {
            handle: Some(handle),
        }
    }

    fn handle(&self) -> &ForeignTask<T, M> {
        self.handle
            .as_ref()
            .expect("taken only by what consumes the task")
    }

    /// Lets the task run without a handle. Its output is dropped.
    pub fn detach(mut self) {
        drop(self.handle.take());
    }

    /// Cancels the task and waits until its future is dropped. Returns the output if it has ended before.
    ///
    /// # Panics
    /// If the task has ended by a panic that is propagated.
    pub async fn cancel(self) -> Option<T> {
        self.handle().cancel();
        self.fallible().await
    }

    /// A handle that returns `None` where this one panics because there is no output.
    pub fn fallible(self) -> FallibleTask<T, M> {
        FallibleTask { task: self }
    }

    /// Whether the task has ended, however it did.
    pub fn is_finished(&self) -> bool {
        self.handle().is_finished()
    }

    /// What the task was given by [`Builder::metadata`](crate::Builder::metadata).
    pub fn metadata(&self) -> &M {
        self.handle().metadata()
    }

    fn poll_output(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        let handle = self
            .handle
            .as_mut()
            .expect("taken only by what consumes the task");
        handle.poll_outcome(context).map(|outcome| {
            outcome.map(|result| result.unwrap_or_else(|payload| resume_unwind(payload)))
        })
    }
}

impl<T, M> Future for Task<T, M> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.poll_output(context)
            .map(|output| output.expect("the task has an output, and it was not taken before"))
    }
}

impl<T, M> Drop for Task<T, M> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            handle.cancel();
        }
    }
}

impl<T, M: fmt::Debug> fmt::Debug for Task<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("is_finished", &self.is_finished())
            .field("metadata", self.metadata())
            .finish_non_exhaustive()
    }
}

/// A [`Task`] that returns `None` when there is no output: after a cancellation, a panic, or a second poll.
///
/// # Examples
/// ```
/// let (runnable, task) = async_task::spawn(async { 42 }, |runnable: async_task::Runnable| drop(runnable));
/// drop(runnable);
/// assert_eq!(smol::block_on(task.fallible()), None);
/// ```
#[must_use = "a task that is dropped is cancelled; `detach` lets it run on"]
pub struct FallibleTask<T, M = ()> {
    task: Task<T, M>,
}

impl<T, M> FallibleTask<T, M> {
    /// See [`Task::detach`].
    pub fn detach(self) {
        self.task.detach();
    }

    /// See [`Task::cancel`].
    pub async fn cancel(self) -> Option<T> {
        self.task.cancel().await
    }

    /// See [`Task::is_finished`].
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl<T, M> Future for FallibleTask<T, M> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.task.poll_output(context)
    }
}

impl<T, M: fmt::Debug> fmt::Debug for FallibleTask<T, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FallibleTask")
            .field("is_finished", &self.is_finished())
            .field("metadata", self.task.metadata())
            .finish_non_exhaustive()
    }
}
