//! Queries over a stream, whose items arrive while the query runs.
//!
//! A task waits for items, takes those that are there through all operators in one step (`steps.rs`), and gives what
//! that makes to a [`Stream`]. So no thread waits for the source, and operators that need all items do not exist here.

use crate::engine::{Consumer, Ending};
use crate::parallel::ConcurrencyError;
use crate::parallel::source::OwnedItems;
use crate::query::gather::gather;
use crate::query::terminal::iterate::Stream;
use crate::query::terminal::steps::{STEP_NANOS, Steps};
use crate::query::{ExecutionMode, Items, Merge, Pipeline, Query, QueryRun};
use crate::runtime::Runtime;
use crate::sync::{Mutex, lock};
use crate::task::{self, runtime_handle::Handle};
use crate::time;
use futures_core::Stream as Source;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// A query over a stream, whose items are taken through the operators as they arrive: those that are there together, by as
/// many workers as that pays for.
///
/// It has the operators that need one item at a time. What needs all items, such as a sort, follows when they are there:
/// collect the results of [`stream`](AsyncQuery::stream), and query those. A step gives its items in their order, so there is
/// nothing to gain by giving that up.
///
/// # Cost
/// A task, and a move of each item into a vector and out of it.
///
/// # Examples
/// ```
/// use futures::StreamExt;
/// use manyhands::{channel, query, task};
///
/// let (sender, lines) = channel::bounded(100);
/// let sending = task::spawn(async move {
///     for line in ["many", "", "hands"] {
///         sender.send(line).await.unwrap();
///     }
/// });
/// let lengths = query::from_stream(lines.into_stream()).filter(|line| !line.is_empty()).map(str::len).stream();
/// assert_eq!(task::block_on(lengths.collect::<Vec<_>>()), [4, 5]);
/// # sending.join().unwrap();
/// ```
///
/// Sums and other values are made of the stream; an async loop continues from it:
/// ```
/// use futures::{StreamExt, stream};
/// use manyhands::{parallel, query, task};
///
/// let squares = || query::from_stream(stream::iter(0..100_u64)).map(|n| n * n).stream();
/// let sum = squares().fold(0, async |sum, square| sum + square);
/// assert_eq!(task::block_on(sum), 328_350);
/// let sent = parallel::map_async(parallel::from_stream(squares()), |square| async move { square + 1 });
/// assert_eq!(task::block_on(sent)[9], 82);
/// ```
///
/// Dropping the stream ends the query. So a token ends what takes the items, and that the query:
/// ```
/// use futures::{StreamExt, stream};
/// use manyhands::{cancel, query, task};
///
/// let stop = cancel::TokenSource::new();
/// let counting = query::from_stream(stream::iter(0..)).map(|n| n * 2).stream().count();
/// let counted = task::spawn({
///     let token = stop.token();
///     async move { token.run_until_cancelled(counting).await.is_ok() }
/// });
/// stop.cancel();
/// assert!(!counted.join().unwrap());
/// ```
#[doc(alias("IAsyncEnumerable", "AsAsyncEnumerable"))]
pub fn from_stream<S>(source: S) -> AsyncQuery<S, impl Pipeline<Item = S::Item>>
where
    S: Source<Item: Send>,
{
    let arrived = Arc::default();
    AsyncQuery {
        source,
        arrived: Arc::clone(&arrived),
        query: Query::new(Arrived(arrived)),
        runtime: None,
    }
}

/// A query whose items arrive; made by [`from_stream`].
///
/// Example: see [`from_stream`].
#[must_use = "a query does nothing until it is ended by asking for a result"]
pub struct AsyncQuery<S: Source, P> {
    source: S,
    arrived: Batch<S::Item>,
    query: Query<'static, P>,
    /// Where the task runs, if not on the current one.
    runtime: Option<Handle>,
}

/// The items that are taken through the operators in the next step.
type Batch<T> = Arc<Mutex<Vec<T>>>;

/// The items of a stream that have arrived, as a pipeline.
struct Arrived<T>(Batch<T>);

impl<T: Send> Pipeline for Arrived<T> {
    type Item = T;
    type Positions = OwnedItems<T>;

    fn drive<C: Consumer<T>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        let batch = mem::take(&mut *lock(&self.0));
        Items::of_vec(batch).drive(most, consumer, run);
        // More may arrive.
        most
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<OwnedItems<T>> {
        gather(self, most, run)
    }

