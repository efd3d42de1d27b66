//! Groups that are smaller than their items: counts, sums, sets.
//!
//! Each runner begins with a small table of its own. When that is full and has hardly made its items fewer,
//! the runner hands them out by hash instead, each to one of many parts, whose tables are small enough to
//! stay in a cache while a batch of items is added. Batches grow with the tables, so that fetching a table
//! into the cache pays; so what waits in batches is at most a few times what the groups take.
//!
//! # Threads
//! A part's table is behind a lock, held while a batch is added; keys are compared and items gathered under
//! it. Nobody waits for anything else.

use crate::parallel::consumer::{Consumer, Ending};
use crate::parallel::options::Options;
use crate::query::hash::hasher::Secret;
use crate::query::hash::table::{Entry, Gather, Table};
use crate::query::hash::{PARTS, Places, Row, part_of};
use crate::sync::{Mutex, Padded, into_inner, lock, try_lock};
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// Groups items, from several runners at once. `split` takes an item apart into its key and what is
/// gathered of it, or drops it.
pub(crate) struct Groups<K, V, F, A: Gather<V>> {
    split: F,
    gather: A,
    secret: Secret,
    /// Tables of runners that have never handed anything out.
    whole: Mutex<Vec<Table<K, A::Group>>>,
    parts: Mutex<Option<Shared<K, A::Group>>>,
    gathers: PhantomData<fn(V)>,
}

/// The tables of all parts.
type Parts<K, G> = [Padded<Mutex<Table<K, G>>>];
type Shared<K, G> = Arc<Parts<K, G>>;

/// What a runner has in hand.
pub(crate) struct Runner<K, V, G> {
    table: Table<K, G>,
    /// Items that went into the table since it was empty.
    items: usize,
    spread: Option<Spread<K, V, G>>,
    places: Places,
}

/// A runner that hands its items out.
struct Spread<K, V, G> {
    parts: Shared<K, G>,
    batches: Vec<Batch<K, V>>,
}

/// Items for one part.
struct Batch<K, V> {
    rows: Vec<Row<K, V>>,
    /// Each run with the number of its first row.
    runs: Vec<(u64, usize)>,
    /// The run of the last row.
    run: u64,
    /// So many rows are worth adding,
    len_worth: usize,
    /// and so many are added even if another runner must be waited for.
    len_max: usize,
}

impl<K: Hash + Eq + Send, V: Send, F, A: Gather<V>> Groups<K, V, F, A> {
    pub(crate) fn new(split: F, gather: A) -> Self {
        Self {
            split,
            gather,
            secret: Secret::new(),
            whole: Mutex::new(Vec::new()),
            parts: Mutex::new(None),
            gathers: PhantomData,
        }
    }

    /// The secret of all hashes.
    pub(crate) fn secret(&self) -> Secret {
        self.secret
    }

    /// All groups, by their first items if `in_order`.
    pub(crate) fn conclude<E: Ending>(
        self,
        in_order: bool,
        options: &Options<'_, E>,
    ) -> Vec<Entry<K, A::Group>> {
        let whole = into_inner(self.whole);
        let mut entries = match into_inner(self.parts) {
            None => merge_all(&self.gather, whole),
            Some(parts) => {
                for mut table in whole {
                    flush_table(&self.gather, &mut table, &parts);
                }
                parts
                    .iter()
                    .flat_map(|part| {
                        std::mem::replace(&mut *lock(part), Table::new()).into_entries()
                    })
                    .collect()
            }
        };
        if in_order {
            options.sort_unstable_by_key(&mut entries, Entry::first);
        }
        entries
    }

    #[inline]
    fn add(&self, runner: &mut Runner<K, V, A::Group>, run: u64, row: Row<K, V>) {
        let Some(spread) = &mut runner.spread else {
            runner.table.add(&self.gather, run, row);
            runner.items += 1;
            if runner.table.bytes() > TABLE_BYTES_MAX {
                self.make_room(runner);
            }
            return;
        };
        let number = part_of(row.hash);
        let batch = &mut spread.batches[number];
        batch.push(run, row);
        if batch.rows.len() >= batch.len_worth {
            spread.offer(number, &self.gather);
        }
    }

    /// The runner's table is full.
    #[cold]
    fn make_room(&self, runner: &mut Runner<K, V, A::Group>) {
        let parts = Arc::clone(lock(&self.parts).get_or_insert_with(|| {
            let parts = (0..PARTS).map(|_| Padded(Mutex::new(Table::new())));
            parts.collect()
        }));
        let pays = runner.items / runner.table.len() >= ITEMS_PER_GROUP_MIN;
        flush_table(&self.gather, &mut runner.table, &parts);
        runner.items = 0;
        if !pays {
            let batches = (0..PARTS).map(|_| Batch::new()).collect();
            runner.spread = Some(Spread { parts, batches });
        }
    }
}

/// All groups of these tables.
fn merge_all<K: Eq, V, A: Gather<V>>(
    gather: &A,
    tables: Vec<Table<K, A::Group>>,
) -> Vec<Entry<K, A::Group>> {
    let largest = |left: Table<K, A::Group>, right: Table<K, A::Group>| {
        let (mut large, small) = if left.len() < right.len() {
            (right, left)
        } else {
            (left, right)
        };
        for entry in small.into_entries() {
            large.merge(gather, entry);
        }
        large
    };
    tables
        .into_iter()
        .reduce(largest)
        .map_or_else(Vec::new, Table::into_entries)
}

