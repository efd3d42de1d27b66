//! Comparing two queries.

use crate::engine::consumer::Ending;
use crate::query::Query;
use crate::query::op::zip::Zip;
use crate::query::order::Ordered;
use crate::query::pipeline::{Breaker, Pipeline};
use crate::query::source::IntoParQuery;
use crate::query::terminal::find::test;

impl<P: Pipeline, E: Ending> Query<'_, P, Ordered, E> {
    /// Whether both have equal items in the same order. Stops at the first difference, or at once if their numbers
    /// differ.
    ///
    /// # Cost
    /// A side that does not know its positions is gathered before anything is compared.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert!([1, 2].into_par_query().sequence_equal(vec![1, 2]));
    /// assert!(![1, 2].into_par_query().sequence_equal(vec![1, 2, 3]));
    /// ```
    #[doc(alias("SequenceEqual", "eq"))]
    #[track_caller]
    pub fn sequence_equal<Q: IntoParQuery>(self, other: Q) -> E::Output<bool>
    where
        P::Item: PartialEq<Q::Item>,
    {
        let (pipeline, run) = self.into_run();
        let left = pipeline.into_positions(u64::MAX, &run);
        let right = other.into_par_query().pipeline;
        let right = right.into_positions(u64::MAX, &run);
        if left.len() != right.len() {
            return run.ending.conclude(Some(false));
        }
        let pairs = Zip(left, right).open(u64::MAX, &run);
        let differ = |(left, right)| left != right;
        let found = test(pairs, differ, &run);
        run.ending.conclude(found.map(|differs| !differs))
    }
}
