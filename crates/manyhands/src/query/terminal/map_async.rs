//! Queries whose last operator is a future: an async loop over the items.

use crate::parallel::{AsyncOptions, AsyncResults, from_stream};
use crate::query::Query;
use crate::query::order::Order;
use crate::query::pipeline::Pipeline;
use crate::query::terminal::steps::Steps;
use futures_core::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

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
        let items = from_stream(Stepwise {
            steps: Steps::new(pipeline, run),
            ready: Vec::new().into_iter(),
        });
        if O::IS_KEPT {
            options.stream_async(items, body)
        } else {
            options.stream_async_unordered(items, body)
        }
    }
}

/// A query's items. A poll makes at most one step, so that a source of which few items pass does not delay results.
struct Stepwise<'a, P: Pipeline> {
    steps: Steps<'a, P, ()>,
    ready: vec::IntoIter<P::Item>,
}

impl<P: Pipeline> Unpin for Stepwise<'_, P> {}

impl<P: Pipeline> Stream for Stepwise<'_, P> {
    type Item = P::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<P::Item>> {
        if let Some(item) = self.ready.next() {
            return Poll::Ready(Some(item));
        }
        let run = self.steps.run;
        let Some(items) = self.steps.step(&run) else {
            return Poll::Ready(None);
        };
        self.ready = items.into_iter();
        match self.ready.next() {
            Some(item) => Poll::Ready(Some(item)),
            None => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}
