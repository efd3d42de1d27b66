//! Groups of very many keys: items are distributed by hash, each to one of many parts.
//!
//! A runner writes its items into chunks, a series of them for each part. When a part has enough items, the runner
//! locks the part's groups, looks its keys up through slots of its own, which it uses for all parts in turn, and adds
//! the items. The groups of one part and the slots stay in a processor's own cache meanwhile, and chunks are reused at
//! once: they are rarely new memory. The items in chunks take at most a few times the memory of the groups.
//!
//! # Threads
//! A part's groups are behind a lock, held while items are added; keys are compared and dropped and items gathered
//! under it. The holder does not wait, unless a key's comparison or destructor, or a closure that gathers, waits for
//! that of another item. The documentation of the operators excludes that: there may be one runner only, and then the
//! other's would never come. Such code may run queries of its own.

use crate::query::hash::local::{Gather, Local};
use crate::query::hash::table::{GroupEntry, Keyed, Slots, Table};
use crate::query::hash::{ItemPosition, PART_BITS, PARTS, part_of};
use crate::sync::{Mutex, Padded, lock, try_lock};
use std::sync::Arc;

/// The groups of all parts.
pub(crate) struct Parts<K, G>(Vec<Part<K, G>>);

type Part<K, G> = Padded<Mutex<Vec<OrderedGroup<K, G>>>>;

/// A key with its group.
pub(crate) struct OrderedGroup<K, G> {
    /// The key of the group's first item.
    key: K,
    group: G,
    /// The position of the group's first item.
    run: u64,
    index: u32,
    hash: u32,
}

impl<K, G> Keyed for OrderedGroup<K, G> {
    #[inline]
    fn hash(&self) -> u32 {
        self.hash
    }
}

impl<K, G> OrderedGroup<K, G> {
    pub(super) fn new(entry: GroupEntry<K, G>, (run, index): ItemPosition) -> Self {
        Self {
            key: entry.key,
            group: entry.group,
            run,
            index,
            hash: entry.hash,
        }
    }

    pub(crate) fn first(&self) -> ItemPosition {
        (self.run, self.index)
    }

    pub(crate) fn into_group(self) -> (K, G) {
        (self.key, self.group)
    }
}

/// An item that is not in its group yet.
pub(crate) struct NumberedRow<K, V> {
    pub(crate) key: K,
    pub(crate) value: V,
    pub(crate) hash: u32,
    /// The number within its run.
    pub(crate) index: u32,
}

/// What a runner distributes.
pub(crate) struct Spread<K, V, G> {
    parts: Arc<Parts<K, G>>,
    batches: Vec<Batch<K, V>>,
    /// Empty chunks, to be reused.
    spare: Vec<Vec<NumberedRow<K, V>>>,
    slots: Slots,
}

/// Items for one part.
struct Batch<K, V> {
    /// The last chunk, never full.
    last: Vec<NumberedRow<K, V>>,
    /// The earlier ones.
    full: Vec<Vec<NumberedRow<K, V>>>,
    /// The number of rows in those.
    len: usize,
    /// Each run with the number of its first row.
    runs: Vec<(u64, usize)>,
    /// The run of the last row.
    run: u64,
    /// This number of rows is worth adding,
    len_worth: usize,
    /// and this number is added even if the runner must wait for another.
    len_max: usize,
}

impl<K, G> Parts<K, G> {
    pub(crate) fn new() -> Self {
        let parts = (0..PARTS).map(|_| Padded(Mutex::new(Vec::new())));
        Self(parts.collect())
    }

    /// All groups, part by part.
    pub(crate) fn take(&self) -> Vec<Vec<OrderedGroup<K, G>>> {
        let parts = self.0.iter();
        parts.map(|part| std::mem::take(&mut *lock(part))).collect()
    }
}

impl<K: Eq, G> Parts<K, G> {
    /// Adds a runner's groups.
    pub(crate) fn merge<V, A: Gather<V, Group = G>>(&self, gather: &A, local: Local<K, G>) {
        let mut shares: Vec<_> = (0..PARTS).map(|_| Vec::new()).collect();
        for (entry, first) in local.into_entries() {
            shares[part_of(entry.hash)].push(OrderedGroup::new(entry, first));
        }
        let mut slots = Slots::default();
        for (share, part) in shares.into_iter().zip(&self.0) {
            if !share.is_empty() {
                let mut entries = lock(part);
                let len = entries.len() + share.len();
                let mut table = Table::of(std::mem::take(&mut *entries), slots, len);
                for entry in share {
                    table.merge(gather, entry);
                }
                (*entries, slots) = (table.entries, table.slots);
            }
        }
    }
}

impl<K: Eq, G> Table<OrderedGroup<K, G>> {
    /// Adds an item of this run.
    #[inline]
    fn add<V, A: Gather<V, Group = G>>(&mut self, gather: &A, run: u64, row: NumberedRow<K, V>) {
        match self.find(row.hash, |entry| entry.key == row.key) {
            Some(number) => {
                let entry = &mut self.entries[number];
                let earlier = (run, row.index) < entry.first();
                gather.add(&mut entry.group, row.value, run, earlier);
                if earlier {
                    (entry.run, entry.index) = (run, row.index);
                    entry.key = row.key;
                }
            }
            None => self.insert(OrderedGroup {
                key: row.key,
                group: gather.begin(row.value, run),
                run,
                index: row.index,
                hash: row.hash,
            }),
        }
    }

