//! Items with equal keys together: `group_by`, `aggregate_by`, and [`Lookup`].
//!
//! Groups of an ordered query come in the order of their first items; the items of a group keep their order.

use crate::engine::Ending;
use crate::query::gather::into_vec;
use crate::query::hash::local::Gather;
use crate::query::hash::table::{GroupEntry, Table};
use crate::query::hash::{hash_of, new_secret};
use crate::query::op::apply::{Applied, Apply};
use crate::query::{Order, Pipeline, Query, drop_then};
use foldhash::fast::FixedState;
use std::hash::Hash;
use std::{slice, vec};

/// A key and all items that have it, in order. Made by [`Query::group_by`].
///
/// # Examples
/// ```
/// use manyhands::query::prelude::*;
/// let groups = (1..=5_u32).into_par_query().group_by(|n| n % 2).to_vec();
/// assert_eq!(*groups[0].key(), 1);
/// assert_eq!(groups[0].items(), [1, 3, 5]);
/// assert_eq!((groups[1].len(), groups[1].iter().sum::<u32>()), (2, 6));
/// let parts = groups.into_iter().map(|group| group.into_parts());
/// assert_eq!(parts.collect::<Vec<_>>(), [(1, vec![1, 3, 5]), (0, vec![2, 4])]);
/// ```
#[doc(alias = "IGrouping")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<K, T> {
    key: K,
    items: Vec<T>,
}

impl<K, T> Group<K, T> {
    /// The key, as it was made of the group's first item.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let groups = ["many", "hands", "make"].into_par_query().group_by(|word| word.len()).to_vec();
    /// assert_eq!((groups[0].key(), groups[0].items()), (&4, &["many", "make"][..]));
    /// ```
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The items, in order. There is at least one.
    ///
    /// Example: see [`Group`].
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The items by reference, in order.
    ///
    /// Example: see [`Group`].
    pub fn iter(&self) -> slice::Iter<'_, T> {
        self.items.iter()
    }

    /// The number of items.
    ///
    /// Example: see [`Group`].
    #[expect(clippy::len_without_is_empty, reason = "a group is never empty")]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The key and the items.
    ///
    /// Example: see [`Group`].
    pub fn into_parts(self) -> (K, Vec<T>) {
        (self.key, self.items)
    }
}

impl<K, T> IntoIterator for Group<K, T> {
    type Item = T;
    type IntoIter = vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        drop_then(self.key, self.items).into_iter()
    }
}

impl<'a, K, T> IntoIterator for &'a Group<K, T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Keeps all items of a group.
struct KeepAll;

/// All items of a group, in the order in which they came. Small, as there may be very many groups of one item.
struct Listed<T> {
    items: Vec<T>,
    last_run: u64,
    /// Where the items are of several runs.
    runs: Option<Box<Several>>,
}

/// Each run with the number of its first item.
struct Several(Vec<(u64, usize)>);

impl<T> Listed<T> {
    /// The runs, to be added to.
    fn runs(&mut self) -> &mut Vec<(u64, usize)> {
        let only = (self.last_run, 0);
        let several = || Box::new(Several(vec![only]));
        &mut self.runs.get_or_insert_with(several).0
    }

    /// Adds later items.
    fn append(&mut self, mut other: Self) {
        let start = self.items.len();
        let runs = self.runs();
        match other.runs {
            Some(more) => runs.extend(more.0.into_iter().map(|(run, at)| (run, start + at))),
            None => runs.push((other.last_run, start)),
        }
        self.items.append(&mut other.items);
        self.last_run = other.last_run;
    }

    /// All items, in order.
    fn into_items(mut self) -> Vec<T> {
        let runs = self.runs.map_or(Vec::new(), |several| several.0);
        if runs.is_sorted_by_key(|(run, _)| *run) {
            return self.items;
        }
        let len = self.items.len();
        let part = |(run, start)| (run, self.items.split_off(start));
        let mut parts: Vec<_> = runs.into_iter().rev().map(part).collect();
        // The earlier part of a run stands earlier in it.
        parts.reverse();
        parts.sort_by_key(|(run, _)| *run);
        let mut in_order = Vec::with_capacity(len);
        for (_, mut items) in parts {
            in_order.append(&mut items);
        }
        in_order
    }
}

