//! Queries for their effects, and queries that end in bodies which can fail: every failure before the stop is reported.

use crate::engine::{Consumer, Ending};
use crate::parallel::for_each::ForEach;
use crate::parallel::map::Mapping;
use crate::parallel::ordered_collect::OrderedCollect;
use crate::parallel::{Failures, Gathered, LoopState};
use crate::query::{Order, Pipeline, Query};

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
    /// Panics of the body are collected too. Where the source or an operator panics, that panic resumes, and with it those of
    /// bodies; what bodies returned is lost then.
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
        self.attempt(body, |_| ForEach::new(drop), drop)
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
    #[doc(alias("try_fold", "try_reduce"))]
    #[track_caller]
    pub fn try_map<R: Send, Err: Send>(
        self,
        body: impl Fn(P::Item) -> Result<R, Err> + Send + Sync,
    ) -> Result<Vec<R>, Failures<Err>> {
        self.attempt(body, OrderedCollect::new, OrderedCollect::into_vec)
    }

    /// Gives the results of `body`, up to the first failure, to a consumer, which is made for a number of positions; returns
    /// what is made of that.
    #[track_caller]
    fn attempt<R, Err: Send, C: Consumer<R>, V>(
        self,
        body: impl Fn(P::Item) -> Result<R, Err> + Sync,
        consumer: impl FnOnce(Option<u64>) -> C,
        value: impl FnOnce(C) -> V,
    ) -> Result<V, Failures<Err>> {
        let (gathered, state) = (Gathered::new(), LoopState::new());
        let (mut pipeline, run) = self.into_run();
        let value = gathered.around(|| {
            let mut consumer = consumer(pipeline.positions_left());
            let mut attempting = Mapping {
                body: |position, item, (): &mut ()| {
                    gathered.attempt(&state, position, || body(item))
                },
                consumer: &mut consumer,
                watch: &state,
                init: &|| (),
                finish: &|()| (),
            };
            pipeline.drive(u64::MAX, &mut attempting, &run);
            // First, for the reason given at `Pipeline::drive`.
            drop((pipeline, body));
            (!run.is_cancelled()).then(|| value(consumer))
        });
        gathered.conclude(value, run.ending.cancelled())
    }
}
