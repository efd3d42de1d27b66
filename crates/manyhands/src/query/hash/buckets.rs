//! Items looked up by key.
//!
//! A few items are in one plain hash table. Many are in parts, each a table whose look-ups can be begun ahead.

use crate::parallel::consumer::Ending;
use crate::parallel::options::Options;
use crate::query::hash::hasher::Secret;
use crate::query::hash::scatter::{Part, Row, Scattered};
use crate::query::hash::table::{self, Table};
use crate::query::hash::{map_parts, part_of};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::slice;

/// Items by key.
#[derive(Debug)]
pub(crate) enum Buckets<K, V> {
    Few(HashMap<K, Alike<V>, Secret>),
    Many(Tables<K, V>),
}

/// A table for each part.
#[derive(Debug)]
pub(crate) struct Tables<K, V> {
    parts: Vec<Table<table::Entry<K, Alike<V>>>>,
    secret: Secret,
}

/// The items with one key, in order.
#[derive(Debug)]
pub(crate) enum Alike<V> {
    One(V),
    Several(Vec<V>),
}

impl<K: Hash + Eq + Send, V: Send> Buckets<K, V> {
    /// Takes items that were scattered with this secret. After a cancellation some may be missing.
    pub(crate) fn new<E: Ending>(
        items: Scattered<K, V>,
        secret: Secret,
        options: &Options<'_, E>,
    ) -> Self {
        match items {
            Scattered::Whole(part) => Self::Few(by_key(part, secret)),
            Scattered::Parts(parts) => {
                let parts = map_parts(parts, options, by_hash);
                Self::Many(Tables { parts, secret })
            }
        }
    }
}

impl<K: Hash + Eq, V> Buckets<K, V> {
    /// Whether there is an item with this key.
    #[inline]
    pub(crate) fn contains(&self, key: &K) -> bool {
        match self {
            Self::Few(few) => few.contains_key(key),
            Self::Many(many) => !many.items(many.hash(key), key).is_empty(),
        }
    }
}

impl<K: Hash + Eq, V> Tables<K, V> {
    #[inline]
    pub(crate) fn hash(&self, key: &K) -> u32 {
        self.secret.hash(key)
    }

    /// Begins to look for a key with this hash.
    #[inline]
    pub(crate) fn seek(&self, hash: u32) {
        if let Some(part) = self.parts.get(part_of(hash)) {
            part.prefetch_slot(hash);
        }
    }

    /// Goes on to look for it.
    #[inline]
    pub(crate) fn approach(&self, hash: u32) {
        if let Some(part) = self.parts.get(part_of(hash)) {
            part.prefetch_entry(hash);
        }
    }

    /// The items with this key, in order.
    #[inline]
    pub(crate) fn items(&self, hash: u32, key: &K) -> &[V] {
        let part = self.parts.get(part_of(hash));
        part.and_then(|part| part.get(hash, key))
            .map_or(&[], |entry| entry.group.items())
    }
}

/// A plain table of these items.
fn by_key<K: Hash + Eq, V>(items: Part<(K, V)>, secret: Secret) -> HashMap<K, Alike<V>, Secret> {
    let mut table = HashMap::with_capacity_and_hasher(items.len(), secret);
    items.for_each(|_, (key, value)| match table.entry(key) {
        Entry::Vacant(vacant) => {
            vacant.insert(Alike::One(value));
        }
        Entry::Occupied(mut occupied) => occupied.get_mut().push(value),
    });
    table
}

/// A table of one of many parts.
fn by_hash<K: Eq, V>(items: Part<Row<K, V>>) -> Table<table::Entry<K, Alike<V>>> {
    let mut table = Table::<table::Entry<K, Alike<V>>>::with_capacity(items.len());
    items.for_each(|_, Row { key, value, hash }| match table.find(hash, &key) {
        Some(number) => table.entry_mut(number).group.push(value),
        None => table.insert(table::Entry {
            key,
            group: Alike::One(value),
            hash,
        }),
    });
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
    pub(crate) fn items(&self) -> &[V] {
        match self {
            Self::One(value) => slice::from_ref(value),
            Self::Several(values) => values,
        }
    }
}
