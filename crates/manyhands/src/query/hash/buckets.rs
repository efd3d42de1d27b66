//! Items by key, for look-ups.
//!
//! Items are in one plain hash table, which had the fastest look-ups of all that were tried. A very large number of
//! items is divided into parts, which several threads build at the same time, each a table whose look-ups can be
//! prefetched.

use crate::engine::consumer::Ending;
use crate::parallel::options::Options;
use crate::query::hash::hasher::Secret;
use crate::query::hash::scatter::{HashedRow, Part, Scattered};
use crate::query::hash::table::{GroupEntry, Table};
use crate::query::hash::{map_parts, part_of};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::slice;

/// Items by key.
#[derive(Debug)]
pub(crate) enum Buckets<K, V> {
    Few(Few<K, V>),
    Many(Many<K, V>),
}

/// One table.
#[derive(Debug)]
pub(crate) struct Few<K, V> {
    table: HashMap<K, Alike<V>, Secret>,
    rest: Rest<V>,
}

/// A table for each part.
#[derive(Debug)]
pub(crate) struct Many<K, V> {
    parts: Vec<Bucket<K, V>>,
    secret: Secret,
}

#[derive(Debug)]
struct Bucket<K, V> {
    table: Table<GroupEntry<K, Alike<V>>>,
    rest: Rest<V>,
}

/// The items with one key: most keys have just one.
#[derive(Debug)]
struct Alike<V> {
    first: V,
    /// 0, or one more than the number of the others in [`Rest`].
    more: u32,
}

/// The items after the first of their key, in order.
#[derive(Debug)]
struct Rest<V>(Vec<Vec<V>>);

/// The items with a key, in order.
#[derive(Debug)]
pub(crate) struct Found<'a, V> {
    first: Option<&'a V>,
    more: slice::Iter<'a, V>,
}

impl<K: Hash + Eq + Send, V: Send> Buckets<K, V> {
    /// Takes items that were scattered with this secret. After a cancellation some may be missing.
    pub(crate) fn new<E: Ending>(
        items: Scattered<K, V>,
        secret: Secret,
        options: &Options<'_, E>,
    ) -> Self {
        match items {
            Scattered::Whole(part) => Self::Few(Few::new(part, secret)),
            Scattered::Parts(parts) => {
                let parts = map_parts(parts, options, Bucket::new);
                Self::Many(Many { parts, secret })
            }
        }
    }
}

impl<K: Hash + Eq, V> Buckets<K, V> {
    /// Whether there is an item with this key.
    #[inline]
    pub(crate) fn contains(&self, key: &K) -> bool {
        let found = match self {
            Self::Few(few) => few.find(key),
            Self::Many(many) => many.find(many.hash(key), key),
        };
        found.first.is_some()
    }
}

impl<K: Hash + Eq, V> Few<K, V> {
    fn new(items: Part<(K, V)>, secret: Secret) -> Self {
        let mut rows = KeyEstimate::of(items.len());
        let mut table = HashMap::with_capacity_and_hasher(rows.first_capacity(), secret);
        let mut rest = Rest(Vec::new());
        items.for_each(|(key, value)| {
            if table.len() == table.capacity() {
                table.reserve(rows.more_keys(table.len()));
            }
            rows.seen += 1;
            match table.entry(key) {
                Entry::Vacant(vacant) => {
                    vacant.insert(Alike::one(value));
                }
                Entry::Occupied(mut occupied) => rest.push(occupied.get_mut(), value),
            }
        });
        Self { table, rest }
    }

    /// The items with this key.
    #[inline]
    pub(crate) fn find(&self, key: &K) -> Found<'_, V> {
        self.rest.found(self.table.get(key))
    }
}

impl<K: Hash + Eq, V> Many<K, V> {
    #[inline]
    pub(crate) fn hash(&self, key: &K) -> u32 {
        self.secret.hash(key)
    }

    /// Begins the look-up of a key with this hash.
    #[inline]
    pub(crate) fn seek(&self, hash: u32) {
        if let Some(part) = self.parts.get(part_of(hash)) {
            part.table.prefetch_slot(hash);
        }
    }

    /// Continues that look-up.
    #[inline]
    pub(crate) fn approach(&self, hash: u32) {
        if let Some(part) = self.parts.get(part_of(hash)) {
            part.table.prefetch_entry(hash);
        }
    }

    /// The items with this key.
    #[inline]
    pub(crate) fn find(&self, hash: u32, key: &K) -> Found<'_, V> {
        match self.parts.get(part_of(hash)) {
            Some(part) => {
                let entry = part.table.get(hash, key);
                part.rest.found(entry.map(|entry| &entry.group))
            }
            None => Found::nothing(),
        }
    }
}

impl<K: Eq, V> Bucket<K, V> {
    fn new(items: Part<HashedRow<K, V>>) -> Self {
        let mut rows = KeyEstimate::of(items.len());
        let mut table = Table::<GroupEntry<_, Alike<V>>>::with_capacity(rows.first_capacity());
        let mut rest = Rest(Vec::new());
        items.for_each(|HashedRow { key, value, hash }| {
            if table.is_full() {
                table.make_room(table.len() + rows.more_keys(table.len()));
            }
            rows.seen += 1;
            match table.find(hash, &key) {
                Some(number) => rest.push(&mut table.entry_mut(number).group, value),
                None => table.insert(GroupEntry {
                    key,
                    group: Alike::one(value),
                    hash,
                }),
            }
        });
        Self { table, rest }
    }
}