/// Adds a runner's groups to their parts.
fn flush_table<K: Eq, V, A: Gather<V>>(
    gather: &A,
    table: &mut Table<K, A::Group>,
    parts: &Parts<K, A::Group>,
) {
    let mut entries = table.take_entries();
    entries.sort_unstable_by_key(|entry| entry.hash);
    let mut entries = entries.into_iter().peekable();
    while let Some(entry) = entries.next() {
        let number = part_of(entry.hash);
        let mut part = lock(&parts[number]);
        part.merge(gather, entry);
        while let Some(entry) = entries.next_if(|entry| part_of(entry.hash) == number) {
            part.merge(gather, entry);
        }
    }
}

impl<K: Eq, V, G> Spread<K, V, G> {
    /// Adds a part's rows to its table, if that is worth it and nobody else is at it.
    #[cold]
    fn offer<A: Gather<V, Group = G>>(&mut self, number: usize, gather: &A) {
        let batch = &mut self.batches[number];
        let part = &self.parts[number];
        let table = if batch.rows.len() < batch.len_max {
            try_lock(part)
        } else {
            Some(lock(part))
        };
        match table {
            Some(mut table) => batch.add_to(&mut table, gather),
            None => batch.len_worth += BATCH_LEN_MIN,
        }
    }

    fn flush<A: Gather<V, Group = G>>(&mut self, gather: &A) {
        for (batch, part) in self.batches.iter_mut().zip(&*self.parts) {
            if !batch.rows.is_empty() {
                batch.add_to(&mut lock(part), gather);
            }
        }
    }
}

impl<K: Eq, V> Batch<K, V> {
    fn new() -> Self {
        Self {
            rows: Vec::new(),
            runs: Vec::new(),
            run: u64::MAX,
            len_worth: BATCH_LEN_MIN,
            len_max: BATCH_LEN_MIN * PATIENCE,
        }
    }

    #[inline]
    fn push(&mut self, run: u64, row: Row<K, V>) {
        if self.run != run {
            self.run = run;
            self.runs.push((run, self.rows.len()));
        }
        self.rows.push(row);
    }

    fn add_to<A: Gather<V>>(&mut self, table: &mut Table<K, A::Group>, gather: &A) {
        let ends = self.runs.iter().skip(1).map(|&(_, start)| start);
        let ends = ends.chain([self.rows.len()]);
        let mut rows = self.rows.drain(..);
        for (&(run, start), end) in self.runs.iter().zip(ends) {
            for _ in start..end {
                let ahead = rows.as_slice();
                if let Some(row) = ahead.get(SLOTS_AHEAD) {
                    table.prefetch_slot(row.hash);
                }
                if let Some(row) = ahead.get(ENTRIES_AHEAD) {
                    table.prefetch_entry(row.hash);
                }
                if let Some(row) = rows.next() {
                    table.add(gather, run, row);
                }
            }
        }
        drop(rows);
        self.runs.clear();
        self.run = u64::MAX;
        self.len_worth = BATCH_LEN_MIN.max(table.len() * ROWS_PER_GROUP);
        self.len_max = self.len_worth * PATIENCE;
    }
}

impl<T, K, V, F, A> Consumer<T> for Groups<K, V, F, A>
where
    K: Hash + Eq + Send,
    V: Send,
    F: Fn(T) -> Option<(K, V)> + Sync,
    A: Gather<V>,
{
    type Runner = Runner<K, V, A::Group>;

    fn start(&self) -> Self::Runner {
        Runner {
            table: Table::new(),
            items: 0,
            spread: None,
            places: Places::new(),
        }
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        runner: &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        runner.places.enter(positions);
        items.for_each(|item| {
            let (run, index) = runner.places.next();
            if let Some((key, value)) = (self.split)(item) {
                let hash = self.secret.hash(&key);
                let row = Row {
                    key,
                    value,
                    hash,
                    index,
                };
                self.add(runner, run, row);
            }
        });
    }

    fn finish(&self, mut runner: Self::Runner) {
        match &mut runner.spread {
            Some(spread) => spread.flush(&self.gather),
            None => lock(&self.whole).push(runner.table),
        }
    }

    fn end(&self) -> u64 {
        u64::MAX
    }
}

/// A table of this size stays in a processor's own cache.
const TABLE_BYTES_MAX: usize = 640 << 10;
/// A table that gathers fewer items than this in each group is not worth having first.
const ITEMS_PER_GROUP_MIN: usize = 4;
/// A batch has at least so many rows,
const BATCH_LEN_MIN: usize = 1_024;
/// and so many for each group of its part: adding them makes up for fetching the table.
const ROWS_PER_GROUP: usize = 2;
/// So many rows before they are added, their slots are fetched,
const SLOTS_AHEAD: usize = 32;
/// and then their entries.
const ENTRIES_AHEAD: usize = 16;
/// While another runner has the table, a batch grows to so many times what is worth adding.
const PATIENCE: usize = 2;
