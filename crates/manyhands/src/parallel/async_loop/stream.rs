//! Async loops as streams of their results, in order or as they end.

use super::AsyncSource;
use super::driver::Driver;
use super::handle::LoopHandle;
use super::options::AsyncOptions;
use crate::engine::Ending;
use crate::job::{Payload, catch, resume_all};
use crate::parallel::poll_stream::PollStream;
use futures_core::Stream;
use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The results of an async loop, one by one. Items begin only while it is polled.
///
/// Example: see [`AsyncResults::next`].
#[must_use = "streams do nothing unless polled"]
pub struct AsyncResults<'a, T> {
    pub(super) results: Pin<Box<dyn Stream<Item = T> + Send + 'a>>,
    pub(super) handle: LoopHandle,
}

impl<T> AsyncResults<'_, T> {
    /// The next result; `None` after the last one.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let mut squares = parallel::AsyncOptions::new().stream_async(0..3, |n| async move { n * n });
    /// let sum = task::block_on(async {
    ///     let mut sum = 0;
    ///     while let Some(square) = squares.next().await {
    ///         sum += square;
    ///     }
    ///     sum
    /// });
    /// assert_eq!(sum, 5);
    /// ```
    pub async fn next(&mut self) -> Option<T> {
        poll_fn(|context| self.results.as_mut().poll_next(context)).await
    }

    /// A handle that observes the loop, and changes how many items run at once, from any thread.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let mut squares = parallel::AsyncOptions::new().stream_async(0..10, |n| async move { n * n });
    /// let handle = squares.handle();
    /// handle.set_degree_of_parallelism(1)?;
    /// assert_eq!(task::block_on(squares.next()), Some(0));
    /// assert_eq!(handle.degree_of_parallelism(), 1);
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> LoopHandle {
        self.handle.clone()
    }
}

impl<T> Stream for AsyncResults<'_, T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.results.as_mut().poll_next(context)
    }
}

impl<T> fmt::Debug for AsyncResults<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncResults")
            .field("concurrency", &self.handle().degree_of_parallelism())
            .field("running", &self.handle().running())
            .field("begun", &self.handle().begun())
            .finish_non_exhaustive()
    }
}

/// The order in which results are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    OfSource,
    OfEnds,
}

/// The stream behind [`AsyncResults`].
struct Results<'a, S: AsyncSource, F, R, E> {
    driver: Option<Driver<'a, S, F, R>>,
    order: Order,
    /// Results that have ended and were not given yet: by position, or in order of their ends if the source's order
    /// does not matter.
    ended: BTreeMap<u64, R>,
    /// Results that have been given.
    given: u64,
    /// Which results end the stream.
    is_failure: fn(&R) -> bool,
    /// No result from here on is given: one before it has failed.
    end: u64,
    panics: Vec<Payload>,
    ending: E,
}

impl<S, F, Fut, E> Results<'_, S, F, Fut::Output, E>
where
    S: AsyncSource,
    F: Fn(S::Item) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send + 'static> + Send + 'static,
    E: Ending,
{
    /// Takes all results that have ended, and lets new items begin. Ready when all have ended.
    fn poll_driver(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Some(driver) = &mut self.driver {
            let most = driver.concurrency().saturating_mul(2);
            let room = most.saturating_sub(self.ended.len());
            match driver.poll_next(context, room) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some((position, Ok(value)))) => {
                    // Items before one that failed still run, if their results come before its.
                    let (place, unneeded) = match self.order {
                        Order::OfSource => (position, position + 1),
                        Order::OfEnds => (self.given + self.ended.len() as u64, 0),
                    };
                    if place >= self.end {
                        continue;
                    }
                    let is_failure = (self.is_failure)(&value);
                    self.ended.insert(place, value);
                    if is_failure {
                        self.end = place + 1;
                        driver.stop_from(unneeded);
                        // Last, because a drop may panic.
                        drop(self.ended.split_off(&self.end));
                    }
                    if driver.is_behind() && self.ended.contains_key(&self.given) {
                        // The source is slow, and this result need not wait for it.
                        return Poll::Pending;
                    }
                }
                Poll::Ready(Some((_, Err(payload)))) => self.panics.push(payload),
                Poll::Ready(None) => return Poll::Ready(()),
            }
        }
        Poll::Ready(())
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<E::Output<Fut::Output>>> {
        let polled = self.poll_driver(context);
        let cancelled = self.ending.cancelled();
        if self.panics.is_empty()
            && cancelled.is_none()
            && let Some(value) = self.ended.remove(&self.given)
        {
            self.given += 1;
            if let Some(driver) = &mut self.driver {
                driver.give_result();
            }
            // A cancellation at this very moment comes next.
            return Poll::Ready(Some(E::complete(value)));
        }
        if polled.is_pending() {
            return Poll::Pending;
        }
        let Some(mut driver) = self.driver.take() else {
            return Poll::Ready(None);
        };
        let ended = mem::take(&mut self.ended);
        self.panics.extend(driver.end());
        self.panics.extend(catch(|| drop(ended)).err());
        resume_all(mem::take(&mut self.panics));
        // Nothing follows the error of a body.
        let is_cut_short = cancelled.is_some() && self.given < self.end;
        Poll::Ready(is_cut_short.then(|| self.ending.conclude(None)))
    }
}

