//! Queries whose last operator is a future: an async loop over the items.

use crate::parallel::{AsyncResults, Uncancellable, options};
use crate::query::Query;
use crate::query::order::Order;
use crate::query::pipeline::Pipeline;

impl<'a, P: Pipeline<Item: 'static> + 'a, O: Order> Query<'a, P, O, Uncancellable> {
    /// Runs `body`'s future for each item and gives the results as a stream: in order, or, of an unordered
    /// query, as they end.
    ///
    /// As many items run at once as get the most done, found while they run, or
    /// [`degree_of_parallelism`](Self::degree_of_parallelism). The query's own items are made in steps, where
    /// the stream is polled. See [`parallel::stream_async`](crate::parallel::stream_async) for failures.
    ///
    /// # Cancellation
    /// Dropping the stream cancels what runs.
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
    pub fn map_async<Fut>(
        self,
        body: impl Fn(P::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, Fut::Output>
    where
        Fut: Future<Output: Send + 'static> + Send + 'static,
    {
        let (settings, mut options) = (self.settings, options());
        if let Some(degree) = settings.degree {
            options = options.degree_of_parallelism(degree);
        }
        if let Some(runtime) = settings.runtime {
            options = options.runtime(runtime);
        }
        if O::IS_KEPT {
            options.stream_async(self.into_iter(), body)
        } else {
            options.stream_async_unordered(self.into_iter(), body)
        }
    }
}