    fn explain(&self) -> String {
        "stream".into()
    }
}

impl<S: Source, P: Pipeline> AsyncQuery<S, P> {
    /// As [`Query::map`].
    ///
    /// Example: see [`from_stream`].
    #[doc(alias = "Select")]
    pub fn map<R: Send, F: Fn(P::Item) -> R + Send + Sync>(
        self,
        map: F,
    ) -> AsyncQuery<S, impl Pipeline<Item = R>> {
        self.with(|query| query.map(map))
    }

    /// As [`Query::filter`].
    ///
    /// Example: see [`from_stream`].
    #[doc(alias = "Where")]
    pub fn filter<F: Fn(&P::Item) -> bool + Send + Sync>(
        self,
        predicate: F,
    ) -> AsyncQuery<S, impl Pipeline<Item = P::Item>> {
        self.with(|query| query.filter(predicate))
    }

    /// As [`Query::filter_map`].
    ///
    /// # Examples
    /// ```
    /// use futures::{StreamExt, stream};
    /// use manyhands::{query, task};
    /// let texts = query::from_stream(stream::iter(["1", "x", "3"]));
    /// let numbers = texts.filter_map(|text| text.parse::<i32>().ok()).stream();
    /// assert_eq!(task::block_on(numbers.collect::<Vec<_>>()), [1, 3]);
    /// ```
    #[doc(alias = "OfType")]
    pub fn filter_map<R: Send, F: Fn(P::Item) -> Option<R> + Send + Sync>(
        self,
        map: F,
    ) -> AsyncQuery<S, impl Pipeline<Item = R>> {
        self.with(|query| query.filter_map(map))
    }

    /// As [`Query::flat_map`].
    ///
    /// # Examples
    /// ```
    /// use futures::{StreamExt, stream};
    /// use manyhands::{query, task};
    /// let lines = query::from_stream(stream::iter(["many hands", "light work"]));
    /// let words = lines.flat_map(|line| line.split(' ')).stream();
    /// assert_eq!(task::block_on(words.count()), 4);
    /// ```
    #[doc(alias = "SelectMany")]
    pub fn flat_map<R: IntoIterator<Item: Send>, F: Fn(P::Item) -> R + Send + Sync>(
        self,
        map: F,
    ) -> AsyncQuery<S, impl Pipeline<Item = R::Item>> {
        self.with(|query| query.flat_map(map))
    }

    /// As [`Query::inspect`].
    ///
    /// # Examples
    /// ```
    /// use futures::{StreamExt, stream};
    /// use manyhands::{query, task};
    /// let numbers = query::from_stream(stream::iter(0..10)).inspect(|n| assert!(*n < 10)).stream();
    /// assert_eq!(task::block_on(numbers.count()), 10);
    /// ```
    pub fn inspect<F: Fn(&P::Item) + Send + Sync>(
        self,
        look: F,
    ) -> AsyncQuery<S, impl Pipeline<Item = P::Item>> {
        self.with(|query| query.inspect(look))
    }

    /// As [`Query::degree_of_parallelism`].
    ///
    /// # Errors
    /// [`ConcurrencyError`] if `count` is 0.
    ///
    /// # Examples
    /// ```
    /// use futures::{StreamExt, stream};
    /// use manyhands::{query, task};
    /// let alone = query::from_stream(stream::iter(0..10)).degree_of_parallelism(1)?.stream();
    /// assert_eq!(task::block_on(alone.count()), 10);
    /// # Ok::<(), manyhands::parallel::ConcurrencyError>(())
    /// ```
    #[doc(alias = "WithDegreeOfParallelism")]
    pub fn degree_of_parallelism(self, count: usize) -> Result<Self, ConcurrencyError> {
        let query = self.query.degree_of_parallelism(count)?;
        Ok(Self { query, ..self })
    }

    /// As [`Query::execution_mode`].
    ///
    /// Example: see [`AsyncQuery::runtime`].
    #[doc(alias = "WithExecutionMode")]
    pub fn execution_mode(self, mode: ExecutionMode) -> Self {
        self.with(|query| query.execution_mode(mode))
    }

    /// As [`Query::merge`]: how many items a step takes of those that are there, or are within two milliseconds.
    ///
    /// Example: see [`AsyncQuery::runtime`].
    #[doc(alias = "WithMergeOptions")]
    pub fn merge(self, merge: Merge) -> Self {
        self.with(|query| query.merge(merge))
    }

