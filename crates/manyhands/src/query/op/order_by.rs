//! Sorting in the chain: `order_by`, `then_by` and their like.
//!
//! A key is computed once for each item, before the sort: the key function may return something else at each call, and
//! the sort still has a consistent order. Further keys extend the comparison of the same sort, which the type
//! remembers: `then_by` exists only directly behind an `order_by`.

use crate::engine::Ending;
use crate::parallel::source::OwnedItems;
use crate::query::gather::into_vec;
use crate::query::op::apply::{Applied, Map};
use crate::query::op::least::least;
use crate::query::{
    Breaker, Items, Materialized, Order, Ordered, Pipeline, Query, QueryRun, drop_then,
};
use std::cmp::{Ordering, Reverse};

/// See [`Query::order_by`].
#[derive(Debug)]
pub struct OrderBy<P, S> {
    base: P,
    sorting: S,
}

/// What items are sorted by.
pub trait Sorting<T>: Send + Sync {
    /// The key that is computed once for each item.
    type Key: Send;

    /// Whether there is no such key.
    const IS_KEYLESS: bool;

    /// Computes it.
    fn key(&self, item: &T) -> Self::Key;

    /// Which of two items comes first.
    fn compare(&self, left: (&Self::Key, &T), right: (&Self::Key, &T)) -> Ordering;
}

/// A key, the smallest first.
#[derive(Debug)]
pub struct Ascending<F>(F);

impl<T, K: Ord + Send, F: Fn(&T) -> K + Send + Sync> Sorting<T> for Ascending<F> {
    type Key = K;
    const IS_KEYLESS: bool = false;

    #[inline]
    fn key(&self, item: &T) -> K {
        (self.0)(item)
    }

    #[inline]
    fn compare(&self, (left, _): (&K, &T), (right, _): (&K, &T)) -> Ordering {
        left.cmp(right)
    }
}

/// A comparison of the items themselves.
#[derive(Debug)]
pub struct Compared<F>(F);

impl<T, F: Fn(&T, &T) -> Ordering + Send + Sync> Sorting<T> for Compared<F> {
    type Key = ();
    const IS_KEYLESS: bool = true;

    #[inline]
    fn key(&self, _item: &T) {}

    #[inline]
    fn compare(&self, ((), left): (&(), &T), ((), right): (&(), &T)) -> Ordering {
        (self.0)(left, right)
    }
}

/// Another criterion for items that are equal by the first.
#[derive(Debug)]
pub struct Then<A, B>(A, B);

impl<T, A: Sorting<T>, B: Sorting<T>> Sorting<T> for Then<A, B> {
    type Key = (A::Key, B::Key);
    const IS_KEYLESS: bool = A::IS_KEYLESS && B::IS_KEYLESS;

    #[inline]
    fn key(&self, item: &T) -> Self::Key {
        (self.0.key(item), self.1.key(item))
    }

    #[inline]
    fn compare(&self, left: (&Self::Key, &T), right: (&Self::Key, &T)) -> Ordering {
        let first = self.0.compare((&left.0.0, left.1), (&right.0.0, right.1));
        first.then_with(|| self.1.compare((&left.0.1, left.1), (&right.0.1, right.1)))
    }
}

impl<P: Pipeline, S: Sorting<P::Item>> Breaker for OrderBy<P, S> {
    type Item = P::Item;
    type Positions = OwnedItems<P::Item>;

    fn open<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let Self { base, sorting } = self;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let items = if P::IS_POSITIONAL {
            let items = base.into_positions(u64::MAX, run);
            let is_long = items.len() / 2 > most as u64;
            first_sorted(items, &sorting, most, is_long, run)
        } else {
            first_sorted(base, &sorting, most, most < usize::MAX, run)
        };
        let items = drop_then(sorting, items);
        Items::new(OwnedItems::new(items), "order_by")
    }

    fn explain(&self) -> [String; 2] {
        [self.base.explain(), "order_by".into()]
    }
}

