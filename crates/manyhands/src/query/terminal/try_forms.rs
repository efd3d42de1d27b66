//! Queries for their effects, and queries that end in bodies which can fail: every failure before the stop is reported.

use crate::engine::consumer::{Consumer, Ending, Watch};
use crate::job::catch;
use crate::parallel::Failures;
use crate::parallel::control::LoopState;
use crate::parallel::failure::Gathered;
use crate::parallel::for_each::ForEach;
use crate::query::Query;
use crate::query::consumer_adapter::AdaptItem;
use crate::query::fused::Fused;
use crate::query::gather::into_vec;
use crate::query::order::Order;
use crate::query::pipeline::Pipeline;
use std::ops::Range;

/// Gives the results of a body that can fail, up to the first failure.
struct Attempting<'a, F, Err> {
    body: F,
    gathered: &'a Gathered<Err>,
    state: LoopState,
}

impl<T, R, F, Err> AdaptItem<T> for Attempting<'_, F, Err>
where
    F: Fn(T) -> Result<R, Err> + Sync,
    Err: Send,
{
    type Output = R;

    fn alter<C: Consumer<R>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: impl Iterator<Item = T>,
    ) {
        let (mut position, state) = (positions.start, &self.state);
        let items = state.limit(position, items);
        let results = items.filter_map(|item| {
            let result = catch(|| (self.body)(item));
            let value = self.gathered.sort_out(position, result);
            if value.is_none() {
                state.note_failure();
            }
            position += 1;
            value
        });
        consumer.consume(runner, positions, results);
    }

    fn end(&self, end: u64) -> u64 {
        end.min((&self.state).end())
    }
}

impl<P: Pipeline, O: Order, E: Ending> Query<'_, P, O, E> {
    /// Calls `body` for each item, on the workers, in no particular order.
    ///
    /// # Panics
    /// If operators or bodies do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    /// let total = AtomicU64::new(0);
    /// (1..=10_u64).into_par_query().for_each(|n| { total.fetch_add(n, Ordering::Relaxed); });
    /// assert_eq!(total.into_inner(), 55);
    /// ```
    #[doc(alias = "ForAll")]
    #[track_caller]
    pub fn for_each(self, body: impl Fn(P::Item) + Sync) -> E::Output<()> {
        let (mut pipeline, run) = self.into_run();
        pipeline.drive(u64::MAX, &mut ForEach::new(body), &run);
        run.ending.conclude(Some(()))
    }

    /// Calls a body that can fail for each item.
    ///
    /// Panics of the body are collected too; those of operators before it resume unchanged.
    ///
    /// # Errors
    /// Every error that a body returned and every panic, and a cancellation. Positions are those of the
    /// items where all operators keep positions, else those near which the failed items were in the source.
    /// After the first failure no new bodies are started.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let checked = ["1", "x"].into_par_query().try_for_each(|text| text.parse::<i32>().map(drop));
    /// assert_eq!(checked.unwrap_err().errors().next().unwrap().0, 1);
    /// ```
    #[track_caller]
    pub fn try_for_each<Err: Send>(
        self,
        body: impl Fn(P::Item) -> Result<(), Err> + Send + Sync,
    ) -> Result<(), Failures<Err>> {
        let gathered = Gathered::new();
        let (mut trying, run) = self.trying(body, &gathered).into_run();
        trying.drive(u64::MAX, &mut ForEach::new(drop), &run);
        // First, for the reason given at `Pipeline::drive`.
        drop(trying);
        gathered.conclude(Some(()), run.ending.cancelled())
    }

    /// Collects the results of a body that can fail for each item, in order.
    ///
    /// # Errors
    /// As [`try_for_each`](Self::try_for_each); finished results are dropped.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let parsed = ["1", "2"].into_par_query().try_map(|text| text.parse::<i32>());
    /// assert_eq!(parsed.unwrap(), [1, 2]);
    /// ```
    #[track_caller]
    pub fn try_map<R: Send, Err: Send>(
        self,
        body: impl Fn(P::Item) -> Result<R, Err> + Send + Sync,
    ) -> Result<Vec<R>, Failures<Err>> {
        let gathered = Gathered::new();
        let (trying, run) = self.trying(body, &gathered).into_run();
        let results = into_vec(trying, &run);
        gathered.conclude(results, run.ending.cancelled())
    }
}

impl<'a, P, O, E> Query<'a, P, O, E> {
    fn trying<F, Err>(
        self,
        body: F,
        gathered: &Gathered<Err>,
    ) -> Query<'a, Fused<P, Attempting<'_, F, Err>>, O, E> {
        let attempting = Attempting {
            body,
            gathered,
            state: LoopState::new(),
        };
        self.with(|base| Fused(base, attempting))
    }
}
