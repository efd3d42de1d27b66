//! The smallest and the largest item: the first of equal smallest ones, the last of equal largest ones, as
//! iterators do.

use crate::engine::consumer::Ending;
use crate::parallel::reduce::MapReduce;
use crate::query::Query;
use crate::query::order::Order;
use crate::query::pipeline::Pipeline;
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
        self.reduce(|left, right| {
            if right.cmp(&left).is_lt() {
                right
            } else {
                left
            }
        })
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
        self.reduce(|left, right| {
            if right.cmp(&left).is_lt() {
                left
            } else {
                right
            }
        })
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
        self.reduce(|left, right| match compare(&left, &right) {
            Ordering::Greater => right,
            Ordering::Less | Ordering::Equal => left,
        })
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
        self.reduce(|left, right| match compare(&left, &right) {
            Ordering::Greater => left,
            Ordering::Less | Ordering::Equal => right,
        })
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

    /// Of two items, `takes_right` decides by their keys whether the right one is kept.
    #[track_caller]
    fn by_key<K: Send>(
        self,
        key: impl Fn(&P::Item) -> K + Sync,
        takes_right: impl Fn(&K, &K) -> bool + Sync,
    ) -> E::Output<Option<P::Item>> {
        let keyed = MapReduce {
            map: |item| (key(&item), item),
            reduce: |left: (K, P::Item), right: (K, P::Item)| {
                if takes_right(&left.0, &right.0) {
                    right
                } else {
                    left
                }
            },
        };
        let (mut pipeline, run) = self.into_run();
        let found = crate::query::gather::fold(&mut pipeline, &keyed, &run);
        run.ending
            .conclude(found.map(|found| found.map(|(_, item)| item)))
    }
}