/// How many of a table's rows were processed: the number of their keys predicts the number of all keys. Room for as
/// many keys as rows would need as much memory again where keys repeat.
#[derive(Debug)]
struct KeyEstimate {
    seen: usize,
    len: usize,
}

impl KeyEstimate {
    fn of(len: usize) -> Self {
        Self { seen: 0, len }
    }

    fn first_capacity(&self) -> usize {
        self.len.min(KEYS_FIRST)
    }

    /// How many more keys to make room for, after those rows had `keys`: as many again, or as the rest will have at
    /// this rate, but not many times more than there are.
    fn more_keys(&self, keys: usize) -> usize {
        let left = self.len - self.seen;
        let alike = left as u128 * keys as u128 / self.seen.max(1) as u128;
        let alike = usize::try_from(alike).unwrap_or(left).min(left);
        let alike = alike.min(keys.saturating_mul(GROWTH_MAX));
        alike.max(keys).clamp(1, KEYS_MORE_MAX)
    }
}

/// Room for this number of keys is made before the first row.
const KEYS_FIRST: usize = 1_024;
/// Room is made for at most this many times the keys at once,
const GROWTH_MAX: usize = 16;
/// and for at most this number of keys.
const KEYS_MORE_MAX: usize = 1 << 28;

impl<V> Alike<V> {
    fn one(first: V) -> Self {
        Self { first, more: 0 }
    }
}

impl<V> Rest<V> {
    #[cold]
    fn push(&mut self, alike: &mut Alike<V>, value: V) {
        if alike.more == 0 {
            self.0.push(Vec::new());
            alike.more = u32::try_from(self.0.len()).expect("fewer than 2³² keys repeat");
        }
        self.0[alike.more as usize - 1].push(value);
    }

    #[inline]
    fn found<'a>(&'a self, alike: Option<&'a Alike<V>>) -> Found<'a, V> {
        let Some(alike) = alike else {
            return Found::nothing();
        };
        let more = match alike.more {
            0 => &[][..],
            number => &self.0[number as usize - 1],
        };
        Found {
            first: Some(&alike.first),
            more: more.iter(),
        }
    }
}

impl<V> Found<'_, V> {
    fn nothing() -> Self {
        Self {
            first: None,
            more: [].iter(),
        }
    }
}

impl<'a, V> Iterator for Found<'a, V> {
    type Item = &'a V;

    #[inline]
    fn next(&mut self) -> Option<&'a V> {
        self.first.take().or_else(|| self.more.next())
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = usize::from(self.first.is_some()) + self.more.len();
        (len, Some(len))
    }

    #[inline]
    fn fold<A, F: FnMut(A, &'a V) -> A>(self, mut value: A, mut fold: F) -> A {
        if let Some(first) = self.first {
            value = fold(value, first);
        }
        self.more.fold(value, fold)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Few, GROWTH_MAX, KeyEstimate};
    use crate::engine::consumer::Consumer;
    use crate::query::hash::hasher::Secret;
    use crate::query::hash::scatter::{Scatter, Scattered};

    /// The table of this number of rows with this number of keys.
    fn table(rows: usize, keys: usize) -> Few<usize, usize> {
        let secret = Secret::new();
        let scatter = Scatter::new(|row: usize| (row % keys, row), secret);
        let mut runner = scatter.start();
        scatter.consume(&mut runner, 0..rows as u64, 0..rows);
        scatter.finish(runner);
        match scatter.into_parts() {
            Scattered::Whole(part) => Few::new(part, secret),
            Scattered::Parts(_) => panic!("these are few"),
        }
    }

    #[test]
    fn a_table_has_room_for_its_keys_and_not_for_its_rows() {
        for (rows, keys) in [(1, 1), (300_000, 1), (300_000, 5_000), (300_000, 300_000)] {
            let few = table(rows, keys);
            assert_eq!(few.table.len(), keys);
            assert!(few.table.capacity() <= 2 * (GROWTH_MAX + 1) * keys + 4_096);
            let found: Vec<usize> = few.find(&0).copied().collect();
            assert!(found.into_iter().eq((0..rows).step_by(keys)));
        }
    }

    #[test]
    fn the_number_of_keys_is_estimated_from_the_first_rows() {
        let more = |seen, len, keys| KeyEstimate { seen, len }.more_keys(keys);
        assert_eq!(more(1_024, 1_000_000, 1_024), 16_384);
        assert_eq!(more(100_000, 130_000, 100_000), 100_000);
        assert_eq!(more(100_000, 1_000_000, 1_024), 9_216);
        assert_eq!(more(999_999, 1_000_000, 1_024), 1_024);
        assert_eq!(more(1 << 28, 1 << 40, 1 << 28), 1 << 28);
        assert_eq!(more(0, 1, 0), 1);
    }
}
