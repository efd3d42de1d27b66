//! Pairs of items with equal keys: `join`, `left_join`, `group_join`.
//!
//! The other query runs first, into a table; then each item of this one looks its partners up, in one loop with its
//! other operators. So an ordered query gives pairs in its own order, and those of one item in the other's.

use crate::engine::Ending;
use crate::query::gather::into_vec;
use crate::query::hash::buckets::Buckets;
use crate::query::op::apply::{Applied, Map};
use crate::query::op::flat_op::{FlatOp, Flattened};
use crate::query::{IntoParQuery, Matches, Order, Pipeline, Query, QueryRun};
use crate::sync::{Mutex, get_mut, lock};
use std::hash::Hash;
use std::iter;

/// Looks up the partners of each item.
struct Probe<Q, F, G, M, K, U> {
    /// The other query and its items' key, until it is run. Behind a lock, because a query need not be shared.
    other: Mutex<Option<(Q, G)>>,
    key: F,
    matching: M,
    /// The other query's items by key, from when it was run, unless it has panicked.
    table: Option<Buckets<K, U>>,
}

/// All items of a query, each divided into its key and the rest by `split`. After a cancellation some may be missing.
pub(super) fn buckets_of<P: Pipeline, K: Hash + Eq + Send, V: Send, E: Ending>(
    query: P,
    split: impl Fn(P::Item) -> (K, V) + Send + Sync,
    run: &QueryRun<'_, E>,
) -> Buckets<K, V> {
    let items = into_vec(Applied(query, Map(split)), &run.for_merging());
    Buckets::new(items.unwrap_or_default())
}

/// How an item and its partners are combined.
trait Matching<T, U>: Send + Sync {
    /// The new item.
    type Output: Send;

    /// For the explanation.
    const NAME: &'static str;

