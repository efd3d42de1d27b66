//! Queries whose last operator is a future: an async loop over the items.

use crate::parallel::poll_stream::PollStream;
use crate::parallel::{AsyncOptions, AsyncResults, from_stream};
use crate::query::Query;
use crate::query::order::Order;
use crate::query::pipeline::Pipeline;
use crate::query::terminal::steps::Steps;
use std::task::{Context, Poll};

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
                    context.waker().wake_by_ref();
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
