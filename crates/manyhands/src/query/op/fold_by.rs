//! One value for each key, from its items in any order: `fold_by`, `count_by`.

use crate::engine::consumer::Ending;
use crate::query::Query;
use crate::query::hash::local::Gather;
use crate::query::order::Order;
use crate::query::pipeline::{Pipeline, drop_then};
use std::hash::Hash;

/// Items are folded by closures: a seed, what adds an item, and what adds the value of another runner.
struct ByClosures<S, F, C>(S, F, C);

impl<T, A, S, F, C> Gather<T> for ByClosures<S, F, C>
where
    A: Send,
    S: Fn() -> A + Sync,
    F: Fn(&mut A, T) + Sync,
    C: Fn(&mut A, A) + Sync,
{
    type Group = A;

    #[inline]
    fn begin(&self, item: T, _run: u64) -> A {
        let mut value = (self.0)();
        (self.1)(&mut value, item);
        value
    }

    #[inline]
    fn add(&self, value: &mut A, item: T, _run: u64, _earlier: bool) {
        (self.1)(value, item);
    }

    #[inline]
    fn merge(&self, value: &mut A, other: A, _earlier: bool) {
        (self.2)(value, other);
    }
}

impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// Counts the items with equal keys.
    ///
    /// The keys of an ordered query come in the order of their first items.
    ///
    /// # Cost
    /// Memory for the different keys, and for a few times as many items, not for all items.
    ///
    /// # Panics
    /// When the query is run, if `key` does, or the keys' comparison.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["to", "be", "or", "not", "to", "be"];
    /// let counts = words.into_par_query().count_by(|word| *word).to_vec();
    /// assert_eq!(counts, [("to", 2), ("be", 2), ("or", 1), ("not", 1)]);
    /// ```
    #[doc(alias("CountBy", "counts_by"))]
    pub fn count_by<K: Hash + Eq + Send, F: Fn(&P::Item) -> K + Send + Sync>(
        self,
        key: F,
    ) -> Query<'a, impl Pipeline<Item = (K, usize)>, O, E> {
        let split = move |item: P::Item| {
            let key = key(&item);
            drop_then(item, Some((key, ())))
        };
        let counting = ByClosures(
            || 0_usize,
            |count: &mut usize, ()| *count += 1,
            |count: &mut usize, other: usize| *count += other,
        );
        self.gather_by("count_by", split, counting, |key, count| (key, count))
    }

    /// Folds the items with equal keys into one value, beginning with a seed, in any order.
    ///
    /// Values of parts of the items are combined, so the order and grouping of the items must not matter; where they
    /// do, use [`aggregate_by`](Self::aggregate_by). The keys of an ordered query come in the order of their first
    /// items. Closures and comparisons of keys must not wait for those of other items.
    ///
    /// # Cost
    /// As [`count_by`](Self::count_by).
    ///
    /// # Panics
    /// When the query is run, if a closure does, or the keys' comparison.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let sums = (1..=6_u32)
    ///     .into_par_query()
    ///     .fold_by(|n| n % 2, || 0, |sum, n| *sum += n, |sum, other| *sum += other)
    ///     .to_vec();
    /// assert_eq!(sums, [(1, 9), (0, 12)]);
    /// ```
    #[doc(alias = "AggregateBy")]
    pub fn fold_by<K, A, G, S, F, C>(
        self,
        key: G,
        seed: S,
        fold: F,
        combine: C,
    ) -> Query<'a, impl Pipeline<Item = (K, A)>, O, E>
    where
        K: Hash + Eq + Send,
        A: Send,
        G: Fn(&P::Item) -> K + Send + Sync,
        S: Fn() -> A + Send + Sync,
        F: Fn(&mut A, P::Item) + Send + Sync,
        C: Fn(&mut A, A) + Send + Sync,
    {
        let split = move |item: P::Item| Some((key(&item), item));
        let folding = ByClosures(seed, fold, combine);
        self.gather_by("fold_by", split, folding, |key, value| (key, value))
    }
}
