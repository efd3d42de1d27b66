//! Queries as iterators and streams: made in steps, each by all workers, so that only a few items are in
//! memory at once.
//!
//! An [`Iter`] makes a step when it has no items left, so it may borrow, and may be leaked. A [`Stream`] makes its
//! steps in a task while the items of the last one are taken. `prefetch.rs` has the form that may borrow and runs
//! ahead. Also queries whose last operator is a future: an async loop over the items of their steps.

use crate::engine::Ending;
use crate::job::{Payload, wake_by_ref};
use crate::parallel::poll_stream::PollStream;
use crate::parallel::{AsyncOptions, AsyncResults, from_stream};
use crate::query::terminal::steps::{Iter, Steps};
use crate::query::{Order, Pipeline, Query};
use crate::recording::Site;
use crate::runtime::Runtime;
use crate::task::runtime_handle::Handle;
use crate::task::{self, JoinHandle};
use crate::{cancel, channel};
use std::fmt;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

impl<'a, P: Pipeline, O: Order, E: Ending> IntoIterator for Query<'a, P, O, E> {
    type Item = E::Output<P::Item>;
    type IntoIter = Iter<P::Item, E, Steps<'a, P, E>>;

    /// The items on the calling thread, in order; of a query that can be cancelled results, the last of which is the
    /// error. Workers make them in steps of up to some thousand, when there are
    /// none left; see [`Merge`](crate::query::Merge). A step takes whole items of the source, with all that `flat_map`
    /// makes of them. For workers that continue while the caller processes items, use [`with_iter`](Query::with_iter),
    /// or [`stream`](Query::stream) if nothing is borrowed.
    ///
    /// # Panics
    /// The iterator does when operators do.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let mut sum = 0;
    /// for square in (0..10_u64).into_par_query().map(|n| n * n) {
    ///     sum += square;
    /// }
    /// assert_eq!(sum, 285);
    /// let mut squares = (1..=1000_u32).into_par_query().map(|n| n * n).into_iter();
    /// assert_eq!(squares.next(), Some(1));
    /// assert_eq!(squares.take(2).collect::<Vec<_>>(), [4, 9]); // the rest is not made
    /// ```
    #[track_caller]
    fn into_iter(self) -> Self::IntoIter {
        let (pipeline, run) = self.into_run();
        Iter::new(Steps::new(pipeline, run), run.ending)
    }
}

/// A query's items, made ahead by a task; made by [`Query::stream`] and
/// [`AsyncQuery::stream`](crate::query::AsyncQuery::stream). A stream for async code, an iterator for threads.
///
/// At most three steps' items are in memory at once. When it is dropped, the task ends after the source's items that
/// are in progress.
///
/// Example: see [`Query::stream`].
#[must_use = "streams do nothing unless polled"]
pub struct Stream<T> {
    steps: channel::RecvStream<Vec<T>>,
    /// `None` after the last step.
    producer: Option<JoinHandle<()>>,
    ready: vec::IntoIter<T>,
    _unwanted: Unwanted,
}

/// Cancels what makes the items when it is dropped.
pub(super) struct Unwanted(pub(super) cancel::TokenSource);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl<T> Stream<T> {
    /// What `make` sends, step by step, in a task of this runtime, until its token says that the items are unwanted.
    #[track_caller]
    pub(super) fn made_by<F: Future<Output = ()> + Send + 'static>(
        runtime: &Handle,
        make: impl FnOnce(channel::Sender<Vec<T>>, cancel::Token) -> F,
    ) -> Self {
        let (sender, receiver) = channel::bounded(1);
        let unwanted = cancel::TokenSource::new();
        Self {
            steps: channel::RecvStream::new(receiver, Result::ok),
            producer: Some(runtime.spawn(make(sender, unwanted.token()))),
            ready: Vec::new().into_iter(),
            _unwanted: Unwanted(unwanted),
        }
    }

    /// The next item; `None` after the last one.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{query::prelude::*, task};
    /// let mut squares = (1..=3).into_par_query().map(|n| n * n).stream();
    /// task::block_on(async {
    ///     assert_eq!(squares.next().await, Some(1));
    ///     assert_eq!(squares.next().await, Some(4));
    /// });
    /// ```
    #[expect(
        clippy::should_implement_trait,
        reason = "it returns a future, and no iterator has that"
    )]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn next(&mut self) -> impl Future<Output = Option<T>> {
        let site = Site::here();
        poll_fn(move |context| site.poll(|| self.poll(context)))
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        use futures_core::Stream;
        loop {
            if let Some(item) = self.ready.next() {
                return Poll::Ready(Some(item));
            }
            match ready!(Pin::new(&mut self.steps).poll_next(context)) {
                Some(items) => self.ready = items.into_iter(),
                None => break,
            }
        }
        let Some(producer) = &mut self.producer else {
            return Poll::Ready(None);
        };
        let ended = ready!(Pin::new(producer).poll(context));
        self.producer = None;
        if let Err(error) = ended {
            let shut_down = |_| -> Payload { Box::new(SHUT_DOWN) };
            resume_unwind(error.try_into_panic().unwrap_or_else(shut_down));
        }
        Poll::Ready(None)
    }
}

impl<T> Unpin for Stream<T> {}

impl<T> IntoIterator for Stream<T> {
    type Item = T;
    type IntoIter = StreamIter<T>;

