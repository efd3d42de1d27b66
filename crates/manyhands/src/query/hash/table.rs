//! A hash table for many groups: entries in a vector, and slots that hold their numbers.
//!
//! Linear probing, at most half full. The bits of a slot above those that a number needs hold part of the hash: most
//! look-ups of missing keys read no entry.

/// Something with a key.
pub(crate) trait Keyed {
    /// The key's hash.
    fn hash(&self) -> u32;
}

/// A key with its group.
#[derive(Debug)]
pub(crate) struct GroupEntry<K, G> {
    pub(crate) key: K,
    pub(crate) group: G,
    pub(crate) hash: u32,
}

impl<K, G> Keyed for GroupEntry<K, G> {
    #[inline]
    fn hash(&self) -> u32 {
        self.hash
    }
}

/// Numbers of entries, by their keys' hashes.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// 0 in an empty slot; else one more than an entry's number in the low bits, and the hash's high bits. A power of
    /// two of them, or none.
    pub(super) slots: Vec<u32>,
}

impl Slots {
    /// Room for this number of entries.
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len() / SLOTS_PER_ENTRY
    }

    /// Makes room for this number of entries. The existing ones have these hashes, in the order of their numbers.
    #[cold]
    pub(crate) fn rebuild(&mut self, len: usize, hashes: impl Iterator<Item = u32>) {
        let slots = (len * SLOTS_PER_ENTRY).next_power_of_two().max(SLOTS_MIN);
        assert!(
            u32::try_from(slots - 1).is_ok(),
            "a part of the keys has fewer than 2³¹ groups"
        );
        self.slots.clear();
        self.slots.resize(slots, 0);
        for (number, hash) in hashes.enumerate() {
            self.occupy(hash, number);
        }
    }

    /// Puts an entry's number into the first free slot from its hash on. There is room.
    #[inline]
    pub(crate) fn occupy(&mut self, hash: u32, number: usize) {
        let mask = self.mask();
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = self.slot(hash, number);
    }

    /// Gives the entry with this hash and number another number.
    pub(crate) fn renumber(&mut self, hash: u32, number: usize, other: usize) {
        let mask = self.mask();
        let slot = self.slot(hash, number);
        let mut at = hash as usize & mask;
        while self.slots[at] != slot {
            at = (at + 1) & mask;
        }
        self.slots[at] = self.slot(hash, other);
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "numbers and masks are below 2³², which is checked where slots are made"
    )]
    fn slot(&self, hash: u32, number: usize) -> u32 {
        hash & !(self.mask() as u32) | (number as u32 + 1)
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots.len().wrapping_sub(1)
    }
}

/// The number of the entry with this hash that is the wanted one.
#[inline]
pub(crate) fn find(slots: &[u32], hash: u32, is_wanted: impl Fn(usize) -> bool) -> Option<usize> {
    let mask = slots.len().wrapping_sub(1);
    let mut at = hash as usize & mask;
    loop {
        let slot = *slots.get(at)?;
        if (slot ^ hash) as usize & !mask & u32::MAX as usize == 0 {
            // 0 in an empty slot, which has no hash.
            let number = (slot as usize & mask).checked_sub(1)?;
            if is_wanted(number) {
                return Some(number);
            }
        } else if slot == 0 {
            return None;
        }
        at = (at + 1) & mask;
    }
}

/// Entries by key.
#[derive(Debug)]
pub(crate) struct Table<E> {
    /// In the order in which they were added.
    pub(crate) entries: Vec<E>,
    pub(super) slots: Slots,
}

impl<E: Keyed> Table<E> {
    pub(crate) fn new() -> Self {
        Self {
            entries: Vec::new(),
            slots: Slots::default(),
        }
    }

    /// With room for this number of entries.
    pub(crate) fn with_capacity(len: usize) -> Self {
        Self::of(Vec::with_capacity(len), Slots::default(), len)
    }

    /// A table of these entries, with room for this number in all. Takes slots of another table, to reuse their
    /// memory.
    pub(crate) fn of(entries: Vec<E>, slots: Slots, len: usize) -> Self {
        let mut table = Self { entries, slots };
        table.make_room(len);
        table
    }

    /// Makes room for this number of entries in all.
    pub(crate) fn make_room(&mut self, len: usize) {
        let hashes = self.entries.iter().map(Keyed::hash);
        self.slots.rebuild(len, hashes);
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the next entry must be made room for.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= self.slots.capacity()
    }

    /// Adds an entry, whose key is missing.
    #[inline]
    pub(crate) fn insert(&mut self, entry: E) {
        if self.is_full() {
            self.make_room(self.entries.len() * GROWTH);
        }
        self.slots.occupy(entry.hash(), self.entries.len());
        self.entries.push(entry);
    }

    /// The number of the entry with this hash that is the wanted one.
    #[inline]
    pub(crate) fn find(&self, hash: u32, is_wanted: impl Fn(&E) -> bool) -> Option<usize> {
        let entries = &self.entries[..];
        find(&self.slots.slots, hash, |number| {
            is_wanted(&entries[number])
        })
    }
}

const SLOTS_MIN: usize = 16;
const SLOTS_PER_ENTRY: usize = 2;
/// A full table makes room for this many times its entries.
pub(super) const GROWTH: usize = 4;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{GroupEntry, Table};

    /// Hashes that differ only in the bits that choose a slot, or only in the others, which may all be 0 as in an empty
    /// slot.
    #[test]
    fn a_key_is_found_whatever_the_bits_of_its_hash_and_only_if_it_was_added() {
        let many_slots = 0..48;
        let few_slots = (0..8).map(|high| high << 29);
        let hashes: Vec<u32> = many_slots.chain(few_slots).collect();
        for added in 0..hashes.len() {
            let mut table = Table::<GroupEntry<usize, ()>>::new();
            for (key, &hash) in hashes[..added].iter().enumerate() {
                assert_eq!(table.find(hash, |entry| entry.key == key), None);
                table.insert(GroupEntry {
                    key,
                    group: (),
                    hash,
                });
            }
            for (key, &hash) in hashes.iter().enumerate() {
                let expected = (key < added).then_some(key);
                assert_eq!(table.find(hash, |entry| entry.key == key), expected);
            }
        }
    }
}