impl<'a, E: Ending + Send + 'a> AsyncOptions<'a, E> {
    /// A stream of what the bodies return, in the order of the source. See
    /// [`for_each_async`](crate::parallel::for_each_async).
    ///
    /// The stream keeps results that wait for an earlier one or for the consumer. At most twice as many items as may run
    /// at once have begun without being given out. Errors that bodies return are ordinary values and end nothing; the first
    /// one ends a [`try_stream_async`](Self::try_stream_async). After a cancellation the stream ends with the error.
    ///
    /// # Panics
    /// When it is polled, after items or the source panicked: then the other items are cancelled, and finished results are
    /// dropped.
    ///
    /// # Cancellation
    /// Dropping the stream cancels its items.
    ///
    /// # Examples
    /// ```
    /// use futures::StreamExt;
    /// use manyhands::{parallel, task};
    /// let two_at_once = parallel::AsyncOptions::new().degree_of_parallelism(2)?;
    /// task::block_on(async {
    ///     let squares = two_at_once.stream_async(1..=3, |n| async move { n * n });
    ///     assert_eq!(squares.collect::<Vec<_>>().await, [1, 4, 9]);
    ///     let squares = two_at_once.stream_async_unordered(1..=3, |n| async move { n * n });
    ///     assert_eq!(squares.fold(0, async |sum, square| sum + square).await, 14);
    /// });
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    #[doc(alias("TransformBlock", "buffered"))]
    #[track_caller]
    pub fn stream_async<S, Fut>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, E::Output<Fut::Output>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output: Send + 'static> + Send + 'static,
    {
        self.results(source, body, Order::OfSource, |_| false)
    }

    /// A stream of what the bodies return, in the order in which they end. Otherwise as
    /// [`stream_async`](Self::stream_async).
    ///
    /// # Panics
    /// As [`stream_async`](Self::stream_async).
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task, time};
    /// use std::time::Duration;
    ///
    /// let mut results = parallel::AsyncOptions::new().stream_async_unordered([20, 1], |millis| async move {
    ///     time::sleep(Duration::from_millis(millis)).await;
    ///     millis
    /// });
    /// let mut sum = 0;
    /// task::block_on(async {
    ///     while let Some(millis) = results.next().await {
    ///         sum += millis;
    ///     }
    /// });
    /// assert_eq!(sum, 21);
    /// ```
    #[doc(alias("buffer_unordered", "WhenEach"))]
    #[track_caller]
    pub fn stream_async_unordered<S, Fut>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, E::Output<Fut::Output>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output: Send + 'static> + Send + 'static,
    {
        self.results(source, body, Order::OfEnds, |_| false)
    }

    /// As [`stream_async`](Self::stream_async), with bodies that can fail: the first error ends the stream, and so
    /// does a cancellation, with the error of that.
    ///
    /// The stream gives the results of the items before the one that failed, then its error, and nothing more. From the
    /// moment when that item fails no other begins, and those behind it are cancelled; those before it still run.
    ///
    /// # Panics
    /// As [`stream_async`](Self::stream_async).
    ///
    /// # Cancellation
    /// Dropping the stream cancels its items.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let options = parallel::AsyncOptions::new();
    /// let mut parsed = options.try_stream_async(["1", "x", "3"], |text| async { text.parse::<i32>() });
    /// task::block_on(async {
    ///     assert_eq!(parsed.next().await, Some(Ok(1)));
    ///     assert!(parsed.next().await.unwrap().is_err());
    ///     assert_eq!(parsed.next().await, None);
    /// });
    /// ```
    #[doc(alias = "try_buffered")]
    #[track_caller]
    pub fn try_stream_async<S, Fut, R, Err>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, E::Output<Result<R, Err>>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = Result<R, Err>> + Send + 'static,
        R: Send + 'static,
        Err: Send + 'static,
    {
        self.results(source, body, Order::OfSource, Result::is_err)
    }

    /// As [`stream_async_unordered`](Self::stream_async_unordered), with bodies that can fail: the first error that is there
    /// ends the stream, or a cancellation, and all items that still run are cancelled.
    ///
    /// # Panics
    /// As [`stream_async`](Self::stream_async).
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let checks = parallel::AsyncOptions::new().try_stream_async_unordered(0..100, |n| async move {
    ///     if n == 70 { Err("seventy") } else { Ok(n) }
    /// });
    /// assert_eq!(task::block_on(checks.try_to_vec()), Err("seventy"));
    /// ```
    #[doc(alias = "try_buffer_unordered")]
    #[track_caller]
    pub fn try_stream_async_unordered<S, Fut, R, Err>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, E::Output<Result<R, Err>>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = Result<R, Err>> + Send + 'static,
        R: Send + 'static,
        Err: Send + 'static,
    {
        self.results(source, body, Order::OfEnds, Result::is_err)
    }

    #[track_caller]
    fn results<S, Fut>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
        order: Order,
        is_failure: fn(&Fut::Output) -> bool,
    ) -> AsyncResults<'a, E::Output<Fut::Output>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output: Send + 'static> + Send + 'static,
    {
        let (driver, handle) = Driver::new(source, body, self);
        let mut results = Results {
            driver: Some(driver),
            order,
            ended: BTreeMap::new(),
            given: 0,
            is_failure,
            end: u64::MAX,
            panics: Vec::new(),
            ending: self.ending,
        };
        let results = Box::pin(PollStream(move |context: &mut Context<'_>| {
            results.poll_next(context)
        }));
        AsyncResults { results, handle }
    }
}
