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
pub trait GroupFold<T>: Send + Sync {
    /// The part of an item that is kept until it is folded.
    type Kept: Send;

    /// The group's value.
    type Value: Send;

    /// For the explanation.
    const NAME: &'static str;

    /// The part of an item that is kept.
    fn keep(&self, item: T) -> Self::Kept;

    /// A value of no items.
    fn seed(&self) -> Self::Value;

    /// Adds an item.
    fn fold(&self, value: &mut Self::Value, item: Self::Kept);

    /// Adds the value of other items.
    fn combine(&self, value: &mut Self::Value, other: Self::Value);
}

/// Items are counted.
#[derive(Debug)]
pub struct Count;

impl<T> GroupFold<T> for Count {
    type Kept = ();
    type Value = usize;
    const NAME: &'static str = "count_by";

    #[inline]
    fn keep(&self, _item: T) {}

    #[inline]
    fn seed(&self) -> usize {
        0
    }

    #[inline]
    fn fold(&self, value: &mut usize, (): ()) {
        *value += 1;
    }

    #[inline]
    fn combine(&self, value: &mut usize, other: usize) {
        *value += other;
    }
}

/// Items are folded by closures: a seed, what adds an item, and what adds the value of another runner.
#[derive(Debug)]
pub struct ByClosures<S, F, C>(S, F, C);

impl<T, A, S, F, C> GroupFold<T> for ByClosures<S, F, C>
where
    T: Send,
    A: Send,
    S: Fn() -> A + Send + Sync,
    F: Fn(&mut A, T) + Send + Sync,
    C: Fn(&mut A, A) + Send + Sync,
{
    type Kept = T;
    type Value = A;
    const NAME: &'static str = "fold_by";

    #[inline]
    fn keep(&self, item: T) -> T {
        item
    }

    #[inline]
    fn seed(&self) -> A {
        (self.0)()
    }

    #[inline]
    fn fold(&self, value: &mut A, item: T) {
        (self.1)(value, item);
    }

    #[inline]
    fn combine(&self, value: &mut A, other: A) {
        (self.2)(value, other);
    }
}

/// A [`GroupFold`] over the kept parts of items of type `T`.
struct Folding<'a, F, T>(&'a F, std::marker::PhantomData<fn(T)>);

impl<T, F: GroupFold<T>> Gather<F::Kept> for Folding<'_, F, T> {
    type Group = F::Value;

    #[inline]
    fn begin(&self, item: F::Kept, _run: u64) -> F::Value {
        let mut value = self.0.seed();
        self.0.fold(&mut value, item);
        value
    }

    #[inline]
    fn add(&self, value: &mut F::Value, item: F::Kept, _run: u64, _earlier: bool) {
        self.0.fold(value, item);
    }

    #[inline]
    fn merge(&self, value: &mut F::Value, other: F::Value, _earlier: bool) {
        self.0.combine(value, other);
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
    type Item = (K, F::Value);
    type Positions = OwnedItems<Self::Item>;

    fn open<E: Ending>(mut self, _most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let split = |item| {
            let key = (self.key)(&item);
            Some((key, self.fold.keep(item)))
        };
        let gather = Folding(&self.fold, std::marker::PhantomData);
        let mut groups = Groups::new(split, gather, self.base.positions_left());
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
    #[doc(alias = "CountBy")]
    #[doc(alias = "counts_by")]
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
