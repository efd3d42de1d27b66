//! Groups of the items with equal keys: lists, counts, sums, sets.
//!
//! Each runner begins with a table of its own. When that is full and has hardly made its items fewer, and the
//! runner is not alone, it hands its items out by hash instead, each to one of many parts, whose tables are
//! small enough to stay in a cache while a batch of items is added. Batches grow with the tables, so that
//! fetching a table into the cache pays; so what waits in batches is at most a few times what the groups take.
//!
//! # Threads
//! A part's table is behind a lock, held while a batch is added; keys are compared and items gathered under
//! it. Nobody waits for anything else.

use crate::parallel::consumer::{Consumer, Ending};
use crate::parallel::options::Options;
use crate::query::done::Done;
use crate::query::hash::hasher::Secret;
use crate::query::hash::local::{Gather, Local, merge_all};
use crate::query::hash::table::{Keyed, Table};
use crate::query::hash::{PARTS, Place, Places, part_of};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, Padded, into_inner, lock, try_lock};
use std::hash::Hash;
use std::marker::PhantomData;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// Groups items, from several runners at once. `split` takes an item apart into its key and what is
/// gathered of it, or drops it.
pub(crate) struct Groups<K, V, F, A: Gather<V>> {
    split: F,
    gather: A,
    secret: Secret,
    /// How many runners have begun.
    runners: AtomicUsize,
    /// Tables of runners that have never handed anything out.
    whole: Mutex<Done<Local<K, A::Group>>>,
    parts: Mutex<Option<Shared<K, A::Group>>>,
    gathers: PhantomData<fn(V)>,
}

/// The tables of all parts.
type Parts<K, G> = [Padded<Mutex<Table<Entry<K, G>>>>];
type Shared<K, G> = Arc<Parts<K, G>>;

/// A key with its group.
struct Entry<K, G> {
    /// The key of the group's first item.
    key: K,
    group: G,
    /// Where the group's first item stands.
    run: u64,
    index: u32,
    hash: u32,
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

impl<K, G> Entry<K, G> {
    fn first(&self) -> Place {
        (self.run, self.index)
    }
}

/// An item on its way to its group.
struct Row<K, V> {
    key: K,
    value: V,
    hash: u32,
    /// Number within its run.
    index: u32,
}

/// What a runner has in hand.
pub(crate) struct Runner<K, V, G> {
    local: Local<K, G>,
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
    /// The last few, which stay in a cache: so many batches are written to by turns that each row would be
    /// waited for else.
    last: Vec<Row<K, V>>,
    /// Those before.
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
            runners: AtomicUsize::new(0),
            whole: Mutex::new(Done::new()),
            parts: Mutex::new(None),
            gathers: PhantomData,
        }
    }

    /// All groups, by their first items if `in_order`.
    pub(crate) fn conclude<E: Ending>(
        self,
        in_order: bool,
        options: &Options<'_, E>,
    ) -> Vec<(K, A::Group)> {
        let whole = into_inner(self.whole);
        let Some(parts) = into_inner(self.parts) else {
            return merge_all(&self.gather, whole);
        };
        for local in whole {
            flush_local(&self.gather, self.secret, local, &parts);
        }
        let tables = parts
            .iter()
            .map(|part| std::mem::replace(&mut *lock(part), Table::new()));
        let mut tables: Vec<_> = tables.map(Table::into_entries).collect();
        let mut entries = Vec::with_capacity(tables.iter().map(Vec::len).sum());
        for table in &mut tables {
            entries.append(table);
        }
        drop(tables);
        if in_order {
            options.sort_unstable_by_key(&mut entries, Entry::first);
        }
        entries
            .into_iter()
            .map(|entry| (entry.key, entry.group))
            .collect()
    }

    /// Goes on at these positions.
    #[inline]
    fn enter(&self, runner: &mut Runner<K, V, A::Group>, positions: Range<u64>) {
        if positions.start < runner.places.run() && runner.spread.is_none() {
            // It has taken over positions that lie before those it had.
            let local = std::mem::replace(&mut runner.local, Local::new(self.secret));
            runner.items = 0;
            lock(&self.whole).push(local);
        }
        runner.places.enter(positions);
        if runner.spread.is_none() {
            runner.local.enter(runner.places.last());
        }
    }

    /// The runner's table is full.
    #[cold]
    fn make_room(&self, runner: &mut Runner<K, V, A::Group>) {
        // Relaxed: a hint.
        if self.runners.load(Ordering::Relaxed) == 1 && runner.local.len() < ALONE_LEN_MAX {
            runner.local.grow();
            return;
        }
        let parts = Arc::clone(lock(&self.parts).get_or_insert_with(|| {
            let parts = (0..PARTS).map(|_| Padded(Mutex::new(Table::new())));
            parts.collect()
        }));
        let pays = runner.items / runner.local.len() >= ITEMS_PER_GROUP_MIN;
        let local = std::mem::replace(&mut runner.local, Local::new(self.secret));
        runner.items = 0;
        runner.places.skip(local.begun());
        flush_local(&self.gather, self.secret, local, &parts);
        if pays {
            runner.local.enter(runner.places.last());
        } else {
            let batches = (0..PARTS).map(|_| Batch::new()).collect();
            runner.spread = Some(Spread { parts, batches });
        }
    }
}

