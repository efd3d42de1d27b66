//! A hash table of groups: entries in a vector, found through slots that hold their numbers.
//!
//! Linear probing, at most half full. Entries stay in the order in which they came, and move as one vector.

use crate::query::hash::{Place, Row};
use crate::sync::{prefetch_for_reading, prefetch_for_writing};

/// How items become groups.
pub(crate) trait Gather<V>: Sync {
    /// What becomes of the items with equal keys.
    type Group: Send;

    /// A group of one item, of this run.
    fn begin(&self, value: V, run: u64) -> Self::Group;

    /// Adds an item of this run; those of a run come in order. `earlier` says that it stands before all
    /// others of the group.
    fn add(&self, group: &mut Self::Group, value: V, run: u64, earlier: bool);

    /// Adds a group with an equal key; what the two have of one run, the first one has the earlier part of.
    /// `earlier` says that the other begins before the first.
    fn merge(&self, group: &mut Self::Group, other: Self::Group, earlier: bool);
}

/// A key with its group.
#[derive(Debug)]
pub(crate) struct Entry<K, G> {
    /// The key of the group's first item.
    pub(crate) key: K,
    pub(crate) group: G,
    run: u64,
    index: u32,
    pub(crate) hash: u32,
}

impl<K, G> Entry<K, G> {
    /// The same key with something else.
    pub(crate) fn map<H>(self, map: impl FnOnce(G) -> H) -> Entry<K, H> {
        Entry {
            key: self.key,
            group: map(self.group),
            run: self.run,
            index: self.index,
            hash: self.hash,
        }
    }

    /// Where the group's first item stands.
    pub(crate) fn first(&self) -> Place {
        (self.run, self.index)
    }
}

/// Groups by key.
#[derive(Debug)]
pub(crate) struct Table<K, G> {
    entries: Vec<Entry<K, G>>,
    /// 0, or one more than an entry's number. A power of two of them, or none.
    slots: Vec<u32>,
}

impl<K: Eq, G> Table<K, G> {
    pub(crate) const fn new() -> Self {
        Self {
            entries: Vec::new(),
            slots: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// A table of these entries, whose keys differ.
    pub(crate) fn of_entries(entries: Vec<Entry<K, G>>) -> Self {
        let mut table = Self {
            entries,
            slots: Vec::new(),
        };
        table.rebuild(table.entries.len() * SLOTS_PER_ENTRY);
        table
    }

    pub(crate) fn entries(&self) -> &[Entry<K, G>] {
        &self.entries
    }

    /// The group of a key with this hash.
    pub(crate) fn get(&self, hash: u32, key: &K) -> Option<&G> {
        let number = self.find(hash, key)?;
        Some(&self.entries[number].group)
    }

    /// The memory that is in use.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.entries) + size_of_val(&*self.slots)
    }

    pub(crate) fn into_entries(self) -> Vec<Entry<K, G>> {
        self.entries
    }

    /// Takes all entries out, and keeps the memory of the slots.
    pub(crate) fn take_entries(&mut self) -> Vec<Entry<K, G>> {
        self.slots.fill(0);
        std::mem::take(&mut self.entries)
    }

    /// Adds an item of this run.
    #[inline]
    pub(crate) fn add<V, A: Gather<V, Group = G>>(&mut self, gather: &A, run: u64, row: Row<K, V>) {
        match self.find(row.hash, &row.key) {
            Some(number) => {
                let entry = &mut self.entries[number];
                let earlier = (run, row.index) < entry.first();
                gather.add(&mut entry.group, row.value, run, earlier);
                if earlier {
                    (entry.run, entry.index) = (run, row.index);
                    entry.key = row.key;
                }
            }
            None => self.insert(Entry {
                key: row.key,
                group: gather.begin(row.value, run),
                run,
                index: row.index,
                hash: row.hash,
            }),
        }
    }

    /// Adds a group.
    pub(crate) fn merge<V, A: Gather<V, Group = G>>(&mut self, gather: &A, other: Entry<K, G>) {
        let Some(number) = self.find(other.hash, &other.key) else {
            return self.insert(other);
        };
        let entry = &mut self.entries[number];
        let earlier = other.first() < entry.first();
        gather.merge(&mut entry.group, other.group, earlier);
        if earlier {
            (entry.run, entry.index) = (other.run, other.index);
            entry.key = other.key;
        }
    }

    /// Begins to fetch the slot where a hash is looked for first.
    #[inline]
    pub(crate) fn prefetch_slot(&self, hash: u32) {
        let mask = self.slots.len().wrapping_sub(1);
        if let Some(slot) = self.slots.get(hash as usize & mask) {
            prefetch_for_reading(slot);
        }
    }

    /// Begins to fetch the entry that a hash is likely to have.
    #[inline]
    pub(crate) fn prefetch_entry(&self, hash: u32) {
        let mask = self.slots.len().wrapping_sub(1);
        let number = self.slots.get(hash as usize & mask);
        let entry = number.and_then(|number| self.entries.get(number.wrapping_sub(1) as usize));
        if let Some(entry) = entry {
            prefetch_for_writing(entry);
        }
    }

    #[inline]
    fn find(&self, hash: u32, key: &K) -> Option<usize> {
        let mask = self.slots.len().wrapping_sub(1);
        let mut at = hash as usize & mask;
        loop {
            let number = self.slots.get(at)?.checked_sub(1)? as usize;
            let entry = &self.entries[number];
            if entry.hash == hash && entry.key == *key {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }

    fn insert(&mut self, entry: Entry<K, G>) {
        if (self.entries.len() + 1) * SLOTS_PER_ENTRY > self.slots.len() {
            self.rebuild(self.slots.len() * GROWTH);
        }
        self.entries.push(entry);
        self.occupy(self.entries.len() - 1);
    }

    /// Makes at least so many slots.
    #[cold]
    fn rebuild(&mut self, slots: usize) {
        self.slots.clear();
        self.slots
            .resize(slots.next_power_of_two().max(SLOTS_MIN), 0);
        for number in 0..self.entries.len() {
            self.occupy(number);
        }
    }

    /// Puts an entry's number into the first free slot from its hash on.
    fn occupy(&mut self, number: usize) {
        let mask = self.slots.len() - 1;
        let mut at = self.entries[number].hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = u32::try_from(number + 1).expect("a table has fewer than 2³² groups");
    }
}

const SLOTS_MIN: usize = 16;
const SLOTS_PER_ENTRY: usize = 2;
const GROWTH: usize = 4;
