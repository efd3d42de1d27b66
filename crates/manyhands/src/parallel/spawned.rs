//! Loops in a task of their own: an async caller awaits them, and a handle observes and cancels them.
//!
//! Not here: loops whose bodies are futures (`async_loop/`).
//!
//! # Ordering
//! The count of items says how far the loops are and guards nothing, hence Relaxed. What bodies write is published by
//! the end of the task.

use crate::cancel::{Cancelled, Token, TokenSource};
use crate::engine::{Ending, Watch, limit_each};
use crate::parallel::Options;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::task::{self, AbortHandle, JoinHandle};
use futures_core::future::FusedFuture;
use std::fmt;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Runs `body`, which calls loops, in a task, and returns a future of its result: async code awaits loops that
/// would otherwise block it.
///
/// The body owns its data. Loops that it calls on the options it gets can be cancelled and observed by
/// [`handle`](SpawnedLoop::handle), and are cancelled when the future is dropped; so they return a `Result`. The body may
/// refine the options, by [`degree_of_parallelism`](Options::degree_of_parallelism) for instance.
///
/// # Priority
/// [`task::Builder::spawn_loop`] spawns it with a name and a priority, which decides when the body begins, where other
/// tasks wait, too. Once it runs, workers help its loops as they help any other, whatever its priority.
///
/// # Cost
/// A task, and an allocation. The options' loops look for a cancellation before each item, and count items by the block.
///
/// # Cancellation
/// Dropping the future cancels it: no item begins any more, those that run end. A body that has not begun then never does.
///
/// # Panics
/// When it is awaited, if the body has panicked: that panic resumes. Also if the runtime was shut down before the body
/// began.
///
/// # Examples
/// ```
/// use manyhands::{cancel::Cancelled, parallel, task};
///
/// async fn lengths(words: Vec<String>) -> Result<Vec<usize>, Cancelled> {
///     parallel::spawn_loop(move |options| options.map(words, |word| word.len())).await
/// }
/// let words = vec!["many".to_owned(), "hands".to_owned()];
/// assert_eq!(task::block_on(lengths(words)), Ok(vec![4, 5]));
/// ```
///
/// A vector that is changed in place, and progress:
/// ```
/// use manyhands::{cancel::Cancelled, parallel, task};
///
/// let mut numbers: Vec<u64> = (0..1_000).collect();
/// let doubling = parallel::spawn_loop(move |options| {
///     options.for_each(&mut numbers, |n| *n *= 2)?;
///     Ok::<_, Cancelled>(numbers)
/// });
/// let handle = doubling.handle();
/// let doubled = task::block_on(doubling)?;
/// assert_eq!((handle.done(), doubled[999]), (1_000, 1_998));
/// # Ok::<(), Cancelled>(())
/// ```
#[doc(alias("spawn_map", "spawn_for_each", "spawn_blocking", "rayon::spawn"))]
#[doc(alias = "Task.Run")]
#[track_caller]
pub fn spawn_loop<T: Send + 'static>(
    body: impl for<'a> FnOnce(Options<'a, Spawned<'a>>) -> T + Send + 'static,
) -> SpawnedLoop<T> {
    task::Builder::new().spawn_loop(body)
}

impl task::Builder {
    /// As [`parallel::spawn_loop`](spawn_loop), with this name and priority.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let background = task::Builder::new().name("index").priority(task::Priority::Background);
    /// let index = background.spawn_loop(|options| options.map(0..100_u32, |n| n / 10));
    /// assert_eq!(task::block_on(index).unwrap()[42], 4);
    /// ```
    #[doc(alias = "spawn_map")]
    #[track_caller]
    pub fn spawn_loop<T: Send + 'static>(
        self,
        body: impl for<'a> FnOnce(Options<'a, Spawned<'a>>) -> T + Send + 'static,
    ) -> SpawnedLoop<T> {
        let source = TokenSource::new();
        let progress = Arc::new(Progress {
            token: source.token(),
            source,
            done: AtomicU64::new(0),
        });
        let theirs = Arc::clone(&progress);
        let task = self.run(move || {
            let progress = &*theirs;
            body(Options::new().ending_as(Spawned { progress }))
        });
        SpawnedLoop { task, progress }
    }
}

/// Loops that run in a task; made by [`spawn_loop`]. It gives what the body returns.
///
/// Example: see [`spawn_loop`].
#[must_use = "the loops are cancelled when this is dropped"]
pub struct SpawnedLoop<T> {
    task: JoinHandle<T>,
    progress: Arc<Progress>,
}

/// Observes and cancels spawned loops; made by [`SpawnedLoop::handle`].
///
/// # Examples
/// ```
/// use manyhands::{parallel, task};
/// let counting = parallel::spawn_loop(|options| {
///     let counting = options.for_each(0..u64::MAX, |_| {});
///     counting.is_err()
/// });
/// let handle = counting.handle();
/// while handle.done() == 0 {
///     std::thread::yield_now();
/// }
/// assert!(!handle.is_finished());
/// handle.cancel();
/// assert!(task::block_on(counting));
/// assert!(handle.is_finished());
/// ```
#[derive(Clone)]
pub struct SpawnedLoopHandle {
    task: AbortHandle,
    progress: Arc<Progress>,
}

