//! Parallel loops: short ones stay on the calling thread, long ones are shared with idle workers.
//!
//! The caller begins alone. It opens the loop to other workers, and wakes sleeping ones, when the remaining work is
//! long enough to pay for that; there is no grain size to choose. Loops nest, borrow freely, and combine results in
//! order.
//!
//! [`Options`] set the degree of parallelism, a cancellation token, a runtime, and state for each runner;
//! [`AsyncOptions`] do so for async loops. For sums, searches and other results of the items use a
//! [query](crate::query), which takes the same sources: `numbers.par_query().sum()`. Slices have sorts, scans and chunks
//! as [methods](crate::query::ParSlice): `numbers.par_sort()`.
//!
//! # Examples
//! ```
//! use manyhands::parallel;
//!
//! let numbers: Vec<u64> = (1..=100_000).collect();
//! let mut roots = vec![0.0; 1000];
//! parallel::for_each(&mut roots, |root| *root = 2.0_f64.sqrt());
//! let squares = parallel::map(&numbers, |n| n * n);
//! let largest = parallel::map_reduce(&squares, |n| n % 1_000, u64::max);
//! assert_eq!((squares[9], largest), (100, Some(996)));
//! ```
//!
//! Breaking a loop, and all errors with their positions:
//! ```
//! use manyhands::{cancel, parallel};
//!
//! let source = cancel::TokenSource::new();
//! let token = source.token();
//! let outcome = parallel::Options::new()
//!     .degree_of_parallelism(4)?
//!     .cancellation(&token)
//!     .local(Vec::new, |evens: Vec<u32>| drop(evens)) // a state for each runner: begin, finish
//!     .for_each(0..1_000_u32, |i, control, evens| {
//!         if i % 2 == 0 {
//!             evens.push(i);
//!         }
//!         if i == 700 {
//!             control.break_at_current(); // all smaller indices still run
//!         }
//!     })?;
//! assert_eq!(outcome.lowest_break(), Some(700));
//!
//! let failures = parallel::try_map(&["1", "x", "3"], |text| text.parse::<i32>()).unwrap_err();
//! assert_eq!(failures.errors().next().unwrap().0, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Bodies that are futures run in async loops: [`for_each_async`], [`map_async`],
//! [`stream_async`](AsyncOptions::stream_async) and similar, which adapt how many run at once. In a [`pipeline`] each stage
//! has its own number.
//!
//! A loop blocks its caller; [`spawn_loop`] runs loops in a task that an async caller awaits. Its handle says how far they
//! are, and cancels them.
//!
//! # Failures
//! A panic in a body does not end a worker: no new bodies start, the running ones end, and then the panic resumes in
//! the caller. If several bodies panicked, an [`AggregatePanic`](crate::AggregatePanic) with all of them does. The
//! `try_` forms take bodies that return a `Result` and report every error and every panic with its position. If something
//! beside their bodies panics, such as the source or what finishes a state, that panic resumes, and with it those of bodies.
//!
//! # Blocking
//! A loop returns when all its bodies have returned. While the caller waits for the last ones, it runs only work that
//! these have forked, so a lock may be held across a loop.

#![expect(
    unnameable_types,
    reason = "the engine's own traits seal `Ending`, and what feeds a `Source`"
)]

pub(crate) mod adjacent;
pub(crate) mod append;
mod async_loop;
mod concurrency;
pub(crate) mod control;
pub(crate) mod failure;
pub(crate) mod for_each;
mod invoke;
pub(crate) mod map;
pub(crate) mod one_or_many;
pub(crate) mod options;
pub(crate) mod ordered_collect;
pub(crate) mod poll_stream;
pub(crate) mod reduce;
pub(crate) mod reduce_leaves;
pub(crate) mod runs;
mod scan;
mod sort;
pub(crate) mod source;
mod spawned;

pub use crate::engine::consumer::Ending;
pub use async_loop::{
    AsyncLoop, AsyncOptions, AsyncResults, AsyncSource, LoopHandle, Stages, for_each_async,
    from_stream, map_async, pipeline, try_for_each_async, try_map_async,
};
pub use concurrency::{Concurrency, ConcurrencyError};
pub(crate) use control::{Both, LoopState};
pub use control::{Control, Outcome};
pub(crate) use failure::Gathered;
pub use failure::{Failure, Failures};
pub use invoke::Invoke;
pub use options::{LocalOptions, Options};
pub use source::{FromIter, Producer, Source, from_iter};
pub use spawned::{Spawned, SpawnedLoop, SpawnedLoopHandle, spawn_loop};

/// Calls `body` for each item of a source, in no particular order. A range that ends before it begins is empty, as in the
/// standard library.
///
/// # Bodies that wait
/// Bodies must not wait for one another. The caller runs the first ones alone, to measure whether the loop is worth
/// sharing, and may run all of them, one after the other; a body that waits for a later one would wait for ever. Use
/// [`invoke()`] with a vector of closures, or [`from_iter`]`(range).`[`unbuffered`](FromIter::unbuffered)`()`, which
/// helpers may join before the first body.
///
/// # Cost
/// For a loop too short to share: some tens of nanoseconds more than a plain loop, and now and then two readings of
/// the clock. Nothing is allocated unless the loop is shared among more than eight workers.
///
/// # Panics
/// If bodies do; see [the module](self).
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// let mut numbers = [1, 2, 3];
/// parallel::for_each(&mut numbers, |n| *n *= 10);
/// assert_eq!(numbers, [10, 20, 30]);
/// let total = AtomicU64::new(0);
/// parallel::for_each(0..1000_u64, |i| { total.fetch_add(i, Ordering::Relaxed); });
/// assert_eq!(total.into_inner(), 499_500);
/// ```
#[doc(alias("Parallel.For", "for_range", "into_par_iter", "par_iter_mut"))]
#[doc(alias("Parallel.ForEach", "par_iter", "parallel_for"))]
#[track_caller]
pub fn for_each<S: Source>(source: S, body: impl Fn(S::Item) + Sync) {
    Options::new().for_each(source, body);
}

