//! Queries as one value: reductions, sums, counts, the smallest and the largest item. Values of blocks are combined in the
//! source's order.

use crate::engine::Ending;
use crate::parallel::reduce::{Fold, MapReduce, Summing, fold_kept};
use crate::query::gather::fold;
use crate::query::{Order, Ordered, Pipeline, Query, drop_then};
use std::cmp::Ordering;
use std::iter::Sum;
use std::marker::PhantomData;

/// Folds by closures: the seed, the fold, and the combination of two values.
struct Folding<S, F, C>(S, F, C);

impl<T, A, S, F, C> Fold<T> for Folding<S, F, C>
where
    A: Send,
    S: Fn() -> A + Sync,
    F: Fn(A, T) -> A + Sync,
    C: Fn(A, A) -> A + Sync,
{
    type Value = A;

    #[inline]
    fn fold<I: Iterator<Item = T>>(&self, value: Option<A>, items: I) -> Option<A> {
        fold_kept(value.unwrap_or_else(&self.0), items, &self.1)
    }

    fn combine(&self, left: A, right: A) -> A {
        (self.2)(left, right)
    }
}

/// [`Iterator::count`] of each block.
struct Counting;

impl<T> Fold<T> for Counting {
    type Value = usize;

    #[inline]
    fn fold<I: Iterator<Item = T>>(&self, value: Option<usize>, items: I) -> Option<usize> {
        Some(value.unwrap_or_default() + items.count())
    }

    fn combine(&self, left: usize, right: usize) -> usize {
        left + right
    }
}

/// Keeps one of the values that are made of the items.
struct Best<M, F> {
    make: M,
    /// Whether the second of two values, which comes later, replaces the first.
    replaces: F,
}

impl<T, V, M, F> Fold<T> for Best<M, F>
where
    V: Send,
    M: Fn(T) -> V + Sync,
    F: Fn(&V, &V) -> bool + Sync,
{
    type Value = V;

    #[inline]
    fn fold<I: Iterator<Item = T>>(&self, value: Option<V>, items: I) -> Option<V> {
        let mut values = items.map(&self.make);
        let mut best = match value {
            Some(value) => value,
            None => values.next()?,
        };
        // A search for each: as a chain of choices, each item would wait for the one before.
        while let Some(better) = values.find(|value| (self.replaces)(&best, value)) {
            best = better;
        }
        // First, for the reason given at `Pipeline::drive`: items may be left.
        drop(values);
        Some(best)
    }

    fn combine(&self, left: V, right: V) -> V {
        if (self.replaces)(&left, &right) {
            drop_then(left, right)
        } else {
            drop_then(right, left)
        }
    }
}

