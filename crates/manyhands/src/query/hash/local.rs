//! One runner's groups, in the order of their first items.
//!
//! Items come in ascending order, so an item whose group exists is never the group's first. Only where each run begins
//! is stored to know their order.

use crate::parallel::one_or_many::OneOrMany;
use crate::parallel::runs::Runs;
use crate::query::hash::table::{GROWTH, GroupEntry, Slots, Table, find};
use crate::query::hash::{ItemPosition, hash_of};
use foldhash::fast::FixedState;
use std::hash::Hash;
use std::ops::{ControlFlow, Range};

/// How items become groups.
pub(crate) trait Gather<V>: Sync {
    /// The value of a group.
    type Group: Send;

    /// A group of one item, of this run.
    fn begin(&self, value: V, run: u64) -> Self::Group;

    /// Adds an item of this run; those of a run come in order. `earlier` means that it precedes all others of the
    /// group.
    fn add(&self, group: &mut Self::Group, value: V, run: u64, earlier: bool);

    /// Adds a group with an equal key. Of a run that both have, the first one has the earlier part. `earlier` means
    /// that the other begins before the first.
    fn merge(&self, group: &mut Self::Group, other: Self::Group, earlier: bool);
}

/// Groups by key.
pub(crate) struct Local<K, G> {
    table: Table<GroupEntry<K, G>>,
    /// Groups belong to the runs in which they have their first items. The position of a run is the item position before
    /// that of the first item of its first group.
    runs: Runs<ItemPosition>,
    secret: FixedState,
}

