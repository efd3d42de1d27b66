//! A hash table for many groups: entries in a vector, found through slots that hold their numbers.
//!
//! Linear probing, at most half full. The bits of a slot above those that a number needs say what the hash
//! is there: most keys that are missing are missed without a look at an entry. What is asked for can be
//! fetched ahead of its use, which the standard library's tables do not offer.

use crate::sync::{prefetch_for_reading, prefetch_for_writing};

/// Something with a key.
pub(crate) trait Keyed {
    /// What it is found by.
    type Key;

    fn key(&self) -> &Self::Key;

    /// The key's hash.
    fn hash(&self) -> u32;
}

/// A key with its group.
#[derive(Debug)]
pub(crate) struct Entry<K, G> {
    pub(crate) key: K,
    pub(crate) group: G,
    pub(crate) hash: u32,
}

impl<K, G> Keyed for Entry<K, G> {
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

/// Entries by key.
#[derive(Debug)]
pub(crate) struct Table<E> {
    entries: Vec<E>,
    /// 0 where nothing is; else one more than an entry's number in the low bits, and the hash's high bits.
    /// A power of two of them, or none.
    slots: Vec<u32>,
}

impl<E: Keyed> Table<E> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// With room for so many entries.
    pub(crate) fn with_capacity(len: usize) -> Self {
        let mut table = Self {
            entries: Vec::with_capacity(len),
            slots: Vec::new(),
        };
        table.rebuild(len * SLOTS_PER_ENTRY);
        table
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn entries(&self) -> &[E] {
        &self.entries
    }

    pub(crate) fn entry_mut(&mut self, number: usize) -> &mut E {
        &mut self.entries[number]
    }

    pub(crate) fn into_entries(self) -> Vec<E> {
        self.entries
    }

    /// Begins to fetch the slot where a hash is looked for first.
    #[inline]
    pub(crate) fn prefetch_slot(&self, hash: u32) {
        if let Some(slot) = self.slots.get(hash as usize & self.mask()) {
            prefetch_for_reading(slot);
        }
    }

    /// Begins to fetch the entry that a hash is likely to have, to be read.
    #[inline]
    pub(crate) fn prefetch_entry(&self, hash: u32) {
        if let Some(entry) = self.likely(hash) {
            // It may begin in one cache line and end in the next.
            let end = (&raw const *entry).wrapping_add(1).cast::<u8>();
            prefetch_for_reading(entry);
            prefetch_for_reading(end.wrapping_sub(1));
        }
    }

    /// As [`prefetch_entry`](Self::prefetch_entry), to be written.
    #[inline]
    pub(crate) fn prefetch_entry_for_writing(&self, hash: u32) {
        if let Some(entry) = self.likely(hash) {
            prefetch_for_writing(entry);
        }
    }

    #[inline]
    fn likely(&self, hash: u32) -> Option<&E> {
        let mask = self.mask();
        let number = *self.slots.get(hash as usize & mask)? as usize & mask;
        self.entries.get(number.wrapping_sub(1))
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots.len().wrapping_sub(1)
    }

    /// Adds an entry, whose key was not found.
    #[inline]
    pub(crate) fn insert(&mut self, entry: E) {
        if (self.entries.len() + 1) * SLOTS_PER_ENTRY > self.slots.len() {
            self.rebuild(self.slots.len() * GROWTH);
        }
        self.entries.push(entry);
        self.occupy(self.entries.len() - 1);
    }

    /// Makes at least so many slots.
    #[cold]
    fn rebuild(&mut self, slots: usize) {
        let slots = slots.next_power_of_two().max(SLOTS_MIN);
        assert!(
            u32::try_from(slots - 1).is_ok(),
            "a part of the keys has fewer than 2³¹ groups"
        );
        self.slots.clear();
        self.slots.resize(slots, 0);
        for number in 0..self.entries.len() {
            self.occupy(number);
        }
    }

    /// Puts an entry's number into the first free slot from its hash on.
    #[inline]
    fn occupy(&mut self, number: usize) {
        let (hash, mask) = (self.entries[number].hash(), self.mask());
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        // Fits: numbers and masks are below 2³².
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked where slots are made"
        )]
        let (tag, number) = (hash & !(mask as u32), number as u32 + 1);
        self.slots[at] = tag | number;
    }
}

impl<E: Keyed<Key: Eq>> Table<E> {
    /// The number of the entry of a key with this hash.
    #[inline]
    pub(crate) fn find(&self, hash: u32, key: &E::Key) -> Option<usize> {
        let mask = self.mask();
        let mut at = hash as usize & mask;
        loop {
            let slot = *self.slots.get(at)?;
            if slot == 0 {
                return None;
            }
            if (slot ^ hash) as usize & !mask & u32::MAX as usize == 0 {
                let number = (slot as usize & mask) - 1;
                if self.entries[number].key() == key {
                    return Some(number);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// The entry of a key with this hash.
    #[inline]
    pub(crate) fn get(&self, hash: u32, key: &E::Key) -> Option<&E> {
        let number = self.find(hash, key)?;
        Some(&self.entries[number])
    }
}

const SLOTS_MIN: usize = 16;
const SLOTS_PER_ENTRY: usize = 2;
const GROWTH: usize = 4;