/// The first `most` items in the order of `sorting`, and others behind them, unless the items `are_many`.
fn first_sorted<P: Pipeline, S: Sorting<P::Item>, E: Ending>(
    base: P,
    sorting: &S,
    most: usize,
    are_many: bool,
    run: &QueryRun<'_, E>,
) -> Vec<P::Item> {
    if are_many {
        return without_keys(least(base, sorting, most, run));
    }
    if S::IS_KEYLESS {
        let mut items = into_vec(base, run).unwrap_or_default();
        run.options().sort_by(&mut items, |left, right| {
            let keys = (sorting.key(left), sorting.key(right));
            sorting.compare((&keys.0, left), (&keys.1, right))
        });
        return items;
    }
    let with_key = Map(|item: P::Item| (sorting.key(&item), item));
    let keyed = into_vec(Applied(base, with_key), run);
    let mut keyed = keyed.unwrap_or_default();
    run.options().sort_by(&mut keyed, |left, right| {
        sorting.compare((&left.0, &left.1), (&right.0, &right.1))
    });
    without_keys(keyed)
}

/// The items, in the memory of the keyed ones, which is longer than they need.
fn without_keys<K, T>(keyed: Vec<(K, T)>) -> Vec<T> {
    let without_key = |(key, item)| drop_then(key, item);
    let mut items: Vec<_> = keyed.into_iter().map(without_key).collect();
    if items.len() >= SHRUNK_LEN_MIN {
        items.shrink_to_fit();
    }
    items
}

/// A query behind an `order_by`.
type OrderedBy<'a, P, S, E> = Query<'a, Materialized<OrderBy<P, S>>, Ordered, E>;

impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// Sorts the items by a key, the smallest first; items with equal keys keep their order. A key that is a float is not
    /// `Ord`: use [`order_with`](Self::order_with).
    ///
    /// The result is ordered, also if the query was not before.
    ///
    /// # Cost
    /// `key` is called once for each item. Memory for all items with their keys, and twice that if the sort is shared.
    /// With [`take`](Query::take) behind it, only the taken items are sorted, unless that is half of the items or
    /// more, and each worker keeps twice as many items as are taken.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["light", "many", "work", "hands"];
    /// let sorted = words.par_query().copied().order_by(|word| word.len()).then_by(|word| *word);
    /// assert_eq!(sorted.to_vec(), ["many", "work", "hands", "light"]);
    /// ```
    #[doc(alias = "sorted_by_key")]
    pub fn order_by<K: Ord + Send, F: Fn(&P::Item) -> K + Send + Sync>(
        self,
        key: F,
    ) -> OrderedBy<'a, P, Ascending<F>, E> {
        self.sorted(Ascending(key))
    }

    /// Sorts the items by a key, the largest first; items with equal keys keep their order. See
    /// [`order_by`](Self::order_by).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["many", "hands", "make"].into_par_query().order_by_descending(|word| word.len());
    /// assert_eq!(words.to_vec(), ["hands", "many", "make"]);
    /// ```
    pub fn order_by_descending<K: Ord + Send, F: Fn(&P::Item) -> K + Send + Sync>(
        self,
        key: F,
    ) -> OrderedBy<'a, P, Ascending<impl Fn(&P::Item) -> Reverse<K> + Send + Sync>, E> {
        self.sorted(Ascending(move |item: &P::Item| Reverse(key(item))))
    }

    /// Sorts the items by a comparison; equal items keep their order. See [`order_by`](Self::order_by).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let sorted = [2.5, 0.5, 1.5].into_par_query().order_with(|a: &f64, b| b.total_cmp(a));
    /// assert_eq!(sorted.to_vec(), [2.5, 1.5, 0.5]);
    /// ```
    #[doc(alias("IComparer", "sorted_by"))]
    pub fn order_with<F: Fn(&P::Item, &P::Item) -> Ordering + Send + Sync>(
        self,
        compare: F,
    ) -> OrderedBy<'a, P, Compared<F>, E> {
        self.sorted(Compared(compare))
    }

    /// Sorts the items, the smallest first; equal ones keep their order. See [`order_by`](Self::order_by).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([3, 1, 2].into_par_query().order().take(2).to_vec(), [1, 2]);
    /// ```
    #[doc(alias("par_sort", "sorted"))]
    pub fn order(
        self,
    ) -> OrderedBy<'a, P, Compared<impl Fn(&P::Item, &P::Item) -> Ordering + Send + Sync>, E>
    where
        P::Item: Ord,
    {
        self.order_with(P::Item::cmp)
    }

    /// Sorts the items, the largest first; equal ones keep their order. See [`order_by`](Self::order_by).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([3, 1, 2].into_par_query().order_descending().to_vec(), [3, 2, 1]);
    /// ```
    pub fn order_descending(
        self,
    ) -> OrderedBy<'a, P, Compared<impl Fn(&P::Item, &P::Item) -> Ordering + Send + Sync>, E>
    where
        P::Item: Ord,
    {
        self.order_with(|left, right| right.cmp(left))
    }

    fn sorted<S: Sorting<P::Item>>(self, sorting: S) -> OrderedBy<'a, P, S, E> {
        self.ordered().breaking(|base| OrderBy { base, sorting })
    }
}