impl<K, G> Local<K, G> {
    pub(crate) fn new(secret: FixedState) -> Self {
        Self {
            table: Table::new(),
            runs: Runs::default(),
            secret,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// With this number of groups it takes about as much memory as a processor's own cache has.
    pub(crate) fn len_max() -> usize {
        LOCAL_BYTES_MAX / (size_of::<GroupEntry<K, G>>() + 2 * size_of::<u32>())
    }

    /// How many groups were begun in the last run.
    pub(crate) fn begun(&self) -> u32 {
        let groups = self.len() - self.runs.last.number;
        u32::try_from(groups).expect("a runner has fewer than 2³² groups")
    }

    /// The items that follow come after this item position.
    pub(crate) fn enter(&mut self, last: ItemPosition) {
        let (run, _) = self.runs.last.position;
        if run != last.0 || self.len() == 0 {
            self.runs.begin(last, self.len());
        }
    }

    /// This number of items will be added.
    pub(crate) fn expect(&mut self, items: usize) {
        if self.len() == 0 && self.table.is_full() {
            self.table = Table::with_capacity(items.min(LEN_EXPECTED_MAX));
        }
    }

    /// Gives the table more slots if this number of items, which were added to it, is large: a key that is not in the
    /// first of its slots costs a mispredicted branch each time.
    #[inline]
    pub(crate) fn thin_out(&mut self, items: usize) {
        let capacity = self.table.slots.capacity();
        if capacity < SPARSE_LEN_MAX
            && items / SPARSE_ITEMS_MIN > capacity
            && self.len() > capacity / SPARSE_ROOM
        {
            self.table.make_room(capacity * GROWTH);
        }
    }

    /// All groups, in order.
    pub(crate) fn into_groups(self) -> impl Iterator<Item = (K, G)> {
        let entries = self.table.entries.into_iter();
        entries.map(|entry| (entry.key, entry.group))
    }

    /// All groups, in order, with the positions of their first items.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (GroupEntry<K, G>, ItemPosition)> {
        let ranges: Vec<_> = self.runs.ranges(self.table.len()).collect();
        let firsts = ranges.into_iter().flat_map(|((run, number), range)| {
            let numbered = range.zip(number + 1..);
            numbered.map(move |(_, number)| (run, number))
        });
        self.table.entries.into_iter().zip(firsts)
    }
}

impl<K: Hash + Eq, G> Local<K, G> {
    /// Adds items of this run, divided into keys and values by `split`, which may drop some. Breaks when it is full.
    #[inline(always)]
    pub(crate) fn add<T, V, A: Gather<V, Group = G>>(
        &mut self,
        gather: &A,
        run: u64,
        items: &mut impl Iterator<Item = T>,
        mut split: impl FnMut(T) -> Option<(K, V)>,
    ) -> ControlFlow<()> {
        let secret = self.secret.clone();
        loop {
            // The loop ends at the first item of each group, so that what it reads does not change meanwhile.
            let (slots, entries) = (&self.table.slots.slots[..], &mut self.table.entries[..]);
            let first = items.try_for_each(|item| {
                let Some((key, value)) = split(item) else {
                    return ControlFlow::Continue(());
                };
                let hash = hash_of(&secret, &key);
                let Some(number) = find(slots, hash, |number| entries[number].key == key) else {
                    return ControlFlow::Break((key, value, hash));
                };
                gather.add(&mut entries[number].group, value, run, false);
                ControlFlow::Continue(())
            });
            let ControlFlow::Break((key, value, hash)) = first else {
                return ControlFlow::Continue(());
            };
            let group = gather.begin(value, run);
            self.table.insert(GroupEntry { key, group, hash });
            if self.table.is_full() {
                return ControlFlow::Break(());
            }
        }
    }
}

/// What `make` makes of the groups of several runners, in order.
pub(crate) fn merge_all<K: Eq, V, A: Gather<V>, R>(
    gather: &A,
    tables: OneOrMany<Local<K, A::Group>>,
    mut make: impl FnMut(K, A::Group) -> R,
) -> Vec<R> {
    let mut tables = match tables.into_one() {
        Ok(table) => {
            let groups = table.into_groups();
            return groups.map(|(key, group)| make(key, group)).collect();
        }
        Err(tables) => tables.into_vec(),
    };
    tables.sort_by_key(Local::len);
    let len = tables.iter().map(Local::len).sum();
    let Some(largest) = tables.pop() else {
        return Vec::new();
    };
    let mut merged = Merged::begin(largest, len);
    for table in tables {
        merged.add(gather, table);
    }
    merged.into_groups(make)
}

/// Tables whose groups are merged. Numbers continue from one table to the next.
struct Merged<K, G> {
    slots: Slots,
    /// `None` where a group was added to a later one. There is room for all.
    entries: Vec<Option<GroupEntry<K, G>>>,
    /// Each run's first position and its groups, in the order of their numbers.
    runs: Vec<(u64, Range<usize>)>,
}

impl<K: Eq, G> Merged<K, G> {
    /// Begins with these groups, and makes room for `len` in all.
    fn begin(table: Local<K, G>, len: usize) -> Self {
        let runs = table.runs.ranges(table.len());
        let runs = runs.map(|((run, _), range)| (run, range)).collect();
        let Table { entries, mut slots } = table.table;
        if slots.capacity() < len {
            slots.rebuild(len, entries.iter().map(|entry| entry.hash));
        }
        let needs_word = size_of::<Option<GroupEntry<K, G>>>() > size_of::<GroupEntry<K, G>>();
        let groups = entries.into_iter().map(Some);
        // In the same memory, if a group needs no further word to say that there is none.
        let entries = if needs_word {
            let mut entries = Vec::with_capacity(len);
            entries.extend(groups);
            entries
        } else {
            let mut entries: Vec<_> = groups.collect();
            entries.reserve_exact(len - entries.len());
            entries
        };
        Self {
            slots,
            entries,
            runs,
        }
    }