/// Adds a runner's groups to their parts.
fn flush_local<K: Hash + Eq, V, A: Gather<V>>(
    gather: &A,
    secret: Secret,
    local: Local<K, A::Group>,
    parts: &Parts<K, A::Group>,
) {
    let mut shares: Vec<_> = (0..PARTS).map(|_| Vec::new()).collect();
    for keyed in local.into_keyed() {
        let hash = secret.hash(&keyed.key);
        shares[part_of(hash)].push(Entry {
            key: keyed.key,
            group: keyed.group,
            run: keyed.first.0,
            index: keyed.first.1,
            hash,
        });
    }
    for (share, part) in shares.into_iter().zip(parts) {
        if !share.is_empty() {
            let mut table = lock(part);
            for entry in share {
                table.merge(gather, entry);
            }
        }
    }
}

impl<K: Eq, G> Table<Entry<K, G>> {
    /// Adds an item of this run.
    #[inline]
    fn add<V, A: Gather<V, Group = G>>(&mut self, gather: &A, run: u64, row: Row<K, V>) {
        match self.find(row.hash, &row.key) {
            Some(number) => {
                let entry = self.entry_mut(number);
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
    fn merge<V, A: Gather<V, Group = G>>(&mut self, gather: &A, other: Entry<K, G>) {
        let Some(number) = self.find(other.hash, &other.key) else {
            return self.insert(other);
        };
        let entry = self.entry_mut(number);
        let earlier = other.first() < entry.first();
        gather.merge(&mut entry.group, other.group, earlier);
        if earlier {
            (entry.run, entry.index) = (other.run, other.index);
            entry.key = other.key;
        }
    }
}

impl<K: Eq, V, G> Spread<K, V, G> {
    #[inline]
    fn add<A: Gather<V, Group = G>>(&mut self, gather: &A, run: u64, row: Row<K, V>) {
        let number = part_of(row.hash);
        let batch = &mut self.batches[number];
        batch.push(run, row);
        if batch.last.len() >= last_len_max::<K, V>() {
            self.offer(number, gather);
        }
    }

    /// Adds a part's rows to its table, if that is worth it and nobody else is at it.
    #[cold]
    fn offer<A: Gather<V, Group = G>>(&mut self, number: usize, gather: &A) {
        let batch = &mut self.batches[number];
        batch.rows.append(&mut batch.last);
        if batch.rows.len() < batch.len_worth {
            return;
        }
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
            batch.rows.append(&mut batch.last);
            if !batch.rows.is_empty() {
                batch.add_to(&mut lock(part), gather);
            }
        }
    }
}

impl<K: Eq, V> Batch<K, V> {
    fn new() -> Self {
        Self {
            last: Vec::with_capacity(last_len_max::<K, V>()),
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
            self.runs.push((run, self.rows.len() + self.last.len()));
        }
        self.last.push(row);
    }

    fn add_to<A: Gather<V>>(&mut self, table: &mut Table<Entry<K, A::Group>>, gather: &A) {
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
                    table.prefetch_entry_for_writing(row.hash);
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
        // Relaxed: a hint.
        self.runners.fetch_add(1, Ordering::Relaxed);
        Runner {
            local: Local::new(self.secret),
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
        mut items: I,
    ) {
        self.enter(runner, positions);
        while runner.spread.is_none() {
            let (local, run) = (&mut runner.local, runner.places.run());
            local.expect(items.size_hint().0);
            let mut count = 0;
            let flow = items.try_for_each(|item| {
                count += 1;
                match (self.split)(item) {
                    Some((key, value)) => local.add(&self.gather, run, key, value),
                    None => ControlFlow::Continue(()),
                }
            });
            runner.items += count;
            if flow.is_continue() {
                return;
            }
            self.make_room(runner);
        }
        if let Some(spread) = &mut runner.spread {
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
                    spread.add(&self.gather, run, row);
                }
            });
        }
    }

    fn finish(&self, mut runner: Self::Runner) {
        match &mut runner.spread {
            Some(spread) => spread.flush(&self.gather),
            None => lock(&self.whole).push(runner.local),
        }
    }

    fn end(&self) -> u64 {
        u64::MAX
    }
}

/// So many rows are put into a batch at once: few enough for those of all parts to stay in a processor's own
/// cache.
const fn last_len_max<K, V>() -> usize {
    let len = LAST_BYTES_MAX / (size_of::<Row<K, V>>() + 1);
    if len == 0 { 1 } else { len }
}

/// The last rows of 256 parts take 256 kB then.
const LAST_BYTES_MAX: usize = 1 << 10;
/// A runner that is alone keeps a table with fewer groups to itself; their numbers stay far below 2³².
const ALONE_LEN_MAX: usize = 1 << 28;
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