impl<V: Send> Gather<V> for KeepAll {
    type Group = Listed<V>;

    #[inline]
    fn begin(&self, value: V, run: u64) -> Listed<V> {
        let mut items = Vec::new();
        // Makes room for a few more.
        items.extend([value]);
        Listed {
            items,
            last_run: run,
            runs: None,
        }
    }

    #[inline]
    fn add(&self, group: &mut Listed<V>, value: V, run: u64, _earlier: bool) {
        if run != group.last_run {
            let start = group.items.len();
            group.runs().push((run, start));
            group.last_run = run;
        }
        group.items.push(value);
    }

    fn merge(&self, group: &mut Listed<V>, mut other: Listed<V>, earlier: bool) {
        if earlier {
            // Usually all of it, and then nothing need be sorted in the end.
            std::mem::swap(group, &mut other);
        }
        group.append(other);
    }
}

/// Folds a group into one value. See [`Query::aggregate_by`].
pub(super) struct Aggregate<S, F> {
    seed: S,
    fold: F,
}

impl<K, T, A, S, F> Apply<Group<K, T>> for Aggregate<S, F>
where
    K: Send,
    A: Send,
    S: Fn(&K) -> A + Send + Sync,
    F: Fn(&mut A, T) + Send + Sync,
{
    type Output = (K, A);
    const NAME: &'static str = "aggregate_by";

    fn apply(&self, group: Group<K, T>) -> (K, A) {
        let mut value = (self.seed)(&group.key);
        for item in group.items {
            (self.fold)(&mut value, item);
        }
        (group.key, value)
    }
}

/// Items by key. Made by [`Query::to_lookup`].
///
/// # Examples
/// ```
/// use manyhands::query::prelude::*;
/// let words = ["many", "make", "hands"].into_par_query().to_lookup(|word| word.as_bytes()[0]);
/// assert_eq!(words.items(&b'm'), ["many", "make"]);
/// assert_eq!(words.items(&b'x'), [""; 0]);
/// assert!(words.contains(&b'h') && !words.is_empty());
/// assert_eq!(words.len(), 2);
/// let counts: Vec<(u8, usize)> = words.iter().map(|(letter, words)| (*letter, words.len())).collect();
/// assert_eq!(counts, [(b'm', 2), (b'h', 1)]);
/// ```
#[doc(alias = "ILookup")]
#[derive(Debug)]
pub struct Lookup<K, T> {
    groups: Table<GroupEntry<K, Vec<T>>>,
    secret: FixedState,
}

impl<K: Hash + Eq, T> Lookup<K, T> {
    /// Of groups whose keys differ.
    fn of_groups(all: Vec<Group<K, T>>) -> Self {
        let secret = new_secret();
        let mut groups = Table::with_capacity(all.len());
        for Group { key, items } in all {
            let (hash, group) = (hash_of(&secret, &key), items);
            groups.insert(GroupEntry { key, group, hash });
        }
        Self { groups, secret }
    }

    /// The items with this key, in order; none if there are none.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["many", "hands", "make"].into_par_query().to_lookup(|word| word.len());
    /// assert_eq!(words.items(&4), ["many", "make"]);
    /// assert!(words.items(&9).is_empty() && !words.contains(&9));
    /// ```
    #[doc(alias = "get")]
    pub fn items(&self, key: &K) -> &[T] {
        let hash = hash_of(&self.secret, key);
        let number = self.groups.find(hash, |entry| entry.key == *key);
        number.map_or(&[], |number| &self.groups.entries[number].group)
    }

    /// Whether there are items with this key.
    ///
    /// Example: see [`Lookup`].
    pub fn contains(&self, key: &K) -> bool {
        !self.items(key).is_empty()
    }