    /// The items on the calling thread, which blocks while there is none.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let mut sum = 0;
    /// for square in (1..=3_u32).into_par_query().map(|n| n * n).stream() {
    ///     sum += square;
    /// }
    /// assert_eq!(sum, 14);
    /// ```
    fn into_iter(self) -> StreamIter<T> {
        StreamIter { stream: self }
    }
}

/// A stream's items as a blocking iterator.
#[derive(Debug)]
#[must_use = "iterators are lazy"]
pub struct StreamIter<T> {
    stream: Stream<T>,
}

impl<T> Iterator for StreamIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let ready = self.stream.ready.next();
        ready.or_else(|| task::block_on(self.stream.next()))
    }
}

impl<T> futures_core::Stream for Stream<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll(context)
    }
}

impl<T> fmt::Debug for Stream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("ready", &self.ready.len())
            .field("is_over", &self.producer.is_none())
            .finish_non_exhaustive()
    }
}

impl<P, O, E> Query<'static, P, O, E>
where
    P: Pipeline<Item: 'static> + 'static,
    O: Order,
    E: Ending<Output<()> = ()> + 'static,
{
    /// The items as they are made, in order, for async code or for a thread. A task of the query's runtime makes them, up to
    /// two steps ahead, and keeps no thread while they are not taken; see [`Merge`](crate::query::Merge). Dropping the stream
    /// ends it.
    ///
    /// # Panics
    /// The stream does when operators do, or if the runtime is shut down before the end.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let squares = || (0..1_000_000_u64).into_par_query().map(|n| n * n).stream();
    /// assert_eq!(squares().into_iter().nth(4), Some(16));
    /// manyhands::task::block_on(async {
    ///     assert_eq!(squares().next().await, Some(0));
    /// });
    /// ```
    #[doc(alias = "GetEnumerator")]
    #[track_caller]
    pub fn stream(self) -> Stream<P::Item> {
        let (pipeline, run) = self.into_run();
        let named = run.settings.runtime.map(Runtime::handle);
        let runtime = named.unwrap_or_else(Handle::current);
        Stream::made_by(&runtime, |sender, token| async move {
            let mut steps = Steps::new(pipeline, run);
            let run = run.while_wanted(&token);
            while let Some(items) = steps.step(&run) {
                if items.is_empty() {
                    // Nothing may ever come.
                    task::yield_now().await;
                } else if sender.send(items).await.is_err() {
                    break;
                }
            }
        })
    }
}

impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// Continues as an iterator on the calling thread, as by [`into_iter`](Self::into_iter); the operators before it still
    /// run in parallel, in steps.
    ///
    /// # Cost
    /// Items are moved through a vector: a few nanoseconds each.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, query::prelude::*};
    /// let sums = (1..=4).into_par_query().map(|n| n * n).sequential().scan(0, |sum, n| {
    ///     *sum += n;
    ///     Some(*sum)
    /// });
    /// assert_eq!(parallel::from_iter(sums).into_par_query().map(|sum| sum + 1).to_vec(), [2, 6, 15, 31]);
    /// ```
    #[doc(alias("AsSequential", "AsEnumerable"))]
    #[track_caller]
    pub fn sequential(self) -> impl Iterator<Item = E::Output<P::Item>> {
        self.into_iter()
    }
}

impl<'a, P: Pipeline<Item: 'static> + 'a, O: Order> Query<'a, P, O, ()> {
    /// Runs `body`'s future for each item and gives the results as a stream: in order, or, of an unordered
    /// query, as they end.
    ///
    /// As many items run at once as give the highest throughput, adapted while they run, or
    /// [`degree_of_parallelism`](Self::degree_of_parallelism). Each poll of the stream makes one step of the query's
    /// own items, there and on workers; so the source should not block, nor bodies wait for one another. See
    /// [`stream_async`](crate::parallel::AsyncOptions::stream_async) for failures.
    ///
    /// # Cancellation
    /// Dropping the stream cancels the running items.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{query::prelude::*, task};
    /// let query = (0..10).into_par_query().filter(|n| n % 3 == 0);
    /// let mut squares = query.map_async(|n| async move { n * n });
    /// task::block_on(async {
    ///     assert_eq!(squares.next().await, Some(0));
    ///     assert_eq!(squares.next().await, Some(9));
    /// });
    /// ```
    #[doc(alias = "ForEachAsync")]
    #[track_caller]
    pub fn map_async<Fut>(
        self,
        body: impl Fn(P::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, Fut::Output>
    where
        Fut: Future<Output: Send + 'static> + Send + 'static,
    {
        let options = AsyncOptions::planned(self.settings.degree, self.settings.runtime);
        let (pipeline, run) = self.into_run();
        let mut steps = Steps::new(pipeline, run);
        let mut ready = Vec::new().into_iter();
        // A poll makes at most one step, so that a source of which few items pass does not delay results.
        let items = from_stream(PollStream(move |context: &mut Context<'_>| {
            if let Some(item) = ready.next() {
                return Poll::Ready(Some(item));
            }
            let Some(items) = steps.step(&run) else {
                return Poll::Ready(None);
            };
            ready = items.into_iter();
            match ready.next() {
                Some(item) => Poll::Ready(Some(item)),
                None => {
                    wake_by_ref(context.waker());
                    Poll::Pending
                }
            }
        }));
        if O::IS_KEPT {
            options.stream_async(items, body)
        } else {
            options.stream_async_unordered(items, body)
        }
    }
}

/// A stream's producer was dropped although its items were wanted.
const SHUT_DOWN: &str = "the runtime was shut down while a query's stream was made on it";
