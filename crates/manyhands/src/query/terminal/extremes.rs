//! The smallest and the largest item: the first of equal smallest ones, the last of equal largest ones, as
//! iterators do.

use crate::engine::consumer::Ending;
use crate::parallel::reduce::Fold;
use crate::query::Query;
use crate::query::order::Order;
use crate::query::pipeline::{Pipeline, drop_then};
use std::cmp::Ordering;

impl<P: Pipeline, O: Order, E: Ending> Query<'_, P, O, E> {
    /// The smallest item, the first one of equals; `None` if there are none.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([3, 1, 2].par_query().min(), Some(&1));
    /// ```
    #[doc(alias = "Min")]
    #[track_caller]
    pub fn min(self) -> E::Output<Option<P::Item>>
    where
        P::Item: Ord,
    {
        self.best(|best, item| item.cmp(best).is_lt())
    }

    /// The largest item, the last one of equals; `None` if there are none.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!(["many", "hands"].par_query().map(|word| word.len()).max(), Some(5));
    /// ```
    #[doc(alias = "Max")]
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
        self.best(|best, item| compare(best, item).is_gt())
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
        self.best(|best, item| compare(best, item).is_le())
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
            make: |item| (key(&item), item),
            replaces: |best: &(K, P::Item), made: &(K, P::Item)| replaces(&best.0, &made.0),
        };
        self.end_with(&best, |best| best.map(|(key, item)| drop_then(key, item)))
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
        self.end_with(&best, |best| best)
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
