//! Items by key, for look-ups.
//!
//! The list that was made of the items becomes the table: they are not moved unless keys repeat, because memory that is
//! touched for the first time takes longer than all the rest. A table that a processor's own cache holds is searched for
//! one key after the other, a larger one for many at the same time. A very large number of items is divided into parts,
//! whose tables several threads make at the same time.

use crate::engine::consumer::Ending;
use crate::parallel::options::Options;
use crate::query::hash::hasher::Secret;
use crate::query::hash::scatter::Scattered;
use crate::query::hash::table::{Candidate, Keyed, Table};
use crate::query::hash::{map_parts, part_of};
use std::hash::Hash;
use std::slice;

/// Items by key.
#[derive(Debug)]
pub(crate) enum Buckets<K, V> {
    Few(Few<K, V>),
    Many(Many<K, V>),
}

/// A table for a processor's own cache.
#[derive(Debug)]
pub(crate) struct Few<K, V> {
    rows: Bucket<K, V>,
    secret: Secret,
}

/// One table, or one for each part of the hashes. A look-up has steps, so that several can be at the same step and their
/// memory latencies overlap.
#[derive(Debug)]
pub(crate) struct Many<K, V> {
    parts: Vec<Bucket<K, V>>,
    secret: Secret,
}

#[derive(Debug)]
struct Bucket<K, V> {
    table: Table<Row<K, V>>,
    rest: Rest<V>,
}

/// An item with its key's hash. In a table, the first item of its key.
#[derive(Debug)]
pub(crate) struct Row<K, V> {
    key: K,
    value: V,
    hash: u32,
    more: More,
}

impl<K, V> Row<K, V> {
    #[inline]
    pub(crate) fn new(key: K, value: V, hash: u32) -> Self {
        Self {
            key,
            value,
            hash,
            more: More::NONE,
        }
    }

    #[inline]
    pub(crate) fn hash(&self) -> u32 {
        self.hash
    }
}

impl<K, V> Keyed for Row<K, V> {
    type Key = K;

    #[inline]
    fn key(&self) -> &K {
        &self.key
    }

    #[inline]
    fn hash(&self) -> u32 {
        self.hash
    }
}

/// 0, or one more than the number in [`Rest`] of the items after the first of their key.
#[derive(Debug, Clone, Copy, PartialEq)]
struct More(u32);

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
        let parts = match items {
            Scattered::Whole(part) => {
                let rows = part.into_rows();
                if rows.len() * size_of::<Row<K, V>>() <= CACHED_BYTES_MAX {
                    let rows = Bucket::new(rows, FEW_ROOM);
                    return Self::Few(Few { rows, secret });
                }
                vec![Bucket::new(rows, MANY_ROOM)]
            }
            Scattered::Parts(parts) => map_parts(parts, options, |part| {
                Bucket::new(part.into_rows(), MANY_ROOM)
            }),
        };
        Self::Many(Many { parts, secret })
    }
}

impl<K: Hash + Eq, V> Buckets<K, V> {
    /// Whether there is an item with this key.
    #[inline]
    pub(crate) fn contains(&self, key: &K) -> bool {
        let found = match self {
            Self::Few(few) => few.find(key),
            Self::Many(many) => {
                let hash = many.hash(key);
                many.find(many.approach(hash), hash, key)
            }
        };
        found.first.is_some()
    }
}

impl<K: Hash + Eq, V> Few<K, V> {
    /// The items with this key.
    #[inline]
    pub(crate) fn find(&self, key: &K) -> Found<'_, V> {
        let hash = self.secret.hash(key);
        self.rows.found(self.rows.table.get(hash, key))
    }
}

impl<K: Hash + Eq, V> Many<K, V> {
    #[inline]
    pub(crate) fn hash(&self, key: &K) -> u32 {
        self.secret.hash(key)
    }

    /// Begins the look-up of a key with this hash: fetches where the number of its items is.
    #[inline]
    pub(crate) fn seek(&self, hash: u32) {
        if let Some(part) = self.part(hash) {
            part.table.prefetch_slot(hash);
        }
    }

    /// Continues that look-up: the items that most probably are those, which it fetches.
    #[inline]
    pub(crate) fn approach(&self, hash: u32) -> Candidate {
        match self.part(hash) {
            Some(part) => part.table.prefetch_candidate(hash),
            None => Candidate::NONE,
        }
    }

    /// Ends that look-up: the items with this key.
    #[inline]
    pub(crate) fn find(&self, candidate: Candidate, hash: u32, key: &K) -> Found<'_, V> {
        match (candidate.number(), self.part(hash)) {
            (Some(candidate), Some(part)) => part.find(candidate, hash, key),
            _ => Found::nothing(),
        }
    }

    #[inline]
    fn part(&self, hash: u32) -> Option<&Bucket<K, V>> {
        match &self.parts[..] {
            [whole] => Some(whole),
            parts => parts.get(part_of(hash)),
        }
    }
}