    /// Adds a group.
    fn merge<V, A: Gather<V, Group = G>>(&mut self, gather: &A, other: OrderedGroup<K, G>) {
        let Some(number) = self.find(other.hash, |entry| entry.key == other.key) else {
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
}

impl<K: Eq, V, G> Spread<K, V, G> {
    pub(crate) fn new(parts: Arc<Parts<K, G>>) -> Self {
        Self {
            parts,
            batches: (0..PARTS).map(|_| Batch::new()).collect(),
            spare: Vec::new(),
            slots: Slots::default(),
        }
    }

    /// Distributes an item of this run.
    #[inline]
    pub(crate) fn add<A: Gather<V, Group = G>>(
        &mut self,
        gather: &A,
        run: u64,
        row: NumberedRow<K, V>,
    ) {
        let number = part_of(row.hash);
        let batch = &mut self.batches[number];
        batch.push(run, row);
        if batch.last.len() == batch.last.capacity() {
            self.next_chunk(number, gather);
        }
    }

    /// Begins another chunk of a part. Adds the part's rows to its groups, if that pays and no other runner holds
    /// them.
    #[cold]
    fn next_chunk<A: Gather<V, Group = G>>(&mut self, number: usize, gather: &A) {
        let batch = &mut self.batches[number];
        let chunk_len = (batch.last.capacity() * CHUNK_GROWTH).min(chunk_len_max::<K, V>());
        let next = self.spare.pop();
        batch.begin_chunk(next.unwrap_or_else(|| Vec::with_capacity(chunk_len)));
        if batch.len < batch.len_worth {
            return;
        }
        let part = &self.parts.0[number];
        let entries = if batch.len < batch.len_max {
            try_lock(part)
        } else {
            Some(lock(part))
        };
        match entries {
            Some(mut entries) => {
                batch.add_to(&mut entries, gather, &mut self.slots);
                self.spare.append(&mut batch.full);
            }
            None => batch.len_worth += BATCH_LEN_MIN,
        }
    }

    /// Adds all rows to their groups. Runners of different ordinals begin with different parts.
    pub(crate) fn flush<A: Gather<V, Group = G>>(&mut self, ordinal: usize, gather: &A) {
        let start = ordinal.reverse_bits() >> (usize::BITS - PART_BITS);
        for number in (0..PARTS).map(|number| number ^ start) {
            let batch = &mut self.batches[number];
            batch.begin_chunk(Vec::new());
            if batch.len > 0 {
                let mut entries = lock(&self.parts.0[number]);
                batch.add_to(&mut entries, gather, &mut self.slots);
            }
            batch.full = Vec::new();
        }
    }
}

impl<K: Eq, V> Batch<K, V> {
    fn new() -> Self {
        Self {
            last: Vec::with_capacity(CHUNK_LEN_MIN),
            full: Vec::new(),
            len: 0,
            runs: Vec::new(),
            run: u64::MAX,
            len_worth: BATCH_LEN_MIN,
            len_max: BATCH_LEN_MIN * PATIENCE,
        }
    }

    #[inline]
    fn push(&mut self, run: u64, row: NumberedRow<K, V>) {
        if self.run != run {
            self.run = run;
            self.runs.push((run, self.len + self.last.len()));
        }
        self.last.push(row);
    }

    /// Continues with this chunk.
    fn begin_chunk(&mut self, next: Vec<NumberedRow<K, V>>) {
        self.len += self.last.len();
        self.full.push(std::mem::replace(&mut self.last, next));
    }

    /// Adds the rows of all full chunks.
    fn add_to<G, A: Gather<V, Group = G>>(
        &mut self,
        entries: &mut Vec<OrderedGroup<K, G>>,
        gather: &A,
        slots: &mut Slots,
    ) {
        let len = entries.len() + self.len;
        let mut table = Table::of(std::mem::take(entries), std::mem::take(slots), len);
        let mut runs = self.runs.drain(..).peekable();
        let mut run = 0;
        let mut number = 0;
        for chunk in &mut self.full {
            for row in chunk.drain(..) {
                if let Some((next, _)) = runs.next_if(|&(_, start)| start == number) {
                    run = next;
                }
                number += 1;
                table.add(gather, run, row);
            }
        }
        drop(runs);
        self.run = u64::MAX;
        self.len = 0;
        self.len_worth = BATCH_LEN_MIN.max(table.len() * ROWS_PER_GROUP);
        self.len_max = self.len_worth * PATIENCE;
        (*entries, *slots) = (table.entries, table.slots);
    }
}

/// The number of rows in a chunk once there are some: a page of memory.
fn chunk_len_max<K, V>() -> usize {
    (CHUNK_BYTES_MAX / size_of::<NumberedRow<K, V>>()).max(CHUNK_LEN_MIN)
}

const CHUNK_BYTES_MAX: usize = 4 << 10;
/// The number of rows in a part's first chunk,
const CHUNK_LEN_MIN: usize = 16;
/// and the factor by which each following one is larger.
const CHUNK_GROWTH: usize = 4;
/// A batch has at least this number of rows,
const BATCH_LEN_MIN: usize = 1_024;
/// and this number for each group of its part: adding them makes up for fetching the groups.
const ROWS_PER_GROUP: usize = 2;
/// While another runner holds the groups, a batch grows to this many times what is worth adding.
const PATIENCE: usize = 2;
