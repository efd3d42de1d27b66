//! Groups of tasks: one call waits for all of them, gathers their results or cancels them.
//!
//! Not here: scopes, whose futures may borrow because the call waits for them (`scope.rs`, `try_scope.rs`).

use crate::recording::Site;
use crate::task::{GroupWaker, JoinError, JoinHandle, WhenEach, builder};
use futures_core::Stream;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A group of tasks: waiting for the group waits for all of them, and dropping it cancels them.
///
/// The results are gathered all together ([`wait`](Self::wait)), one by one as the tasks end
/// ([`next`](Self::next)), or until the first failure ([`try_wait`](TaskGroup::try_wait)).
///
/// # Dropping
/// The drop cancels the tasks that have not ended, and does not wait for them: a worker drops each of them, at its next
/// suspension at the latest. To wait for that, call [`abort_all`](Self::abort_all) and then `wait`.
///
/// # Examples
/// ```
/// use manyhands::task;
/// task::block_on(async {
///     let mut group = task::TaskGroup::new();
///     assert!(group.is_empty());
///     for i in 0..3 {
///         group.spawn(async move { i * i });
///     }
///     assert_eq!(group.len(), 3);
///     let squares: Result<Vec<_>, _> = group.wait().await.into_iter().collect();
///     assert_eq!(squares.unwrap(), [0, 1, 4]);
/// });
/// ```
#[doc(alias("JoinSet", "nursery"))]
#[derive(Debug)]
pub struct TaskGroup<T> {
    tasks: WhenEach<T>,
}

impl<T: Send + 'static> TaskGroup<T> {
    /// An empty group.
    ///
    /// Example: see [`TaskGroup`].
    #[must_use]
    pub fn new() -> Self {
        let tasks = WhenEach::default();
        Self { tasks }
    }

    /// An empty group with a name, for a look at the running program with the feature `inspect`: a task that waits for the
    /// group waits for this name. Otherwise it is not kept.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, TaskGroup};
    /// let mut requests = TaskGroup::named("requests");
    /// requests.spawn(async { 7 });
    /// assert_eq!(task::block_on(requests.wait()).len(), 1);
    /// ```
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        let tasks = WhenEach::named(name.into());
        Self { tasks }
    }

    /// Spawns a future on the current runtime as a task of this group.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, TaskGroup};
    /// let mut group = TaskGroup::new();
    /// for n in 0..3 {
    ///     group.spawn(async move { n * n });
    /// }
    /// assert_eq!(task::block_on(group.wait()).len(), 3);
    /// ```
    #[track_caller]
    pub fn spawn(&mut self, future: impl Future<Output = T> + Send + 'static) {
        self.push(builder::spawn((), future));
    }

    /// Runs a closure on the current runtime as a task of this group.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, TaskGroup};
    /// let mut group = TaskGroup::new();
    /// for n in 1..=3_u64 {
    ///     group.run(move || (1..=n).product::<u64>());
    /// }
    /// let results = task::block_on(group.wait());
    /// assert_eq!(results.into_iter().map(Result::unwrap).sum::<u64>(), 9);
    /// ```
    #[doc(alias = "spawn_blocking")]
    #[track_caller]
    pub fn run(&mut self, closure: impl FnOnce() -> T + Send + 'static) {
        self.push(builder::run((), closure));
    }

    /// Adds an existing task to this group.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, TaskGroup};
    /// let mut group = TaskGroup::new();
    /// group.push(task::Builder::new().name("first").spawn(async { 1 }));
    /// assert_eq!(group.len(), 1);
    /// assert_eq!(task::block_on(group.wait()).len(), 1);
    /// ```
    pub fn push(&mut self, task: JoinHandle<T>) {
        self.tasks.push(task);
    }
}

impl<T> TaskGroup<T> {
    /// How many results have not been returned.
    ///
    /// Example: see [`TaskGroup`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.waiting()
    }

    /// Whether every result has been returned.
    ///
    /// Example: see [`TaskGroup`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.waiting() == 0
    }

    /// Asks all tasks to end without a result; see [`JoinHandle::abort`].
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, TaskGroup};
    /// let mut group = TaskGroup::new();
    /// group.spawn(std::future::pending::<()>());
    /// group.abort_all();
    /// let results = task::block_on(group.wait());
    /// assert!(results[0].as_ref().unwrap_err().is_cancelled());
    /// ```
    #[doc(alias = "cancel")]
    pub fn abort_all(&self) {
        self.abort_from(0);
    }

    /// As [`abort_all`](Self::abort_all), of the tasks that were added `first`th or later.
    pub(crate) fn abort_from(&self, first: usize) {
        let later = self.tasks.handles().filter(|(index, _)| *index >= first);
        later.for_each(|(_, handle)| handle.abort());
    }

    /// Waits for the next task that ends, and returns its result with its place in the order of spawning; `None` when
    /// every result has been returned.
    ///
    /// # Cancellation
    /// Dropping the future loses no result.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, TaskGroup};
    /// task::block_on(async {
    ///     let mut group = TaskGroup::new();
    ///     for n in 0..3 {
    ///         group.spawn(async move { n * 10 });
    ///     }
    ///     while let Some((index, result)) = group.next().await {
    ///         assert_eq!(result.unwrap(), index * 10);
    ///     }
    /// });
    /// ```
    #[doc(alias = "join_next")]
    #[expect(
        clippy::should_implement_trait,
        reason = "it returns a future, and no iterator has that"
    )]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn next(&mut self) -> impl Future<Output = Option<(usize, Result<T, JoinError>)>> {
        self.tasks.next()
    }

    /// Wakes who waits for the next of these tasks, as its end would.
    pub(crate) fn waker(&self) -> GroupWaker {
        self.tasks.waker()
    }

    /// As [`next`](Self::next), for a future written by hand.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<(usize, Result<T, JoinError>)>> {
        Pin::new(&mut self.tasks).poll_next(context)
    }

    /// Waits for all tasks, and returns the results that [`next`](Self::next) has not returned, in the order in which
    /// the tasks were spawned. Failures are among them.
    ///
    /// # Cancellation
    /// Dropping the future drops the group.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, TaskGroup};
    /// let mut group = TaskGroup::new();
    /// group.spawn(async { "many" });
    /// group.spawn(async { "hands" });
    /// let words: Result<Vec<_>, _> = task::block_on(group.wait()).into_iter().collect();
    /// assert_eq!(words.unwrap(), ["many", "hands"]);
    /// ```
    #[doc(alias = "join_all")]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn wait(mut self) -> impl Future<Output = Vec<Result<T, JoinError>>> {
        let site = Site::here();
        async move {
            let mut results = Vec::new();
            while let Some(result) = self.tasks.next_on(site).await {
                results.push(result);
            }
            results.sort_unstable_by_key(|(index, _)| *index);
            results.into_iter().map(|(_, result)| result).collect()
        }
    }
}