/// What a spawned loop and its handles share.
#[derive(Debug)]
struct Progress {
    source: TokenSource,
    token: Token,
    /// Items that have ended.
    done: AtomicU64,
}

/// The call ends early when the loop of [`spawn_loop`] that it is in is cancelled, and counts its items.
///
/// # Examples
/// ```
/// use manyhands::cancel::Cancelled;
/// use manyhands::parallel::{self, Options, Spawned};
/// fn squares(options: Options<'_, Spawned<'_>>) -> Result<Vec<u32>, Cancelled> {
///     options.map(0..4, |n| n * n)
/// }
/// assert_eq!(manyhands::task::block_on(parallel::spawn_loop(squares)), Ok(vec![0, 1, 4, 9]));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Spawned<'a> {
    progress: &'a Progress,
}

impl<'a> Options<'a, Spawned<'a>> {
    /// The token by which the spawned loops are cancelled: for queries, and for bodies that take long.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, query::prelude::*, task};
    /// let sum = parallel::spawn_loop(|options| {
    ///     (0..1_000_u32).into_par_query().cancellation(options.token()).sum::<u32>()
    /// });
    /// assert_eq!(task::block_on(sum), Ok(499_500));
    /// ```
    #[must_use]
    pub fn token(&self) -> &'a Token {
        &self.ending.progress.token
    }
}

impl<T> SpawnedLoop<T> {
    /// A handle that observes and cancels the loops, from any thread.
    ///
    /// Example: see [`SpawnedLoopHandle`].
    #[must_use]
    pub fn handle(&self) -> SpawnedLoopHandle {
        SpawnedLoopHandle {
            task: self.task.abort_handle(),
            progress: Arc::clone(&self.progress),
        }
    }
}

impl<T> Future for SpawnedLoop<T> {
    type Output = T;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match ready!(Pin::new(&mut self.task).poll(context)) {
            Ok(value) => Poll::Ready(value),
            Err(error) => match error.try_into_panic() {
                Ok(payload) => resume_unwind(payload),
                Err(_) => panic!("the runtime was shut down before a spawned loop began on it"),
            },
        }
    }
}

impl<T> FusedFuture for SpawnedLoop<T> {
    fn is_terminated(&self) -> bool {
        self.task.is_terminated()
    }
}

impl<T> Drop for SpawnedLoop<T> {
    fn drop(&mut self) {
        if !self.task.is_finished() {
            self.task.abort();
            self.progress.source.cancel();
        }
    }
}

impl<T> fmt::Debug for SpawnedLoop<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnedLoop")
            .field("task", &self.task)
            .field("done", &self.handle().done())
            .finish_non_exhaustive()
    }
}

impl SpawnedLoopHandle {
    /// Cancels the loops: no item begins any more, those that run end, and each loop returns
    /// [`Cancelled`](crate::cancel::Cancelled). A body that has not begun does so all the same, and its loops end at once.
    ///
    /// Example: see [`SpawnedLoopHandle`].
    #[doc(alias = "abort")]
    pub fn cancel(&self) {
        self.progress.source.cancel();
    }

    /// How many items of all loops have ended so far, whatever became of them.
    ///
    /// Items count when their block ends: a block takes some ten microseconds, or is one item that takes longer. A sort or
    /// a scan counts the parts that it is shared in.
    ///
    /// Example: see [`SpawnedLoopHandle`].
    #[doc(alias("progress", "IProgress"))]
    #[must_use]
    pub fn done(&self) -> u64 {
        // Relaxed: see the file's header.
        self.progress.done.load(Ordering::Relaxed)
    }

    /// Whether the body has returned, has panicked, or will never begin.
    ///
    /// Example: see [`SpawnedLoopHandle`].
    #[doc(alias = "IsCompleted")]
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl fmt::Debug for SpawnedLoopHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnedLoopHandle")
            .field("task", &self.task)
            .field("done", &self.done())
            .finish_non_exhaustive()
    }
}

impl Watch for Spawned<'_> {
    #[inline]
    fn end(&self) -> u64 {
        (&self.progress.token).end()
    }

    #[inline]
    fn limit<I: Iterator>(&self, first: u64, items: I) -> impl Iterator<Item = I::Item> {
        Counted {
            items: limit_each(self, first, items),
            given: 0,
            done: &self.progress.done,
        }
    }
}

impl Ending for Spawned<'_> {
    type Output<T> = Result<T, Cancelled>;

    fn conclude<T>(&self, value: Option<T>) -> Result<T, Cancelled> {
        (&self.progress.token).conclude(value)
    }

    #[inline]
    fn complete<T>(value: T) -> Result<T, Cancelled> {
        <&Token>::complete(value)
    }

    fn token(&self) -> Option<&Token> {
        Some(&self.progress.token)
    }
}

/// Counts the items of a block, when the block ends.
struct Counted<'a, I> {
    items: I,
    given: u64,
    done: &'a AtomicU64,
}

impl<I: Iterator> Iterator for Counted<'_, I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        let item = self.items.next();
        self.given += u64::from(item.is_some());
        item
    }
}

impl<I> Drop for Counted<'_, I> {
    fn drop(&mut self) {
        // Relaxed: see the file's header.
        self.done.fetch_add(self.given, Ordering::Relaxed);
    }
}
