//! Items looked up by key.
//!
//! A few items are in one plain hash table. Many are in parts, each sorted by hash, with an index of where
//! each range of hashes begins: a look-up reads two entries of the index and the few items between them;
//! items with equal keys lie close together, in order.

use crate::parallel::consumer::Ending;
use crate::parallel::options::Options;
use crate::query::hash::hasher::Secret;
use crate::query::hash::scatter::Part;
use crate::query::hash::{PART_BITS, Row, map_parts, part_of};
use crate::sync::prefetch_for_reading;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::slice;

/// Items by key.
#[derive(Debug)]
pub(crate) struct Buckets<K, V> {
    rows: Rows<K, V>,
    secret: Secret,
}

#[derive(Debug)]
enum Rows<K, V> {
    Few(HashMap<K, Alike<V>, Secret>),
    /// As many parts as hashes are divided into.
    Many(Vec<Sorted<K, V>>),
}

/// The items with one key, in order.
#[derive(Debug)]
enum Alike<V> {
    One(V),
    Several(Vec<V>),
}

/// The items of one part.
#[derive(Debug)]
struct Sorted<K, V> {
    rows: Vec<Row<K, V>>,
    /// Where the items of each bucket begin, and the end.
    starts: Vec<u32>,
    /// How far what is left of a hash is shifted to make a bucket of it.
    shift: u32,
}

impl<K: Hash + Eq + Send, V: Send> Buckets<K, V> {
    /// Takes items that were scattered with this secret. After a cancellation some may be missing.
    pub(crate) fn new<E: Ending>(
        parts: Vec<Part<K, V>>,
        secret: Secret,
        options: &Options<'_, E>,
    ) -> Self {
        let rows = if parts.len() > 1 {
            Rows::Many(map_parts(parts, options, Sorted::new))
        } else {
            Rows::Few(by_key(parts, secret))
        };
        Self { rows, secret }
    }
}

impl<K: Hash + Eq, V> Buckets<K, V> {
    /// Whether there is an item with this key.
    pub(crate) fn contains(&self, key: &K) -> bool {
        match &self.rows {
            Rows::Few(few) => few.contains_key(key),
            Rows::Many(_) => {
                let hash = self.secret.hash(key);
                let mut rows = self.bucket(hash).iter();
                rows.any(|row| row.hash == hash && row.key == *key)
            }
        }
    }

    /// How many look-ups are best begun before the first is finished.
    pub(crate) fn lookups_ahead(&self) -> usize {
        let Rows::Many(parts) = &self.rows else {
            return 0;
        };
        let len: usize = parts.iter().map(|part| part.rows.len()).sum();
        let stays_cached = len * size_of::<Row<K, V>>() <= CACHED_BYTES_MAX;
        if stays_cached { 0 } else { LOOKUPS_AHEAD }
    }

    /// The items with this key, in order, at once.
    #[inline]
    pub(crate) fn look_up(&self, key: K) -> Found<'_, K, V> {
        match &self.rows {
            Rows::Few(few) => Found::Few(few.get(&key).map_or(&[][..], Alike::items).iter()),
            Rows::Many(_) => self.find(self.seek(key)),
        }
    }

    /// Begins to look for the items with this key.
    #[inline]
    pub(crate) fn seek(&self, key: K) -> Sought<K> {
        let hash = self.secret.hash(&key);
        if let Some(part) = self.part(hash) {
            prefetch_for_reading(&raw const part.starts[part.bucket_of(hash)]);
        }
        Sought { key, hash }
    }

    /// Goes on to look for the items with this key.
    #[inline]
    pub(crate) fn approach(&self, sought: &Sought<K>) {
        if let Some(part) = self.part(sought.hash) {
            let start = part.starts[part.bucket_of(sought.hash)];
            if let Some(row) = part.rows.get(start as usize) {
                prefetch_for_reading(row);
            }
        }
    }

    /// The items with this key, in order.
    #[inline]
    pub(crate) fn find(&self, sought: Sought<K>) -> Found<'_, K, V> {
        match &self.rows {
            Rows::Few(_) => self.look_up(sought.key),
            Rows::Many(_) => Found::Many(self.bucket(sought.hash).iter(), sought),
        }
    }

    /// Items among which are all with this hash.
    #[inline]
    fn bucket(&self, hash: u32) -> &[Row<K, V>] {
        self.part(hash).map_or(&[], |part| part.bucket(hash))
    }

    #[inline]
    fn part(&self, hash: u32) -> Option<&Sorted<K, V>> {
        match &self.rows {
            Rows::Few(_) => None,
            Rows::Many(parts) => parts.get(part_of(hash)),
        }
    }
}