impl<P: Pipeline, O: Order, E: Ending> Query<'_, P, O, E> {
    /// Combines all items in the source's order; `None` if there are none.
    ///
    /// `reduce` must be associative; it need not be commutative. How items are grouped may differ from run
    /// to run unless the query is [`deterministic`](Query::deterministic).
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let text = (0..5).into_par_query().map(|i| i.to_string()).reduce(|a, b| a + &b);
    /// assert_eq!(text.as_deref(), Some("01234"));
    /// ```
    #[doc(alias("reduce_with", "product", "Aggregate"))]
    #[track_caller]
    pub fn reduce(
        self,
        reduce: impl Fn(P::Item, P::Item) -> P::Item + Sync,
    ) -> E::Output<Option<P::Item>> {
        let folding = MapReduce {
            map: |item| item,
            reduce,
        };
        self.end_with(folding, |_, reduced| reduced)
    }

    /// Folds items into accumulators, and combines those in the source's order.
    ///
    /// `seed` makes an accumulator for each run of blocks that follow each other on one runner, `combine`
    /// is called one time less; an empty query gives one seed. `combine` must be associative, with `seed`'s
    /// value neutral.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let (sum, count) = [2.0, 4.0].into_par_query().fold(
    ///     || (0.0, 0),
    ///     |(sum, count), n| (sum + n, count + 1),
    ///     |(sum, count), (more_sum, more)| (sum + more_sum, count + more),
    /// );
    /// assert_eq!((sum, count), (6.0, 2));
    /// ```
    #[doc(alias("Aggregate", "aggregate"))]
    #[track_caller]
    pub fn fold<A: Send>(
        self,
        seed: impl Fn() -> A + Sync,
        fold: impl Fn(A, P::Item) -> A + Sync,
        combine: impl Fn(A, A) -> A + Sync,
    ) -> E::Output<A> {
        let folding = Folding(seed, fold, combine);
        self.end_with(folding, |folding, value| value.unwrap_or_else(&folding.0))
    }

    /// All items added up, like [`Iterator::sum`].
    ///
    /// # Panics
    /// If operators or the addition do; that of integers does on overflow where debug assertions are on.
    /// See [`checked_sum`](Self::checked_sum).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let even: u32 = (1..=10_u32).into_par_query().filter(|n| n % 2 == 0).sum();
    /// assert_eq!(even, 30);
    /// ```
    #[track_caller]
    pub fn sum<V: Sum<P::Item> + Sum<V> + Send>(self) -> E::Output<V> {
        self.end_with(Summing::<V>(PhantomData), |_, sum| {
            sum.unwrap_or_else(|| std::iter::empty::<V>().sum())
        })
    }

    /// The number of items.
    ///
    /// # Cost
    /// The items of operators before it are made, as by [`Iterator::count`].
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((0..10).into_par_query().filter(|n| n % 3 == 0).count(), 4);
    /// ```
    #[doc(alias = "LongCount")]
    #[track_caller]
    pub fn count(self) -> E::Output<usize> {
        self.end_with(Counting, |_, count| count.unwrap_or_default())
    }

    /// The smallest item, the first one of equals; `None` if there are none. For floats: `min_by(f64::total_cmp)`.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([3, 1, 2].par_query().min(), Some(&1));
    /// ```
    #[track_caller]
    pub fn min(self) -> E::Output<Option<P::Item>>
    where
        P::Item: Ord,
    {
        self.best(|best, item| item.cmp(best).is_lt())
    }

    /// The largest item, the last one of equals; `None` if there are none. For floats: `max_by(f64::total_cmp)`.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!(["many", "hands"].par_query().map(|word| word.len()).max(), Some(5));
    /// ```
    #[track_caller]
    pub fn max(self) -> E::Output<Option<P::Item>>
    where
        P::Item: Ord,
    {
        self.best(|best, item| item.cmp(best).is_ge())
    }

    /// The smallest item by a comparison, the first one of equals.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let least = [2.5, -1.0].into_par_query().min_by(f64::total_cmp);
    /// assert_eq!(least, Some(-1.0));
    /// ```
    #[track_caller]
    pub fn min_by(
        self,
        compare: impl Fn(&P::Item, &P::Item) -> Ordering + Sync,
    ) -> E::Output<Option<P::Item>> {
        self.best(move |best, item| compare(best, item).is_gt())
    }

    /// The largest item by a comparison, the last one of equals.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([0.5_f64, 0.25].into_par_query().max_by(|a, b| a.total_cmp(b)), Some(0.5));
    /// ```
    #[track_caller]
    pub fn max_by(
        self,
        compare: impl Fn(&P::Item, &P::Item) -> Ordering + Sync,
    ) -> E::Output<Option<P::Item>> {
        self.best(move |best, item| compare(best, item).is_le())
    }

    /// The item with the smallest key, the first one of equals. Each item's key is computed once.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!(["hands", "many", "make"].into_par_query().min_by_key(|word| word.len()), Some("many"));
    /// ```
    #[doc(alias = "MinBy")]
    #[track_caller]
    pub fn min_by_key<K: Ord + Send>(
        self,
        key: impl Fn(&P::Item) -> K + Sync,
    ) -> E::Output<Option<P::Item>> {
        self.by_key(key, |left, right| right.cmp(left).is_lt())
    }

    /// The item with the largest key, the last one of equals. Each item's key is computed once.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!(["light", "hands", "many"].into_par_query().max_by_key(|word| word.len()), Some("hands"));
    /// ```
    #[doc(alias = "MaxBy")]
    #[track_caller]
    pub fn max_by_key<K: Ord + Send>(
        self,
        key: impl Fn(&P::Item) -> K + Sync,
    ) -> E::Output<Option<P::Item>> {
        self.by_key(key, |left, right| right.cmp(left).is_ge())
    }

    /// The item with the key that replaces all others.
    #[track_caller]
    fn by_key<K: Send>(
        self,
        key: impl Fn(&P::Item) -> K + Sync,
        replaces: impl Fn(&K, &K) -> bool + Sync,
    ) -> E::Output<Option<P::Item>> {
        let best = Best {
            make: move |item| (key(&item), item),
            replaces: move |best: &(K, P::Item), made: &(K, P::Item)| replaces(&best.0, &made.0),
        };
        self.end_with(best, |_, best| best.map(|(key, item)| drop_then(key, item)))
    }

    /// The item that replaces all others.
    #[track_caller]
    fn best(
        self,
        replaces: impl Fn(&P::Item, &P::Item) -> bool + Sync,
    ) -> E::Output<Option<P::Item>> {
        let best = Best {
            make: |item| item,
            replaces,
        };
        self.end_with(best, |_, best| best)
    }

    /// The result of what a fold makes of all items, which is `None` if there are none. The fold is dropped before it is returned,
    /// for the reason given at [`Pipeline::drive`].
    #[track_caller]
    pub(super) fn end_with<F: Fold<P::Item>, R>(
        self,
        folding: F,
        result: impl FnOnce(&F, Option<F::Value>) -> R,
    ) -> E::Output<R> {
        let (mut pipeline, run) = self.into_run();
        let value = fold(&mut pipeline, &folding, &run);
        drop(pipeline);
        let result = value.map(|value| result(&folding, value));
        drop(folding);
        run.ending.conclude(result)
    }
}

impl<P: Pipeline, E: Ending> Query<'_, P, Ordered, E> {
    /// The last item. Where positions are known, no other is made.
    ///
    /// # Panics
    /// If operators do; where positions are known, if there are 2^64 - 1 items or more.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((0..10).into_par_query().filter(|n| n % 4 == 0).last(), Some(8));
    /// ```
    #[doc(alias = "LastOrDefault")]
    #[track_caller]
    pub fn last(self) -> E::Output<Option<P::Item>> {
        if P::IS_POSITIONAL {
            return self.take_last(1).first();
        }
        // Not by [`Iterator::last`], which loses it if the drop of the one before panics.
        self.reduce(drop_then)
    }
}
