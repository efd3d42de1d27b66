//! Operators that make any number of items of each, in one pass: `filter`, `filter_map`, and joins (`join.rs`).
//!
//! Operators behind them do not know positions; see [`Pipeline`].
//!
//! Not here: operators that may make very many items of one (`flat_map.rs`).

use crate::engine::consumer::Consumer;
use crate::engine::consumer::Ending;
use crate::query::Query;
use crate::query::consumer_adapter::AdaptItem;
use crate::query::fused::Fused;
use crate::query::order::Order;
use crate::query::pipeline::Pipeline;
use std::ops::Range;

/// Makes any number of items of each.
pub trait FlatOp<T>: Send + Sync {
    /// The new items.
    type Output: Send;

    /// For the explanation.
    const NAME: &'static str;

    /// The new items of some items, in order.
    fn expand<I: Iterator<Item = T>>(&self, items: I) -> impl Iterator<Item = Self::Output>;
}

/// `G` between the items and a consumer.
#[derive(Debug)]
pub struct FlatAdapter<G>(pub(super) G);

impl<T, G: FlatOp<T>> AdaptItem<T> for FlatAdapter<G> {
    type Output = G::Output;
    const NAME: Option<&'static str> = Some(G::NAME);

    #[inline]
    fn alter<C: Consumer<G::Output>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: impl Iterator<Item = T>,
    ) {
        consumer.consume(runner, positions, self.0.expand(items));
    }
}

/// A pipeline with `G` applied to its items.
pub(super) type Flattened<P, G> = Fused<P, FlatAdapter<G>>;

/// See [`Query::filter`].
#[derive(Debug)]
pub struct Filter<F>(F);

impl<T: Send, F: Fn(&T) -> bool + Send + Sync> FlatOp<T> for Filter<F> {
    type Output = T;
    const NAME: &'static str = "filter";

    #[inline]
    fn expand<I: Iterator<Item = T>>(&self, items: I) -> impl Iterator<Item = T> {
        items.filter(&self.0)
    }
}

/// See [`Query::filter_map`].
#[derive(Debug)]
pub struct FilterMap<F>(F);

impl<T, R: Send, F: Fn(T) -> Option<R> + Send + Sync> FlatOp<T> for FilterMap<F> {
    type Output = R;
    const NAME: &'static str = "filter_map";

    #[inline]
    fn expand<I: Iterator<Item = T>>(&self, items: I) -> impl Iterator<Item = R> {
        items.filter_map(&self.0)
    }
}

impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// Keeps the items that satisfy the predicate.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let even = (1..=6).into_par_query().filter(|n| n % 2 == 0).to_vec();
    /// assert_eq!(even, [2, 4, 6]);
    /// ```
    #[doc(alias = "Where")]
    pub fn filter<F: Fn(&P::Item) -> bool + Send + Sync>(
        self,
        predicate: F,
    ) -> Query<'a, Flattened<P, Filter<F>>, O, E> {
        self.flat(Filter(predicate))
    }

    /// Maps each item, and keeps the results that are `Some`.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let numbers = ["1", "x", "3"].into_par_query().filter_map(|text| text.parse::<i32>().ok());
    /// assert_eq!(numbers.to_vec(), [1, 3]);
    /// ```
    #[doc(alias = "OfType")]
    pub fn filter_map<R: Send, F: Fn(P::Item) -> Option<R> + Send + Sync>(
        self,
        map: F,
    ) -> Query<'a, Flattened<P, FilterMap<F>>, O, E> {
        self.flat(FilterMap(map))
    }

    fn flat<G: FlatOp<P::Item>>(self, op: G) -> Query<'a, Flattened<P, G>, O, E> {
        self.with(|base| Fused::new(base, FlatAdapter(op)))
    }
}
