//! Each item once, and sets: `distinct`, `union`, `intersect`, `except`, by whole items or by a key.
//!
//! An ordered query keeps the first of equal items, an unordered one any.

use crate::engine::Ending;
use crate::parallel::source::OwnedItems;
use crate::query::hash::groups::Groups;
use crate::query::hash::local::Gather;
use crate::query::op::join::buckets_of;
use crate::query::{Breaker, IntoParQuery, Items, Order, Pipeline, Query, QueryRun, drop_then};
use std::hash::Hash;

/// Divides an item of which all is compared.
fn whole<T>(item: T) -> (T, ()) {
    (item, ())
}

/// The item again.
fn restored<T>(item: T, (): ()) -> T {
    item
}

/// Keeps the first of equal items.
struct KeepFirst;

impl<V: Send> Gather<V> for KeepFirst {
    type Group = V;

    #[inline]
    fn begin(&self, value: V, _run: u64) -> V {
        value
    }

    #[inline]
    fn add(&self, group: &mut V, value: V, _run: u64, earlier: bool) {
        if earlier {
            *group = value;
        }
    }

    fn merge(&self, group: &mut V, other: V, earlier: bool) {
        if earlier {
            *group = other;
        }
    }
}

/// See [`Query::intersect`], if the other's items are `WANTED`, and [`Query::except`].
struct Selected<P, Q, S, M, const WANTED: bool> {
    base: P,
    other: Q,
    /// Divides an item into what is compared and the rest,
    split: S,
    /// and restores it.
    make: M,
    in_order: bool,
}

impl<P, Q, V, S, M, const WANTED: bool> Breaker for Selected<P, Q, S, M, WANTED>
where
    P: Pipeline,
    Q: Pipeline<Item: Hash + Eq + Sync>,
    V: Send,
    S: Fn(P::Item) -> (Q::Item, V) + Send + Sync,
    M: Fn(Q::Item, V) -> P::Item + Send,
{
    type Item = P::Item;
    type Positions = OwnedItems<P::Item>;

    fn open<E: Ending>(self, _most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let others = buckets_of(self.other, |key| (key, ()), run);
        let split = |item: P::Item| {
            let (key, rest) = (self.split)(item);
            let is_in_other = others.find(&key).len() > 0;
            (is_in_other == WANTED).then_some((key, rest))
        };
        let groups = Groups::new(split, KeepFirst, self.base.positions_left());
        let items = groups.gather(self.base, self.in_order, run, self.make);
        Items::of_vec(drop_then((others, self.split), items))
    }

    fn explain(&self) -> [String; 2] {
        let name = if WANTED { "intersect" } else { "except" };
        let operation = format!("{name} ({})", self.other.explain());
        [self.base.explain(), operation]
    }
}