    /// The number of keys.
    ///
    /// Example: see [`Lookup`].
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are no keys.
    ///
    /// Example: see [`Lookup`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys, each with its items; by their first items if the query was ordered.
    ///
    /// Example: see [`Lookup`].
    pub fn iter(&self) -> impl Iterator<Item = (&K, &[T])> {
        let entries = self.groups.entries.iter();
        entries.map(|entry| (&entry.key, entry.group.as_slice()))
    }
}

/// The keys, each with its items, as [`iter`](Lookup::iter) gives them.
impl<K: Hash + Eq, T> IntoIterator for Lookup<K, T> {
    type Item = (K, Vec<T>);
    type IntoIter = vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        let entries = self.groups.entries.into_iter();
        let groups: Vec<_> = entries.map(|entry| (entry.key, entry.group)).collect();
        groups.into_iter()
    }
}

impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// Groups the items with equal keys.
    ///
    /// The items of a group are in order. The groups of an ordered query come in the order of their first
    /// items.
    ///
    /// # Cost
    /// Memory for all items. The query completes with any number of threads.
    ///
    /// # Panics
    /// When the query is run, if `key` does, or the keys' comparison.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["light", "many", "work", "hands"];
    /// let by_len = words.into_par_query().group_by(|word| word.len());
    /// let by_len = by_len.map(|group| group.into_parts()).to_vec();
    /// assert_eq!(by_len, [(5, vec!["light", "hands"]), (4, vec!["many", "work"])]);
    /// ```
    pub fn group_by<K: Hash + Eq + Send, F: Fn(&P::Item) -> K + Send + Sync>(
        self,
        key: F,
    ) -> Query<'a, impl Pipeline<Item = Group<K, P::Item>>, O, E> {
        let split = move |item: P::Item| Some((key(&item), item));
        let make = |key: K, listed: Listed<P::Item>| Group {
            key,
            items: listed.into_items(),
        };
        self.gather_by("group_by", split, KeepAll, make)
    }

    /// Folds the items with equal keys into one value, in order, beginning with the key's seed.
    ///
    /// Where order does not matter, [`fold_by`](Self::fold_by) is faster and needs no memory for the items.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["light", "many", "work", "hands"];
    /// let joined = words
    ///     .into_par_query()
    ///     .aggregate_by(|word| word.len(), |len| format!("{len}:"), |text, word| *text += word);
    /// let joined = joined.map(|(_, text)| text).to_vec();
    /// assert_eq!(joined, ["5:lighthands", "4:manywork"]);
    /// ```
    pub fn aggregate_by<K, A, F, S, G>(
        self,
        key: F,
        seed: S,
        fold: G,
    ) -> Query<'a, impl Pipeline<Item = (K, A)>, O, E>
    where
        K: Hash + Eq + Send,
        A: Send,
        F: Fn(&P::Item) -> K + Send + Sync,
        S: Fn(&K) -> A + Send + Sync,
        G: Fn(&mut A, P::Item) + Send + Sync,
    {
        self.group_by(key)
            .with(|groups| Applied(groups, Aggregate { seed, fold }))
    }

    /// All items by key.
    ///
    /// # Panics
    /// If operators or `key` do, or the keys' comparison.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["many", "hands", "make"].into_par_query().to_lookup(|word| word.len());
    /// assert_eq!((words.len(), words.items(&4)), (2, &["many", "make"][..]));
    /// ```
    #[doc(alias = "into_group_map")]
    #[track_caller]
    pub fn to_lookup<K: Hash + Eq + Send>(
        self,
        key: impl Fn(&P::Item) -> K + Send + Sync,
    ) -> E::Output<Lookup<K, P::Item>> {
        let (pipeline, run) = self.group_by(key).into_run();
        let lookup = into_vec(pipeline, &run).map(Lookup::of_groups);
        run.ending.conclude(lookup)
    }
}