impl<K: Eq, V> Bucket<K, V> {
    /// The items before the first that repeats a key stay where they are.
    /// There is room for this many times the keys.
    fn new(rows: Vec<Row<K, V>>, room: usize) -> Self {
        let mut keys = KeyEstimate::of(rows.len());
        let room_for = |keys: &KeyEstimate, len: usize| (len + keys.more_keys(len)) * room;
        let first = keys.first_capacity() * room;
        let (mut table, others) = Table::of_distinct(rows, first, |len| {
            keys.seen = len;
            room_for(&keys, len)
        });
        let mut rest = Rest(Vec::new());
        keys.seen = table.len();
        for row in others {
            if table.is_full() {
                table.make_room(room_for(&keys, table.len()));
            }
            keys.seen += 1;
            match table.find(row.hash, &row.key) {
                Some(number) => rest.push(&mut table.entry_mut(number).more, row.value),
                None => table.insert(row),
            }
        }
        Self { table, rest }
    }

    #[inline]
    fn find(&self, candidate: usize, hash: u32, key: &K) -> Found<'_, V> {
        let number = self.table.find_from(candidate, hash, key);
        self.found(number.map(|number| &self.table.entries()[number]))
    }

    #[inline]
    fn found<'a>(&'a self, row: Option<&'a Row<K, V>>) -> Found<'a, V> {
        match row {
            Some(row) => self.rest.found(&row.value, row.more),
            None => Found::nothing(),
        }
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

/// A table of few keys has room for this many times their number: collisions are mispredicted branches.
const FEW_ROOM: usize = 4;
/// Of many keys the caches hold more in a smaller table.
const MANY_ROOM: usize = 1;
/// Room for this number of keys is made before the first row.
const KEYS_FIRST: usize = 1_024;
/// Room is made for at most this many times the keys at once,
const GROWTH_MAX: usize = 16;
/// and for at most this number of keys.
const KEYS_MORE_MAX: usize = 1 << 28;
/// Of more, a table does not stay in a processor's own cache, or nearly.
const CACHED_BYTES_MAX: usize = 2 << 20;

impl More {
    const NONE: Self = Self(0);
}

impl<V> Rest<V> {
    #[cold]
    fn push(&mut self, more: &mut More, value: V) {
        if *more == More::NONE {
            self.0.push(Vec::new());
            *more = More(u32::try_from(self.0.len()).expect("fewer than 2³² keys repeat"));
        }
        self.0[more.0 as usize - 1].push(value);
    }

    #[inline]
    fn found<'a>(&'a self, first: &'a V, more: More) -> Found<'a, V> {
        let more = match more.0 {
            0 => &[][..],
            number => &self.0[number as usize - 1],
        };
        Found {
            first: Some(first),
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
    use super::{Buckets, CACHED_BYTES_MAX, GROWTH_MAX, KeyEstimate, Row};
    use crate::engine::consumer::Consumer;
    use crate::parallel;
    use crate::query::hash::hasher::Secret;
    use crate::query::hash::scatter::Scatter;

    type Items = Buckets<usize, usize>;

    /// The table of this number of rows, whose keys repeat after this number.
    fn table(rows: usize, keys: usize) -> Items {
        let secret = Secret::new();
        let scatter = Scatter::new(|row: usize| (mixed(row % keys), row), secret);
        let mut runner = scatter.start();
        scatter.consume(&mut runner, 0..rows as u64, 0..rows);
        scatter.finish(runner);
        Buckets::new(scatter.into_parts(), secret, &parallel::options())
    }

    /// A key for each number. Those of neighbours are no neighbours, whose hashes would hardly collide.
    fn mixed(number: usize) -> usize {
        let number = (number ^ number >> 15).wrapping_mul(0x2545_F491_4F6C_DD1D);
        number ^ number >> 29
    }

    fn find(items: &Items, key: usize) -> Vec<usize> {
        let key = mixed(key);
        let found = match items {
            Items::Few(few) => few.find(&key),
            Items::Many(many) => {
                let hash = many.hash(&key);
                many.find(many.approach(hash), hash, &key)
            }
        };
        found.copied().collect()
    }

    /// Rows of one table, and of one of the plain kind.
    const MANY: usize = 300_000;
    const FEW: usize = CACHED_BYTES_MAX / size_of::<Row<usize, usize>>();

    #[test]
    fn all_items_of_a_key_are_found_in_order() {
        for rows in [1, 100, FEW, FEW + 1, MANY, 10 * MANY] {
            for keys in [1, 5_000.min(rows), rows / 2 + 1, rows] {
                let items = table(rows, keys);
                assert_eq!(matches!(items, Items::Few(_)), rows <= FEW);
                for key in (0..keys).step_by(keys / 50 + 1) {
                    let all: Vec<_> = (key..rows).step_by(keys).collect();
                    assert_eq!(find(&items, key), all);
                }
                for missing in keys..keys + 50_000 {
                    assert!(find(&items, missing).is_empty());
                }
            }
        }
    }

    #[test]
    fn a_table_has_room_for_its_keys_and_not_for_its_rows() {
        for (rows, keys) in [(1, 1), (FEW, 1), (MANY, 1), (MANY, 5_000), (MANY, MANY)] {
            let (len, capacity) = match table(rows, keys) {
                Items::Few(few) => (few.rows.table.len(), few.rows.table.capacity()),
                Items::Many(many) => {
                    let [whole] = &many.parts[..] else {
                        panic!("these are in one table");
                    };
                    (whole.table.len(), whole.table.capacity())
                }
            };
            assert_eq!(len, keys);
            assert!(capacity <= 2 * (GROWTH_MAX + 1) * keys + 4_096);
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