/// Sets. An ordered query keeps the first of equal items, at its position; keys are compared as
/// [`HashSet`](std::collections::HashSet) does. Comparisons and destructors of keys must not wait for those of other
/// items.
///
/// # Cost
/// Memory for all different items. The source is run to its end before the first is given. Hashing is fast and uses a
/// new key for each query, but is no defence against an attacker who can measure how long keys take.
impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// Each item once.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let numbers = [3, 1, 3, 2, 1];
    /// assert_eq!(numbers.into_par_query().distinct().to_vec(), [3, 1, 2]);
    /// ```
    #[doc(alias = "unique")]
    pub fn distinct(self) -> Query<'a, impl Pipeline<Item = P::Item>, O, E>
    where
        P::Item: Hash + Eq,
    {
        let split = |item: P::Item| Some(whole(item));
        self.gather_by("distinct", split, KeepFirst, restored)
    }

    /// One item for each key.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["many", "make", "hands", "work"];
    /// let firsts = words.into_par_query().distinct_by(|word| word.chars().next());
    /// assert_eq!(firsts.to_vec(), ["many", "hands", "work"]);
    /// ```
    #[doc(alias = "unique_by")]
    pub fn distinct_by<K: Hash + Eq + Send, F: Fn(&P::Item) -> K + Send + Sync>(
        self,
        key: F,
    ) -> Query<'a, impl Pipeline<Item = P::Item>, O, E> {
        let split = move |item: P::Item| Some((key(&item), item));
        self.gather_by("distinct", split, KeepFirst, drop_then)
    }

    /// Each of this query's items and of another's, once.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let either = [5, 1, 5].into_par_query().union([2, 1]);
    /// assert_eq!(either.to_vec(), [5, 1, 2]);
    /// ```
    pub fn union<Q: IntoParQuery<Item = P::Item>>(
        self,
        other: Q,
    ) -> Query<'a, impl Pipeline<Item = P::Item>, O, E>
    where
        P::Item: Hash + Eq,
    {
        self.chain(other).distinct()
    }

    /// One item for each key, of this query's items and another's.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let lengths = ["many", "make"].into_par_query().union_by(["hands", "work"], |word| word.len());
    /// assert_eq!(lengths.to_vec(), ["many", "hands"]);
    /// ```
    pub fn union_by<Q, K: Hash + Eq + Send, F>(
        self,
        other: Q,
        key: F,
    ) -> Query<'a, impl Pipeline<Item = P::Item>, O, E>
    where
        Q: IntoParQuery<Item = P::Item>,
        F: Fn(&P::Item) -> K + Send + Sync,
    {
        self.chain(other).distinct_by(key)
    }

    /// Each of this query's items that is also among the other's, once.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let both = [5, 1, 5, 2].into_par_query().intersect([2, 5, 7].par_query().copied());
    /// assert_eq!(both.to_vec(), [5, 2]);
    /// ```
    pub fn intersect<Q: IntoParQuery<Item = P::Item>>(
        self,
        other: Q,
    ) -> Query<'a, impl Pipeline<Item = P::Item>, O, E>
    where
        P::Item: Hash + Eq + Sync,
    {
        self.selected::<_, _, true>(other, whole, restored)
    }

    /// One item for each key that is also among these keys.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["many", "hands", "make"].into_par_query().intersect_by([4], |word| word.len());
    /// assert_eq!(words.to_vec(), ["many"]);
    /// ```
    pub fn intersect_by<Q, K: Hash + Eq + Send + Sync, F>(
        self,
        keys: Q,
        key: F,
    ) -> Query<'a, impl Pipeline<Item = P::Item>, O, E>
    where
        Q: IntoParQuery<Item = K>,
        F: Fn(&P::Item) -> K + Send + Sync,
    {
        let split = move |item: P::Item| (key(&item), item);
        self.selected::<_, _, true>(keys, split, drop_then)
    }

    /// Each of this query's items that is not among the other's, once.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let rest = [5, 1, 5, 2, 1].into_par_query().except([5, 7]);
    /// assert_eq!(rest.to_vec(), [1, 2]);
    /// ```
    pub fn except<Q: IntoParQuery<Item = P::Item>>(
        self,
        other: Q,
    ) -> Query<'a, impl Pipeline<Item = P::Item>, O, E>
    where
        P::Item: Hash + Eq + Sync,
    {
        self.selected::<_, _, false>(other, whole, restored)
    }

    /// One item for each key that is not among these keys.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["many", "hands", "make"].into_par_query().except_by([5], |word| word.len());
    /// assert_eq!(words.to_vec(), ["many"]);
    /// ```
    pub fn except_by<Q, K: Hash + Eq + Send + Sync, F>(
        self,
        keys: Q,
        key: F,
    ) -> Query<'a, impl Pipeline<Item = P::Item>, O, E>
    where
        Q: IntoParQuery<Item = K>,
        F: Fn(&P::Item) -> K + Send + Sync,
    {
        let split = move |item: P::Item| (key(&item), item);
        self.selected::<_, _, false>(keys, split, drop_then)
    }

    fn selected<Q: IntoParQuery<Item: Hash + Eq + Sync>, V: Send, const WANTED: bool>(
        self,
        other: Q,
        split: impl Fn(P::Item) -> (Q::Item, V) + Send + Sync,
        make: impl Fn(Q::Item, V) -> P::Item + Send,
    ) -> Query<'a, impl Pipeline<Item = P::Item>, O, E> {
        let other = other.into_par_query().pipeline;
        self.breaking(|base| Selected::<_, _, _, _, WANTED> {
            base,
            other,
            split,
            make,
            in_order: O::IS_KEPT,
        })
    }
}