/// A plain table of the items of at most one part.
fn by_key<K: Hash + Eq, V>(parts: Vec<Part<K, V>>, secret: Secret) -> HashMap<K, Alike<V>, Secret> {
    let len = parts.iter().map(Part::len).sum();
    let mut table = HashMap::with_capacity_and_hasher(len, secret);
    for part in parts {
        part.for_each(|_, row| match table.entry(row.key) {
            Entry::Vacant(vacant) => {
                vacant.insert(Alike::One(row.value));
            }
            Entry::Occupied(mut occupied) => occupied.get_mut().push(row.value),
        });
    }
    table
}

impl<V> Alike<V> {
    fn push(&mut self, value: V) {
        match std::mem::replace(self, Self::Several(Vec::new())) {
            Self::One(first) => *self = Self::Several(vec![first, value]),
            Self::Several(mut values) => {
                values.push(value);
                *self = Self::Several(values);
            }
        }
    }

    #[inline]
    fn items(&self) -> &[V] {
        match self {
            Self::One(value) => slice::from_ref(value),
            Self::Several(values) => values,
        }
    }
}

impl<K, V> Sorted<K, V> {
    fn new(part: Part<K, V>) -> Self {
        let mut rows = Vec::with_capacity(part.len());
        part.for_each(|_, row| rows.push(row));
        rows.sort_by_key(|row| row.hash);
        let buckets = rows.len().next_power_of_two().max(2);
        let shift = u32::BITS - buckets.ilog2().min(u32::BITS - PART_BITS);
        let mut starts = vec![0; (1 << (u32::BITS - shift)) + 1];
        let mut sorted = Self {
            rows,
            starts: Vec::new(),
            shift,
        };
        for row in &sorted.rows {
            starts[sorted.bucket_of(row.hash) + 1] += 1;
        }
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        sorted.starts = starts;
        sorted
    }

    #[inline]
    fn bucket_of(&self, hash: u32) -> usize {
        ((hash << PART_BITS) >> self.shift) as usize
    }

    /// Items among which are all with this hash.
    #[inline]
    fn bucket(&self, hash: u32) -> &[Row<K, V>] {
        let bucket = self.bucket_of(hash);
        let (start, end) = (self.starts[bucket], self.starts[bucket + 1]);
        let rows = &self.rows[start as usize..end as usize];
        if rows.len() <= SCANNED_LEN_MAX {
            return rows;
        }
        let start = rows.partition_point(|row| row.hash < hash);
        let len = rows[start..].partition_point(|row| row.hash == hash);
        &rows[start..start + len]
    }
}

/// The items found for a key, in order.
#[derive(Debug)]
pub(crate) enum Found<'a, K, V> {
    Few(slice::Iter<'a, V>),
    Many(slice::Iter<'a, Row<K, V>>, Sought<K>),
}

/// A look-up that was begun.
#[derive(Debug)]
pub(crate) struct Sought<K> {
    key: K,
    hash: u32,
}

impl<'a, K: Eq, V> Iterator for Found<'a, K, V> {
    type Item = &'a V;

    #[inline]
    fn next(&mut self) -> Option<&'a V> {
        match self {
            Self::Few(values) => values.next(),
            Self::Many(rows, Sought { key, hash }) => {
                let row = rows.find(|row| row.hash == *hash && row.key == *key)?;
                Some(&row.value)
            }
        }
    }
}

/// A longer bucket holds many items with one key; others in it are not gone through.
const SCANNED_LEN_MAX: usize = 8;
/// So much stays in a processor's cache.
const CACHED_BYTES_MAX: usize = 256 << 10;
/// Enough to hide the time until memory answers.
const LOOKUPS_AHEAD: usize = 24;