impl<T, E> TaskGroup<Result<T, E>> {
    /// Waits for all tasks, and returns their values in the order in which they were spawned. The first failure cancels
    /// the other tasks; the call still waits until all of them have ended.
    ///
    /// # Errors
    /// [`GroupError`]: the first failure.
    ///
    /// # Cancellation
    /// Dropping the future drops the group.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task::{self, TaskGroup};
    /// task::block_on(async {
    ///     let mut group = TaskGroup::new();
    ///     group.spawn(async { "12".parse::<u32>() });
    ///     group.spawn(async { "none".parse::<u32>() });
    ///     group.spawn(std::future::pending());
    ///     let error = group.try_wait().await.unwrap_err();
    ///     assert_eq!(error.index(), 1);
    /// });
    /// ```
    #[doc(alias = "try_join_all")]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn try_wait(mut self) -> impl Future<Output = Result<Vec<T>, GroupError<E>>> {
        let site = Site::here();
        async move {
            let mut values = Vec::new();
            let mut first_failure = None;
            while let Some((index, result)) = self.tasks.next_on(site).await {
                let failure = match result {
                    Ok(Ok(value)) => {
                        values.push((index, value));
                        continue;
                    }
                    Ok(Err(error)) => GroupError::Failed(index, error),
                    Err(error) => GroupError::Ended(index, error),
                };
                if first_failure.is_none() {
                    first_failure = Some(failure);
                    self.abort_all();
                }
            }
            if let Some(failure) = first_failure {
                // First: the compiler leaks what is returned if a drop panics after that.
                drop(values);
                return Err(failure);
            }
            values.sort_unstable_by_key(|(index, _)| *index);
            Ok(values.into_iter().map(|(_, value)| value).collect())
        }
    }
}

/// Spawns each future into a new group.
///
/// # Examples
/// ```
/// use manyhands::task::{self, TaskGroup};
/// let group: TaskGroup<u32> = (0..3).map(|n| async move { n * n }).collect();
/// let squares = task::block_on(group.wait()).into_iter().map(Result::unwrap);
/// assert!(squares.eq([0, 1, 4]));
/// ```
impl<F> FromIterator<F> for TaskGroup<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut group = Self::new();
        group.extend(futures);
        group
    }
}

/// Spawns each future into the group.
impl<F> Extend<F> for TaskGroup<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    #[track_caller]
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        futures.into_iter().for_each(|future| self.spawn(future));
    }
}

impl<T: Send + 'static> Default for TaskGroup<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for TaskGroup<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

/// The first failure of a group, or of a scope: which task failed, in the order of spawning, and how.
///
/// # Examples
/// ```
/// use manyhands::task::{self, GroupError, TaskGroup};
/// let mut group = TaskGroup::new();
/// group.spawn(async { "12".parse::<u8>() });
/// group.spawn(async { "300".parse::<u8>() });
/// let error = task::block_on(group.try_wait()).unwrap_err();
/// assert_eq!(error.index(), 1);
/// assert!(matches!(error, GroupError::Failed(1, _))); // it did not panic
/// ```
#[derive(Debug)]
pub enum GroupError<E> {
    /// This task returned an error.
    Failed(usize, E),
    /// This task panicked or was cancelled.
    Ended(usize, JoinError),
}

impl<E> GroupError<E> {
    /// The place of the task in the order of spawning.
    ///
    /// Example: see [`GroupError`].
    #[must_use]
    pub fn index(&self) -> usize {
        let (Self::Failed(index, _) | Self::Ended(index, _)) = self;
        *index
    }
}

impl<E: fmt::Display> fmt::Display for GroupError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} of the group failed: ", self.index())?;
        match self {
            Self::Failed(_, error) => error.fmt(f),
            Self::Ended(_, error) => error.fmt(f),
        }
    }
}

/// What a task returned need not be an error, and its text is part of this one's.
impl<E: fmt::Debug + fmt::Display> Error for GroupError<E> {
    /// The [`JoinError`] of a task that panicked or was cancelled.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(..) => None,
            Self::Ended(_, error) => Some(error),
        }
    }
}
