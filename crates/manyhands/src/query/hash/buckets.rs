//! Items looked up by key: those of each part sorted by hash, with an index of where each range of hashes
//! begins.
//!
//! A look-up reads two entries of the index and the few items between them; items with equal keys lie
//! close together, in order.

use crate::parallel::consumer::Ending;
use crate::parallel::options::Options;
use crate::query::hash::hasher::Secret;
use crate::query::hash::scatter::Part;
use crate::query::hash::{PART_BITS, Row, map_parts, part_of};
use crate::sync::prefetch_for_reading;
use std::hash::Hash;
use std::slice;

/// Items by key.
#[derive(Debug)]
pub(crate) struct Buckets<K, V> {
    /// One, or as many as hashes are divided into.
    parts: Vec<Sorted<K, V>>,
    secret: Secret,
}

/// The items of one part.
#[derive(Debug)]
struct Sorted<K, V> {
    rows: Vec<Row<K, V>>,
    /// Where the items of each bucket begin, and the end.
    starts: Vec<u32>,
    /// The bits of a hash that say nothing, because all items here have the same ones.
    part_bits: u32,
    /// How far what is left of a hash is shifted to make a bucket of it.
    shift: u32,
}

impl<K: Hash + Eq + Send, V: Send> Buckets<K, V> {
    /// Sorts items that were scattered with this secret. After a cancellation some may be missing.
    pub(crate) fn new<E: Ending>(
        parts: Vec<Part<K, V>>,
        secret: Secret,
        options: &Options<'_, E>,
    ) -> Self {
        let part_bits = if parts.len() > 1 { PART_BITS } else { 0 };
        let parts = map_parts(parts, options, |part| Sorted::new(part, part_bits));
        Self { parts, secret }
    }
}

impl<K: Hash + Eq, V> Buckets<K, V> {
    /// Whether there is an item with this key.
    pub(crate) fn contains(&self, key: &K) -> bool {
        let hash = self.secret.hash(key);
        let mut rows = self.bucket(hash).iter();
        rows.any(|row| row.hash == hash && row.key == *key)
    }

    /// How many look-ups are best begun before the first is finished.
    pub(crate) fn lookups_ahead(&self) -> usize {
        let len: usize = self.parts.iter().map(|part| part.rows.len()).sum();
        let stays_cached = len * size_of::<Row<K, V>>() <= CACHED_BYTES_MAX;
        if stays_cached { 0 } else { LOOKUPS_AHEAD }
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
        Found {
            rows: self.bucket(sought.hash).iter(),
            sought,
        }
    }

    /// Items among which are all with this hash.
    #[inline]
    fn bucket(&self, hash: u32) -> &[Row<K, V>] {
        self.part(hash).map_or(&[], |part| part.bucket(hash))
    }

    #[inline]
    fn part(&self, hash: u32) -> Option<&Sorted<K, V>> {
        match &*self.parts {
            [part] => Some(part),
            parts => parts.get(part_of(hash)),
        }
    }
}

impl<K, V> Sorted<K, V> {
    fn new(part: Part<K, V>, part_bits: u32) -> Self {
        let mut rows = Vec::with_capacity(part.len());
        part.for_each(|_, row| rows.push(row));
        rows.sort_by_key(|row| row.hash);
        let buckets = rows.len().next_power_of_two().max(2);
        let shift = u32::BITS - buckets.ilog2().min(u32::BITS - part_bits);
        let mut starts = vec![0; (1 << (u32::BITS - shift)) + 1];
        let mut sorted = Self {
            rows,
            starts: Vec::new(),
            part_bits,
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
        ((hash << self.part_bits) >> self.shift) as usize
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
pub(crate) struct Found<'a, K, V> {
    rows: slice::Iter<'a, Row<K, V>>,
    sought: Sought<K>,
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
        let Sought { key, hash } = &self.sought;
        let row = self.rows.find(|row| row.hash == *hash && row.key == *key)?;
        Some(&row.value)
    }
}

/// A longer bucket holds many items with one key; others in it are not gone through.
const SCANNED_LEN_MAX: usize = 8;
/// So much stays in a processor's cache.
const CACHED_BYTES_MAX: usize = 256 << 10;
/// Enough to hide the time until memory answers.
const LOOKUPS_AHEAD: usize = 24;