    /// Makes any number of items.
    fn results(&self, item: T, partners: Matches<'_, U>) -> impl Iterator<Item = Self::Output>;
}

/// Each pair gives an item.
struct Inner<F>(F);

impl<T, U, R, F> Matching<T, U> for Inner<F>
where
    R: Send,
    F: Fn(&T, &U) -> R + Send + Sync,
{
    type Output = R;
    const NAME: &'static str = "join";

    #[inline]
    fn results(&self, item: T, partners: Matches<'_, U>) -> impl Iterator<Item = R> {
        partners.map(move |partner| (self.0)(&item, partner))
    }
}

/// Each pair gives an item, and so does an item without a partner.
struct Left<F>(F);

impl<T, U, R, F> Matching<T, U> for Left<F>
where
    R: Send,
    F: Fn(&T, Option<&U>) -> R + Send + Sync,
{
    type Output = R;
    const NAME: &'static str = "left_join";

    #[inline]
    fn results(&self, item: T, mut partners: Matches<'_, U>) -> impl Iterator<Item = R> {
        let first = iter::once(partners.next());
        let all = first.chain(partners.map(Some));
        all.map(move |partner| (self.0)(&item, partner))
    }
}

/// Each item gives one, with all its partners.
struct Grouped<F>(F);

impl<T, U, R, F> Matching<T, U> for Grouped<F>
where
    R: Send,
    F: Fn(T, Matches<'_, U>) -> R + Send + Sync,
{
    type Output = R;
    const NAME: &'static str = "group_join";

    #[inline]
    fn results(&self, item: T, partners: Matches<'_, U>) -> impl Iterator<Item = R> {
        iter::once((self.0)(item, partners))
    }
}

impl<T, Q, F, G, M, K, U> FlatOp<T> for Probe<Q, F, G, M, K, U>
where
    Q: Pipeline<Item = U>,
    F: Fn(&T) -> K + Send + Sync,
    G: Fn(&U) -> K + Send + Sync,
    M: Matching<T, U>,
    K: Hash + Eq + Send + Sync,
    U: Send + Sync,
{
    type Output = M::Output;
    const NAME: &'static str = M::NAME;

    fn prepare<E: Ending>(&mut self, run: &QueryRun<'_, E>) {
        if let Some((query, key)) = get_mut(&mut self.other).take() {
            let split = |item| (key(&item), item);
            self.table = Some(buckets_of(query, split, run));
        }
    }

    #[inline]
    fn expand<I: Iterator<Item = T>>(
        &self,
        _start: u64,
        items: I,
    ) -> impl Iterator<Item = M::Output> {
        let table = self.table.as_ref();
        let table = table.expect("a query that has panicked is not run again");
        items.flat_map(move |item| {
            let partners = table.find(&(self.key)(&item));
            self.matching.results(item, partners)
        })
    }

    fn explain(&self) -> String {
        let other = lock(&self.other);
        let other = other.as_ref().map(|(query, _)| query.explain());
        format!("{} ({})", M::NAME, other.unwrap_or_default())
    }
}

/// Joins. The other query runs first, and all its items are kept. Keys are compared as
/// [`HashMap`](std::collections::HashMap) does.
impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// Applies `result` to each item and each of the other query's items with an equal key.
    ///
    /// In this query's order if it is ordered, and for each item in the other's order.
    ///
    /// # Cost
    /// Memory for the other query's items and keys. This query's items are not kept.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let people = [("Ada", 2), ("Alan", 1), ("Grace", 2), ("Tim", 9)];
    /// let teams = [(1, "logic"), (2, "code")];
    /// let pairs = people
    ///     .par_query()
    ///     .join(&teams, |person| person.1, |team| team.0, |person, team| (person.0, team.1));
    /// assert_eq!(pairs.to_vec(), [("Ada", "code"), ("Alan", "logic"), ("Grace", "code")]);
    /// ```
    #[doc(alias = "inner_join")]
    pub fn join<Q, K, R, F, G, M>(
        self,
        other: Q,
        key: F,
        other_key: G,
        result: M,
    ) -> Query<'a, impl Pipeline<Item = R>, O, E>
    where
        Q: IntoParQuery<Item: Sync>,
        K: Hash + Eq + Send + Sync,
        R: Send,
        F: Fn(&P::Item) -> K + Send + Sync,
        G: Fn(&Q::Item) -> K + Send + Sync,
        M: Fn(&P::Item, &Q::Item) -> R + Send + Sync,
    {
        self.joined(other, key, other_key, Inner(result))
    }

    /// As [`join`](Self::join), and `result` is called once, with `None`, for each item without a partner.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let ids = [2, 3];
    /// let names = [(1, "one"), (2, "two")];
    /// let found = ids
    ///     .into_par_query()
    ///     .left_join(&names, |id| *id, |name| name.0, |id, name| (*id, name.map(|name| name.1)));
    /// assert_eq!(found.to_vec(), [(2, Some("two")), (3, None)]);
    /// ```
    #[doc(alias = "RightJoin")]
    pub fn left_join<Q, K, R, F, G, M>(
        self,
        other: Q,
        key: F,
        other_key: G,
        result: M,
    ) -> Query<'a, impl Pipeline<Item = R>, O, E>
    where
        Q: IntoParQuery<Item: Sync>,
        K: Hash + Eq + Send + Sync,
        R: Send,
        F: Fn(&P::Item) -> K + Send + Sync,
        G: Fn(&Q::Item) -> K + Send + Sync,
        M: Fn(&P::Item, Option<&Q::Item>) -> R + Send + Sync,
    {
        self.joined(other, key, other_key, Left(result))
    }

    /// Applies `result` to each item and all of the other query's items with an equal key.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let orders = [(1, 30), (2, 5), (1, 12)];
    /// let totals = [1, 2, 3].into_par_query().group_join(
    ///     &orders,
    ///     |id| *id,
    ///     |order| order.0,
    ///     |id, orders| (id, orders.map(|order| order.1).sum::<i32>()),
    /// );
    /// assert_eq!(totals.to_vec(), [(1, 42), (2, 5), (3, 0)]);
    /// ```
    pub fn group_join<Q, K, R, F, G, M>(
        self,
        other: Q,
        key: F,
        other_key: G,
        result: M,
    ) -> Query<'a, impl Pipeline<Item = R>, O, E>
    where
        Q: IntoParQuery<Item: Sync>,
        K: Hash + Eq + Send + Sync,
        R: Send,
        F: Fn(&P::Item) -> K + Send + Sync,
        G: Fn(&Q::Item) -> K + Send + Sync,
        M: Fn(P::Item, Matches<'_, Q::Item>) -> R + Send + Sync,
    {
        self.joined(other, key, other_key, Grouped(result))
    }

    fn joined<Q, K, F, G, M>(
        self,
        other: Q,
        key: F,
        other_key: G,
        matching: M,
    ) -> Query<'a, impl Pipeline<Item = M::Output>, O, E>
    where
        Q: IntoParQuery<Item: Sync>,
        K: Hash + Eq + Send + Sync,
        F: Fn(&P::Item) -> K + Send + Sync,
        G: Fn(&Q::Item) -> K + Send + Sync,
        M: Matching<P::Item, Q::Item>,
    {
        let other = (other.into_par_query().pipeline, other_key);
        let probe = Probe {
            other: Mutex::new(Some(other)),
            key,
            matching,
            table: None,
        };
        self.with(|base| Flattened(base, probe))
    }
}