/// Further criteria, for items that are equal by those before. There is still only one sort.
///
/// # Examples
/// A criterion needs one before it:
/// ```compile_fail,E0599
/// use manyhands::query::prelude::*;
/// let sorted = [1, 2].into_par_query().then_by(|n| *n);
/// ```
impl<'a, P: Pipeline, S: Sorting<P::Item>, E: Ending> OrderedBy<'a, P, S, E> {
    /// Sorts items that are equal so far by another key, the smallest first.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["work", "light", "hands", "many"].into_par_query().order_by(|word| word.len());
    /// let words = words.then_by(|word| *word);
    /// assert_eq!(words.to_vec(), ["many", "work", "hands", "light"]);
    /// ```
    pub fn then_by<K: Ord + Send, F: Fn(&P::Item) -> K + Send + Sync>(
        self,
        key: F,
    ) -> OrderedBy<'a, P, Then<S, Ascending<F>>, E> {
        self.then(Ascending(key))
    }

    /// Sorts items that are equal so far by another key, the largest first.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let pairs = [(1, 'a'), (2, 'b'), (1, 'c')].into_par_query().order_by(|pair| pair.0);
    /// let pairs = pairs.then_by_descending(|pair| pair.1);
    /// assert_eq!(pairs.to_vec(), [(1, 'c'), (1, 'a'), (2, 'b')]);
    /// ```
    pub fn then_by_descending<K: Ord + Send, F: Fn(&P::Item) -> K + Send + Sync>(
        self,
        key: F,
    ) -> OrderedBy<'a, P, Then<S, Ascending<impl Fn(&P::Item) -> Reverse<K> + Send + Sync>>, E>
    {
        self.then(Ascending(move |item: &P::Item| Reverse(key(item))))
    }

    /// Sorts items that are equal so far by a comparison.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let pairs = [(1, 0.5_f64), (1, 0.25)].into_par_query().order_by(|pair| pair.0);
    /// let pairs = pairs.then_with(|a, b| a.1.total_cmp(&b.1));
    /// assert_eq!(pairs.to_vec(), [(1, 0.25), (1, 0.5)]);
    /// ```
    pub fn then_with<F: Fn(&P::Item, &P::Item) -> Ordering + Send + Sync>(
        self,
        compare: F,
    ) -> OrderedBy<'a, P, Then<S, Compared<F>>, E> {
        self.then(Compared(compare))
    }

    fn then<N: Sorting<P::Item>>(self, next: N) -> OrderedBy<'a, P, Then<S, N>, E> {
        self.with(|broken| {
            broken.replaced(|sort| OrderBy {
                base: sort.base,
                sorting: Then(sort.sorting, next),
            })
        })
    }
}

/// For fewer items, giving memory back takes longer than sorting them.
const SHRUNK_LEN_MIN: usize = 32;
