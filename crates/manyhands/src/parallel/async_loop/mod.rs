//! Loops whose bodies are futures; the number of items that run at once adapts to the throughput.
//!
//! A loop is itself a future, and does nothing until it is awaited, or until [`task::block_on`](crate::task::block_on)
//! runs it. Each item is a task of its own, so that bodies use every worker. Nothing is read ahead: the loop takes an
//! item from its source when it can begin.
//!
//! # Concurrency
//! Without options the number of items that run at once adapts while the loop runs. It begins with 32, grows as long
//! as more items at once raise the throughput, and shrinks to the smallest number that keeps it.
//! [`degree_of_parallelism`](AsyncOptions::degree_of_parallelism) sets or limits it, and a [`LoopHandle`] changes it while the
//! loop runs.
//!
//! # Failures
//! After the first failure no item begins, running items are dropped at their next suspension, and the loop ends when
//! all are gone. It reports every panic that happened until then, and in the `try_` forms every error, with its
//! position. A panic of the source, also of its drop, is reported with the position of the item that it did not give.
//! A cancellation does the same; results of items that ended before it are dropped.
//!
//! # Dropping
//! Dropping a loop cancels its items: each is dropped where tasks run, at its next suspension at the latest, and not
//! polled after that.

mod driver;
mod future;
mod handle;
mod local;
mod options;
mod pipeline;
mod source;
mod stream;
mod tuner;

pub use future::AsyncLoop;
pub use handle::LoopHandle;
pub use options::AsyncOptions;
pub use pipeline::{Stages, pipeline};
pub use source::{AsyncSource, from_stream};
pub use stream::AsyncResults;

use crate::parallel::Failures;

/// Runs `body`'s future for each item of a source, as many at once as give the highest throughput.
///
/// # Bodies that wait
/// Bodies must not wait for one another: only some run at once, and no other begins before one of them has ended.
/// Futures that do so belong into [`task::when_all`](crate::task::when_all) or a
/// [`TaskGroup`](crate::task::TaskGroup), where all run at once.
///
/// # Cost
/// A task for each item, with two more small allocations to wait for it.
///
/// # Panics
/// When it is awaited, if items or the source panicked: a single panic resumes unchanged, several as an
/// [`AggregatePanic`](crate::AggregatePanic).
///
/// # Cancellation
/// Dropping the loop cancels its items.
///
/// # Examples
/// ```
/// use manyhands::{parallel, task, time};
/// use std::time::Duration;
///
/// let calls = parallel::for_each_async(["a", "b", "c"], |_url| async {
///     time::sleep(Duration::from_millis(1)).await;
/// });
/// task::block_on(calls);
/// ```
#[doc(alias("ActionBlock", "Parallel.ForEachAsync", "for_each_concurrent"))]
#[doc(alias("buffer_unordered", "ForAsync"))]
#[track_caller]
pub fn for_each_async<'a, S, Fut>(
    source: S,
    body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
) -> AsyncLoop<'a, ()>
where
    S: AsyncSource + 'a,
    Fut: Future<Output = ()> + Send + 'static,
{
    AsyncOptions::new().for_each_async(source, body)
}

/// Like [`for_each_async`], with bodies that can fail.
///
/// # Errors
/// When it is awaited: every error that a body returned and every panic, by position. After the first one
/// no item begins, and those that run are cancelled.
///
/// # Examples
/// ```
/// use manyhands::{parallel, task};
/// let checked = parallel::try_for_each_async(["1", "x"], |text| async {
///     text.parse::<i32>().map(drop)
/// });
/// assert_eq!(task::block_on(checked).unwrap_err().errors().next().unwrap().0, 1);
/// ```
#[doc(alias = "try_for_each_concurrent")]
#[track_caller]
pub fn try_for_each_async<'a, S, Fut, E>(
    source: S,
    body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
) -> AsyncLoop<'a, Result<(), Failures<E>>>
where
    S: AsyncSource + 'a,
    Fut: Future<Output = Result<(), E>> + Send + 'static,
    E: Send + 'static,
{
    AsyncOptions::new().try_for_each_async(source, body)
}

/// Collects what the bodies return, in the order of the source. See [`for_each_async`]; bodies must not wait for one
/// another, as the futures of [`task::when_all`](crate::task::when_all) may.
///
/// # Panics
/// As [`for_each_async`]. Finished results are dropped.
///
/// # Examples
/// ```
/// use manyhands::{parallel, task};
/// let squares = parallel::map_async(0..4, |i| async move { i * i });
/// assert_eq!(task::block_on(squares), [0, 1, 4, 9]);
/// ```
#[doc(alias = "buffered")]
#[track_caller]
pub fn map_async<'a, S, Fut>(
    source: S,
    body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
) -> AsyncLoop<'a, Vec<Fut::Output>>
where
    S: AsyncSource + 'a,
    Fut: Future<Output: Send + 'static> + Send + 'static,
{
    AsyncOptions::new().map_async(source, body)
}

/// Like [`map_async`], with bodies that can fail.
///
/// # Errors
/// As [`try_for_each_async`]. Finished results are dropped.
///
/// # Examples
/// ```
/// use manyhands::{parallel, task};
/// let parsed = parallel::try_map_async(["1", "2"], |text| async { text.parse::<i32>() });
/// assert_eq!(task::block_on(parsed).unwrap(), [1, 2]);
/// ```
#[doc(alias = "try_buffered")]
#[track_caller]
pub fn try_map_async<'a, S, Fut, R, E>(
    source: S,
    body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
) -> AsyncLoop<'a, Result<Vec<R>, Failures<E>>>
where
    S: AsyncSource + 'a,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
    R: Send + 'static,
    E: Send + 'static,
{
    AsyncOptions::new().try_map_async(source, body)
}