/// Like [`for_each`], with bodies that can fail.
///
/// # Bodies that wait
/// Bodies must not wait for one another, as in [`for_each`].
///
/// # Errors
/// Every error that a body returned and every panic, by position. After the first one no new bodies are
/// started.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let failures = parallel::try_for_each(&["1", "x", "3"], |text| text.parse::<i32>().map(drop)).unwrap_err();
/// assert_eq!(failures.errors().next().unwrap().0, 1);
/// ```
#[track_caller]
pub fn try_for_each<S: Source, E: Send>(
    source: S,
    body: impl Fn(S::Item) -> Result<(), E> + Sync,
) -> Result<(), Failures<E>> {
    Options::new().try_for_each(source, body)
}

/// Collects what `body` returns for each item, in the order of the source.
///
/// # Cost
/// One allocation for the vector, where the source knows its length.
///
/// # Bodies that wait
/// Bodies must not wait for one another, as in [`for_each`].
///
/// # Panics
/// If bodies do; see [the module](self). Finished results are dropped.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let words = ["many", "hands"];
/// assert_eq!(parallel::map(&words, |word| word.len()), [4, 5]);
/// assert_eq!(parallel::map(0..4, |i| i * i), [0, 1, 4, 9]);
/// ```
#[doc(alias("par_iter", "Select", "collect", "ConcurrentBag"))]
#[track_caller]
pub fn map<S: Source, R: Send>(source: S, body: impl Fn(S::Item) -> R + Sync) -> Vec<R> {
    Options::new().map(source, body)
}

/// Like [`map`], with bodies that can fail.
///
/// # Bodies that wait
/// Bodies must not wait for one another, as in [`for_each`].
///
/// # Errors
/// Every error that a body returned and every panic, by position. After the first one no new bodies are started, and
/// finished results are dropped.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let numbers = parallel::try_map(&["1", "2"], |text| text.parse::<i32>()).unwrap();
/// assert_eq!(numbers, [1, 2]);
/// ```
#[track_caller]
pub fn try_map<S: Source, R: Send, E: Send>(
    source: S,
    body: impl Fn(S::Item) -> Result<R, E> + Sync,
) -> Result<Vec<R>, Failures<E>> {
    Options::new().try_map(source, body)
}

/// Maps each item and combines the results in the source's order; `None` if there are no items.
///
/// `reduce` must be associative; it need not be commutative. How values are grouped may differ from call to
/// call; where floating-point results must repeat bit for bit, take a query that is
/// [`deterministic`](crate::query::Query::deterministic).
///
/// # Bodies that wait
/// Bodies must not wait for one another, as in [`for_each`].
///
/// # Panics
/// If bodies do; see [the module](self).
///
/// # Examples
/// ```
/// let text = manyhands::parallel::map_reduce(0..5, |i| i.to_string(), |a, b| a + &b);
/// assert_eq!(text.as_deref(), Some("01234"));
/// ```
#[doc(alias("Aggregate", "fold", "parallel_reduce"))]
#[track_caller]
pub fn map_reduce<S: Source, V: Send>(
    source: S,
    map: impl Fn(S::Item) -> V + Sync,
    reduce: impl Fn(V, V) -> V + Sync,
) -> Option<V> {
    Options::new().map_reduce(source, map, reduce)
}

/// Invokes several closures, perhaps at the same time, and returns all results.
///
/// Takes a tuple of 2 to 12 closures, an array, or a vector. All are run even if some panic. As in [`for_each`], the caller runs
/// those alone that are too short to be shared.
///
/// # Closures that wait
/// They may wait for one another by blocking, not by spinning: where too few workers are free, the runtime adds threads,
/// within its limit, some milliseconds later. Where calls were short before, a call that waits is shared about a millisecond
/// after it has begun. At most 126 more than there are workers run at once, unless a
/// [degree](Options::degree_of_parallelism) allows more. If the call is nested in eight others that are shared, its caller runs
/// them one after the other.
///
/// # Blocking
/// Until all closures have ended. While the caller waits it runs nothing unrelated.
///
/// # Panics
/// If closures do: a single panic resumes unchanged, several as an [`AggregatePanic`](crate::AggregatePanic).
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let (a, b, c) = parallel::invoke((|| 1, || "two", || 3.0));
/// assert_eq!((a, b, c), (1, "two", 3.0));
/// let squares = parallel::invoke([1, 2, 3].map(|n| move || n * n));
/// assert_eq!(squares, [1, 4, 9]);
/// ```
#[doc(alias = "Parallel.Invoke")]
#[track_caller]
pub fn invoke<I: Invoke>(closures: I) -> I::Outputs {
    Options::new().invoke(closures)
}
