//! What operators that gather by key have in common: `distinct`, `group_by`, and the sets; and one value for each key, from its
//! items in any order: `fold_by`, `count_by`.
//!
//! Not here: how items become groups (`query/hash/`), and what a group is, which each operator says.

use crate::engine::Ending;
use crate::parallel::source::OwnedItems;
use crate::query::hash::groups::Groups;
use crate::query::hash::local::Gather;
use crate::query::{Breaker, Items, Order, Pipeline, Query, QueryRun, drop_then};
use std::hash::Hash;

/// See [`Groups::gather`].
struct GatherBy<P, S, A, M> {
    base: P,
    name: &'static str,
    split: S,
    gather: A,
    make: M,
    in_order: bool,
}

impl<P, K, V, R, S, A, M> Breaker for GatherBy<P, S, A, M>
where
    P: Pipeline,
    K: Hash + Eq + Send,
    V: Send,
    R: Send,
    S: Fn(P::Item) -> Option<(K, V)> + Send + Sync,
    A: Gather<V> + Send,
    M: Fn(K, A::Group) -> R + Send,
{
    type Item = R;
    type Positions = OwnedItems<R>;

    fn open<E: Ending>(self, _most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let groups = Groups::new(self.split, self.gather, self.base.positions_left());
        Items::of_vec(groups.gather(self.base, self.in_order, run, self.make))
    }

    fn explain(&self) -> [String; 2] {
        [self.base.explain(), self.name.into()]
    }
}

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
    /// What `make` makes of each key and its group. See [`Groups::gather`].
    pub(super) fn gather_by<K: Hash + Eq + Send, V: Send, A: Gather<V> + Send, R: Send>(
        self,
        name: &'static str,
        split: impl Fn(P::Item) -> Option<(K, V)> + Send + Sync,
        gather: A,
        make: impl Fn(K, A::Group) -> R + Send,
    ) -> Query<'a, impl Pipeline<Item = R>, O, E> {
        self.breaking(|base| GatherBy {
            base,
            name,
            split,
            gather,
            make,
            in_order: O::IS_KEPT,
        })
    }

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
    #[doc(alias = "counts_by")]
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
    #[doc(alias("AggregateBy", "ConcurrentDictionary"))]
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