    /// Runs on this runtime instead of the one that is current when [`stream`](Self::stream) is called.
    ///
    /// # Examples
    /// ```
    /// use futures::{StreamExt, stream};
    /// use manyhands::query::{self, ExecutionMode, Merge};
    /// use manyhands::{Runtime, task};
    /// let other = Runtime::builder().workers(1).thread_name(|i| format!("other-{i}")).build()?;
    /// let here = |_| std::thread::current().name().unwrap_or_default().to_owned();
    /// let query = query::from_stream(stream::iter(0..3)).map(here).runtime(&other);
    /// let names = query.merge(Merge::NotBuffered).execution_mode(ExecutionMode::Sequential).stream();
    /// assert!(task::block_on(names.all(async |name| name.starts_with("other"))));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias("TaskScheduler", "install"))]
    pub fn runtime(self, runtime: &Runtime) -> Self {
        let runtime = Some(runtime.handle());
        Self { runtime, ..self }
    }

    fn with<Q>(self, add: impl FnOnce(Query<'static, P>) -> Query<'static, Q>) -> AsyncQuery<S, Q> {
        AsyncQuery {
            source: self.source,
            arrived: self.arrived,
            query: add(self.query),
            runtime: self.runtime,
        }
    }

    /// The results as they are made, in the order of the source. A task of the current runtime makes them, up to two steps
    /// ahead, and waits for the source when nothing is there: then no thread does. Dropping the stream ends it.
    ///
    /// A step takes the items that are there, up to some thousand, within a few milliseconds at most, and if the operators
    /// take no longer.
    ///
    /// # Panics
    /// The stream does when operators or the source do, or if the runtime is shut down before the end.
    ///
    /// Example: see [`from_stream`].
    #[doc(alias = "GetAsyncEnumerator")]
    #[track_caller]
    pub fn stream(self) -> Stream<P::Item>
    where
        S: Source<Item: Send + 'static> + Send + 'static,
        P: Pipeline<Item: 'static> + 'static,
    {
        let (source, arrived) = (self.source, self.arrived);
        let runtime = self.runtime.unwrap_or_else(Handle::current);
        let (pipeline, run) = self.query.into_run();
        Stream::made_by(&runtime, |sender, token| async move {
            let mut source = pin!(source);
            let mut steps = Steps::new(pipeline, run);
            loop {
                let filling = fill(&arrived, source.as_mut(), steps.positions);
                let Ok(is_last) = token.run_until_cancelled(filling).await else {
                    break;
                };
                let run = run.while_wanted(&token);
                let Some(items) = steps.step(&run) else {
                    break;
                };
                if items.is_empty() {
                    // The source may always have an item, and none may pass.
                    task::yield_now().await;
                } else if sender.send(items).await.is_err() {
                    break;
                }
                if is_last {
                    break;
                }
            }
        })
    }
}

/// After so many items the clock is read, at first sooner.
const LOOK_EVERY: usize = 256;

/// Waits for an item, and takes with it those that are there, up to `most` and for a short time: a source may always have
/// another one. Whether no more will come.
async fn fill<S: Source>(batch: &Mutex<Vec<S::Item>>, mut source: Pin<&mut S>, most: u64) -> bool {
    let mut items = Vec::new();
    let is_last = poll_fn(|context| {
        let end = time::now() + Duration::from_nanos(STEP_NANOS);
        loop {
            match source.as_mut().poll_next(context) {
                Poll::Ready(Some(item)) => items.push(item),
                Poll::Ready(None) => return Poll::Ready(true),
                Poll::Pending if items.is_empty() => return Poll::Pending,
                Poll::Pending => return Poll::Ready(false),
            }
            let len = items.len();
            // To read the clock takes longer than many an item.
            let may_be_late = len.is_power_of_two() || len % LOOK_EVERY == 0;
            if len as u64 >= most || may_be_late && time::now() > end {
                return Poll::Ready(false);
            }
        }
    });
    let is_last = is_last.await;
    *lock(batch) = items;
    is_last
}

impl<S: Source, P> fmt::Debug for AsyncQuery<S, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncQuery")
            .field("query", &self.query)
            .finish_non_exhaustive()
    }
}
