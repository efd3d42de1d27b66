//! One value for each key, from its items in any order: `fold_by`, `count_by`.

use crate::engine::consumer::Ending;
use crate::parallel::source::owned::OwnedItems;
use crate::query::Query;
use crate::query::explain::Explanation;
use crate::query::hash::groups::Groups;
use crate::query::hash::local::Gather;
use crate::query::items::Items;
use crate::query::order::Order;
use crate::query::pipeline::{Breaker, Materialized, Pipeline};
use crate::query::run::QueryRun;
use std::hash::Hash;

/// How a group's value is made of its items.
pub trait GroupFold<T>: Gather<<Self as GroupFold<T>>::Kept> + Send {
    /// The part of an item that is kept until it is folded.
    type Kept: Send;

    /// For the explanation.
    const NAME: &'static str;

    /// The part of an item that is kept.
    fn keep(item: T) -> Self::Kept;
}

/// Items are counted.
#[derive(Debug)]
pub struct Count;

impl Gather<()> for Count {
    type Group = usize;

    #[inline]
    fn begin(&self, (): (), _run: u64) -> usize {
        1
    }

    #[inline]
    fn add(&self, count: &mut usize, (): (), _run: u64, _earlier: bool) {
        *count += 1;
    }

    #[inline]
    fn merge(&self, count: &mut usize, other: usize, _earlier: bool) {
        *count += other;
    }
}

impl<T> GroupFold<T> for Count {
    type Kept = ();
    const NAME: &'static str = "count_by";

    #[inline]
    fn keep(_item: T) {}
}

/// Items are folded by closures: a seed, what adds an item, and what adds the value of another runner.
#[derive(Debug)]
pub struct ByClosures<S, F, C>(S, F, C);

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

impl<T: Send, S, F, C> GroupFold<T> for ByClosures<S, F, C>
where
    Self: Gather<T> + Send,
{
    type Kept = T;
    const NAME: &'static str = "fold_by";

    #[inline]
    fn keep(item: T) -> T {
        item
    }
}

/// See [`Query::fold_by`].
#[derive(Debug)]
pub struct FoldBy<P, K, F> {
    base: P,
    key: K,
    fold: F,
    in_order: bool,
}

impl<P, K, G, F> Breaker for FoldBy<P, G, F>
where
    P: Pipeline,
    K: Hash + Eq + Send,
    G: Fn(&P::Item) -> K + Send + Sync,
    F: GroupFold<P::Item>,
{
    type Item = (K, F::Group);
    type Positions = OwnedItems<Self::Item>;

    fn open<E: Ending>(mut self, _most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let split = |item| {
            let key = (self.key)(&item);
            Some((key, F::keep(item)))
        };
        let mut groups = Groups::new(split, self.fold, self.base.positions_left());
        self.base.drive(u64::MAX, &mut groups, &run.for_merging());
        drop(self.base);
        Items::of_vec(groups.conclude(self.in_order, |key, value| (key, value)))
    }

    fn explain(&self, explanation: &mut Explanation) {
        self.base.explain(explanation);
        explanation.by_position(F::NAME, false);
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
    ) -> Query<'a, Materialized<FoldBy<P, F, Count>>, O, E> {
        self.fold_groups(key, Count)
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
    ) -> Query<'a, Materialized<FoldBy<P, G, ByClosures<S, F, C>>>, O, E>
    where
        K: Hash + Eq + Send,
        A: Send,
        G: Fn(&P::Item) -> K + Send + Sync,
        S: Fn() -> A + Send + Sync,
        F: Fn(&mut A, P::Item) + Send + Sync,
        C: Fn(&mut A, A) + Send + Sync,
    {
        self.fold_groups(key, ByClosures(seed, fold, combine))
    }

    fn fold_groups<K: Hash + Eq + Send, G, F>(
        self,
        key: G,
        fold: F,
    ) -> Query<'a, Materialized<FoldBy<P, G, F>>, O, E>
    where
        G: Fn(&P::Item) -> K + Send + Sync,
        F: GroupFold<P::Item>,
    {
        self.breaking(|base| FoldBy {
            base,
            key,
            fold,
            in_order: O::IS_KEPT,
        })
    }
}
