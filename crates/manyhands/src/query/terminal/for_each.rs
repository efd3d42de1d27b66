//! Queries for their effects.

use crate::engine::consumer::Ending;
use crate::parallel::for_each::ForEach;
use crate::query::Query;
use crate::query::order::Order;
use crate::query::pipeline::Pipeline;

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
}