    fn add<V, A: Gather<V, Group = G>>(&mut self, gather: &A, table: Local<K, G>) {
        let mut others = table.table.entries.into_iter();
        for ((run, _), range) in table.runs.ranges(others.len()) {
            // Its end comes with its groups. A key that equals one of its own table only now belongs to it, too.
            let start = self.entries.len();
            self.runs.push((run, start..usize::MAX));
            for mut other in others.by_ref().take(range.len()) {
                let (number, entries) = (self.entries.len(), &self.entries[..]);
                let found = find(&self.slots.slots, other.hash, |number| {
                    let entry = entries[number].as_ref();
                    entry.is_some_and(|entry| entry.key == other.key)
                });
                match found {
                    None => self.slots.occupy(other.hash, number),
                    Some(before) if run < self.run_of(before) => {
                        // The group of the first item takes the other's items, and its key is kept.
                        if let Some(entry) = self.entries[before].take() {
                            let mut group = entry.group;
                            gather.merge(&mut group, other.group, true);
                            other.group = group;
                        }
                        self.slots.renumber(other.hash, before, number);
                    }
                    Some(before) => {
                        if let Some(entry) = &mut self.entries[before] {
                            gather.merge(&mut entry.group, other.group, false);
                        }
                        continue;
                    }
                }
                self.entries.push(Some(other));
            }
            if let Some((_, range)) = self.runs.last_mut() {
                range.end = self.entries.len();
            }
        }
    }

    /// The first position of the run in which a group begins.
    fn run_of(&self, number: usize) -> u64 {
        let index = self.runs.partition_point(|(_, range)| range.end <= number);
        self.runs[index].0
    }

    fn into_groups<R>(mut self, mut make: impl FnMut(K, G) -> R) -> Vec<R> {
        let mut groups = Vec::with_capacity(self.entries.len());
        self.runs.sort_unstable_by_key(|(first, _)| *first);
        for (_, range) in self.runs {
            let entries = &mut self.entries[range];
            let entries = entries.iter_mut().filter_map(Option::take);
            groups.extend(entries.map(|entry| make(entry.key, entry.group)));
        }
        groups
    }
}

/// A table of this size stays in a processor's own cache, or nearly.
const LOCAL_BYTES_MAX: usize = 2 << 20;
/// The slots of this number of groups do: a key that is missing is looked up in them alone, so most of what is merged is.
pub(crate) const MERGED_LEN_MAX: usize = LOCAL_BYTES_MAX / (2 * size_of::<u32>());
/// A table with room for fewer groups than this is thinned out: its slots stay in a processor's own cache,
const SPARSE_LEN_MAX: usize = 32_768;
/// after this many items for each group that it has room for,
const SPARSE_ITEMS_MIN: usize = 32;
/// until it has room for this many times its groups.
const SPARSE_ROOM: usize = 4;
/// Room for this number of groups is made before the first.
const LEN_EXPECTED_MAX: usize = 128;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Gather, Local, SPARSE_ITEMS_MIN, SPARSE_LEN_MAX, SPARSE_ROOM};
    use crate::query::hash::new_secret;

    struct Counting;

    impl Gather<()> for Counting {
        type Group = usize;

        fn begin(&self, (): (), _run: u64) -> usize {
            1
        }

        fn add(&self, count: &mut usize, (): (), _run: u64, _earlier: bool) {
            *count += 1;
        }

        fn merge(&self, count: &mut usize, other: usize, _earlier: bool) {
            *count += other;
        }
    }

    /// Adds an item of each of these keys.
    fn add_each(table: &mut Local<usize, usize>, keys: usize) {
        let mut items = 0..keys;
        // Breaks where it is full, and then grows.
        while table
            .add(&Counting, 0, &mut items, |key| Some((key, ())))
            .is_break()
        {}
    }

    #[test]
    fn a_table_is_thinned_out_after_many_items_and_keeps_its_groups() {
        for keys in [1, 40, 1_000, 9_000, SPARSE_LEN_MAX] {
            let mut table = Local::new(new_secret());
            add_each(&mut table, keys);
            let before = table.table.slots.capacity();
            table.thin_out(before * SPARSE_ITEMS_MIN);
            let after = table.table.slots.capacity();
            assert_eq!(after, before, "these were not many items");
            for _ in 0..10 {
                table.thin_out(usize::MAX);
            }
            let capacity = table.table.slots.capacity();
            assert!(capacity >= SPARSE_LEN_MAX.min(keys * SPARSE_ROOM));
            assert!(capacity <= before.max(SPARSE_LEN_MAX * SPARSE_ROOM));
            assert!(capacity <= before.max(keys * SPARSE_ROOM * SPARSE_ROOM));
            add_each(&mut table, keys);
            assert!(table.into_groups().eq((0..keys).map(|key| (key, 2))));
        }
    }
}
