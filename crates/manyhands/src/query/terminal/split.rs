//! Queries as two vectors: `partition`, `unzip`.

use crate::engine::consumer::Ending;
use crate::parallel::reduce::Fold;
use crate::query::Query;
use crate::query::gather::{IntoCollection, append_vec};
use crate::query::order::Order;
use crate::query::pipeline::Pipeline;

impl<P: Pipeline, O: Order, E: Ending> Query<'_, P, O, E> {
    /// Items that satisfy the predicate, and those that do not, both in order.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let (even, odd) = (0..5).into_par_query().partition(|n| n % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4], vec![1, 3]));
    /// ```
    #[expect(clippy::type_complexity, reason = "a pair of vectors")]
    #[track_caller]
    pub fn partition(
        self,
        predicate: impl Fn(&P::Item) -> bool + Sync,
    ) -> E::Output<(Vec<P::Item>, Vec<P::Item>)> {
        self.end_with(&Partitioning(predicate), Option::unwrap_or_default)
    }
}

impl<A: Send, B: Send, P: Pipeline<Item = (A, B)>, O: Order, E: Ending> Query<'_, P, O, E> {
    /// The first parts of all pairs, and the second ones.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let (names, ages) = [("Ada", 36), ("Bob", 7)].into_par_query().unzip();
    /// assert_eq!((names, ages), (vec!["Ada", "Bob"], vec![36, 7]));
    /// ```
    #[track_caller]
    pub fn unzip(self) -> E::Output<(Vec<A>, Vec<B>)> {
        let collecting = IntoCollection(append_both::<A, B>);
        self.end_with(&collecting, Option::unwrap_or_default)
    }
}

/// Sorts items into two vectors.
struct Partitioning<F>(F);

impl<T: Send, F: Fn(&T) -> bool + Sync> Fold<T> for Partitioning<F> {
    type Value = (Vec<T>, Vec<T>);

    fn fold<I: Iterator<Item = T>>(
        &self,
        value: Option<Self::Value>,
        items: I,
    ) -> Option<Self::Value> {
        let (mut yes, mut no) = value.unwrap_or_default();
        items.for_each(|item| {
            if (self.0)(&item) {
                yes.push(item);
            } else {
                no.push(item);
            }
        });
        Some((yes, no))
    }

    fn combine(&self, mut left: Self::Value, right: Self::Value) -> Self::Value {
        append_both(&mut left, right);
        left
    }
}

/// Adds later items.
fn append_both<A, B>(to: &mut (Vec<A>, Vec<B>), later: (Vec<A>, Vec<B>)) {
    append_vec(&mut to.0, later.0);
    append_vec(&mut to.1, later.1);
}
