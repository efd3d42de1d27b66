//! Items by key, for look-ups by any number of threads at once.

use crate::query::hash::new_secret;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher, Hash};
use std::{mem, slice};

/// Items by key.
#[derive(Debug)]
pub(crate) struct Buckets<K, V> {
    /// The first item of each key. There was room for all items, so each stays in its bucket.
    firsts: HashTable<(K, V)>,
    /// For each bucket of the first items 0, or one more than the number of a list. Empty while no key repeats.
    list_of_bucket: Vec<usize>,
    /// The items after the first of their key, in order.
    lists: Vec<Vec<V>>,
    secret: FixedState,
}

/// The partners of an item, in order. An iterator over references to them.
///
/// Example: see [`Query::group_join`](crate::query::Query::group_join).
#[derive(Debug)]
pub struct Matches<'a, U> {
    first: Option<&'a U>,
    more: slice::Iter<'a, U>,
}

impl<K: Hash + Eq, V> Buckets<K, V> {
    pub(crate) fn new(items: Vec<(K, V)>) -> Self {
        let mut buckets = Self {
            firsts: HashTable::with_capacity(items.len()),
            list_of_bucket: Vec::new(),
            lists: Vec::new(),
            secret: new_secret(),
        };
        for (key, value) in items {
            buckets.add(key, value);
        }
        buckets
    }

    fn add(&mut self, key: K, value: V) {
        let secret = self.secret.clone();
        let hash = secret.hash_one(&key);
        let is_same = |first: &(K, V)| first.0 == key;
        let rehash = |first: &(K, V)| secret.hash_one(&first.0);
        match self.firsts.entry(hash, is_same, rehash) {
            Entry::Vacant(entry) => {
                entry.insert((key, value));
            }
            Entry::Occupied(entry) => {
                let bucket = entry.bucket_index();
                self.add_later(bucket, value);
            }
        }
    }

    /// The items with this key.
    #[inline]
    pub(crate) fn find(&self, key: &K) -> Matches<'_, V> {
        if !self.lists.is_empty() {
            return self.find_several(key);
        }
        let hash = self.secret.hash_one(key);
        let first = self.firsts.find(hash, |first| first.0 == *key);
        Matches {
            first: first.map(|(_, value)| value),
            more: [].iter(),
        }
    }

    /// [`find`](Self::find) where keys repeat. Apart, because with both in one the compiler inlines neither.
    #[inline(never)]
    fn find_several(&self, key: &K) -> Matches<'_, V> {
        let hash = self.secret.hash_one(key);
        let bucket = self.firsts.find_bucket_index(hash, |first| first.0 == *key);
        let first = bucket.and_then(|bucket| self.firsts.get_bucket(bucket));
        Matches {
            first: first.map(|(_, value)| value),
            more: bucket.map_or(&[][..], |bucket| self.later(bucket)).iter(),
        }
    }

    #[cold]
    fn add_later(&mut self, bucket: usize, value: V) {
        if self.list_of_bucket.is_empty() {
            self.list_of_bucket.resize(self.firsts.num_buckets(), 0);
        }
        let number = &mut self.list_of_bucket[bucket];
        if *number == 0 {
            self.lists.push(Vec::new());
            *number = self.lists.len();
        }
        self.lists[*number - 1].push(value);
    }

    #[inline]
    fn later(&self, bucket: usize) -> &[V] {
        match self.list_of_bucket[bucket] {
            0 => &[],
            number => &self.lists[number - 1],
        }
    }
}

impl<K, V> Drop for Buckets<K, V> {
    /// One by one: where the drop of an entry panics, the table itself would leak the others.
    fn drop(&mut self) {
        if mem::needs_drop::<(K, V)>() {
            mem::take(&mut self.firsts).into_iter().for_each(drop);
        }
    }
}

impl<U> ExactSizeIterator for Matches<'_, U> {}

impl<'a, U> Iterator for Matches<'a, U> {
    type Item = &'a U;

    #[inline]
    fn next(&mut self) -> Option<&'a U> {
        self.first.take().or_else(|| self.more.next())
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = usize::from(self.first.is_some()) + self.more.len();
        (len, Some(len))
    }

    #[inline]
    fn fold<A, F: FnMut(A, &'a U) -> A>(self, mut value: A, mut fold: F) -> A {
        if let Some(first) = self.first {
            value = fold(value, first);
        }
        self.more.fold(value, fold)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Buckets;

    #[test]
    fn all_items_of_a_key_are_found_in_order() {
        for rows in [1, 100, 3_000] {
            for keys in [1, 50.min(rows), rows / 2 + 1, rows] {
                let items = Buckets::new((0..rows).map(|row| (row % keys, row)).collect());
                for key in 0..keys {
                    let all: Vec<_> = (key..rows).step_by(keys).collect();
                    let found = items.find(&key);
                    assert_eq!(found.size_hint(), (all.len(), Some(all.len())));
                    assert_eq!(found.copied().collect::<Vec<_>>(), all);
                }
                assert_eq!(items.find(&keys).next(), None);
            }
        }
    }
}
