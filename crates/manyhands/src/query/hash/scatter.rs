//! Items gathered for look-ups by key, all of them kept, in order.
//!
//! Where their number is known, and one table can hold them, the runners write them in place. Otherwise a runner only lists
//! its items, with their hashes. Where there are very many it distributes them, each to one of many parts. At the end the
//! runners' shares of a part are merged, by the runs in which the items came. If no runner has distributed any, there is
//! only one part.

use crate::engine::consumer::{Consumer, Ending};
use crate::parallel::one_or_many::OneOrMany;
use crate::parallel::runs::Runs;
use crate::query::gather::in_place;
use crate::query::hash::buckets::Row;
use crate::query::hash::hasher::Secret;
use crate::query::hash::{PARTS, part_of};
use crate::query::pipeline::Pipeline;
use crate::query::run::QueryRun;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Mutex, into_inner, lock};
use std::hash::Hash;
use std::ops::Range;
use std::vec;

/// Distributes items, from several runners at once. `split` divides an item into its key and the rest.
pub(crate) struct Scatter<K, V, F> {
    split: F,
    secret: Secret,
    /// How many runners have begun.
    runners: AtomicUsize,
    done: Mutex<OneOrMany<Shares<K, V>>>,
}

/// What a runner has so far.
pub(crate) struct Runner<K, V> {
    shares: Shares<K, V>,
    /// The first position of the run, and the end of its last block.
    run: Range<u64>,
}

/// What one runner has distributed, in ascending order.
enum Shares<K, V> {
    Whole(Share<K, V>),
    Parts(Vec<Share<K, V>>),
}

/// One runner's items of one part.
struct Share<K, V> {
    rows: Vec<Row<K, V>>,
    runs: Runs<u64>,
}

/// All items that were distributed.
pub(crate) enum Scattered<K, V> {
    Whole(Part<K, V>),
    /// As many parts as hashes are divided into.
    Parts(Vec<Part<K, V>>),
}

/// All items of one part.
pub(crate) struct Part<K, V>(OneOrMany<Share<K, V>>);

/// All items of a query. `split` divides an item into its key and the rest. After a cancellation some may be missing.
pub(crate) fn scattered<P: Pipeline, K: Hash + Send, V: Send, E: Ending>(
    mut query: P,
    split: impl Fn(P::Item) -> (K, V) + Sync,
    secret: Secret,
    run: &QueryRun<'_, E>,
) -> Scattered<K, V> {
    let run = run.for_merging();
    let scatter = Scatter::new(split, secret);
    let is_whole = |len| len <= whole_len_max::<K, V>() as u64;
    if P::IS_POSITIONAL && query.positions_left().is_some_and(is_whole) {
        let items = query.into_positions(u64::MAX, &run);
        let rows = in_place(items, |item| scatter.row(item), &run);
        return Scattered::Whole(Part::of_rows(rows.unwrap_or_default()));
    }
    query.drive(u64::MAX, &scatter, &run);
    scatter.into_parts()
}

impl<K: Hash, V, F> Scatter<K, V, F> {
    #[inline]
    fn row<T>(&self, item: T) -> Row<K, V>
    where
        F: Fn(T) -> (K, V),
    {
        let (key, value) = (self.split)(item);
        let hash = self.secret.hash(&key);
        Row::new(key, value, hash)
    }

    pub(crate) fn new(split: F, secret: Secret) -> Self {
        Self {
            split,
            secret,
            runners: AtomicUsize::new(0),
            done: Mutex::new(OneOrMany::new()),
        }
    }

    /// All items.
    pub(crate) fn into_parts(self) -> Scattered<K, V> {
        let done = into_inner(self.done);
        if done.iter().all(|shares| matches!(shares, Shares::Whole(_))) {
            return Scattered::Whole(Part(done.filter_map(Shares::whole)));
        }
        let mut parts: Vec<_> = (0..PARTS).map(|_| Part(OneOrMany::new())).collect();
        for shares in done {
            for (part, share) in parts.iter_mut().zip(shares.divided()) {
                part.0.push(share);
            }
        }
        Scattered::Parts(parts)
    }
}

impl<T, K, V, F> Consumer<T> for Scatter<K, V, F>
where
    K: Hash + Send,
    V: Send,
    F: Fn(T) -> (K, V) + Sync,
{
    type Runner = Runner<K, V>;

    fn start(&self) -> Self::Runner {
        // Relaxed: a hint.
        self.runners.fetch_add(1, Ordering::Relaxed);
        Runner {
            shares: Shares::new(),
            run: 0..0,
        }
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        runner: &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        if positions.start != runner.run.end {
            if positions.start < runner.run.start {
                // It has taken over positions that lie before its earlier ones.
                let shares = std::mem::replace(&mut runner.shares, Shares::new());
                lock(&self.done).push(shares);
            }
            runner.run.start = positions.start;
        }
        runner.run.end = positions.end;
        let rows = items.map(|item| self.row(item));
        let shares = &mut runner.shares;
        shares.extend(runner.run.start, rows);
        // Relaxed: a hint.
        shares.divide_if_many(self.runners.load(Ordering::Relaxed));
    }

    fn finish(&self, runner: Self::Runner) {
        lock(&self.done).push(runner.shares);
    }

    fn end(&self) -> u64 {
        u64::MAX
    }
}

impl<K, V> Shares<K, V> {
    fn new() -> Self {
        Self::Whole(Share::new())
    }

    #[inline]
    fn extend(&mut self, run: u64, rows: impl Iterator<Item = Row<K, V>>) {
        match self {
            Self::Whole(share) => {
                share.enter(run);
                share.rows.extend(rows);
            }
            Self::Parts(parts) => rows.for_each(|row| hand_out(parts, run, row)),
        }
    }

    /// Divides them if there are too many for one table, where this number of runners have as many each.
    #[inline]
    fn divide_if_many(&mut self, runners: usize) {
        if let Self::Whole(share) = self
            && share.rows.len() * runners > whole_len_max::<K, V>()
        {
            let whole = std::mem::replace(self, Self::new());
            *self = Self::Parts(whole.divided());
        }
    }

    fn whole(self) -> Option<Share<K, V>> {
        match self {
            Self::Whole(share) => Some(share),
            Self::Parts(_) => None,
        }
    }

    /// Divided into all parts.
    #[cold]
    fn divided(self) -> Vec<Share<K, V>> {
        match self {
            Self::Parts(parts) => parts,
            Self::Whole(share) => {
                let mut parts: Vec<_> = (0..PARTS).map(|_| Share::new()).collect();
                let (runs, mut rows) = share.into_runs();
                for (run, count) in runs {
                    let rows = rows.by_ref().take(count);
                    rows.for_each(|row| hand_out(&mut parts, run, row));
                }
                parts
            }
        }
    }
}

/// Adds a row to its part.
#[inline]
fn hand_out<K, V>(parts: &mut [Share<K, V>], run: u64, row: Row<K, V>) {
    let part = &mut parts[part_of(row.hash())];
    part.enter(run);
    part.rows.push(row);
}

impl<K, V> Share<K, V> {
    fn new() -> Self {
        Self {
            rows: Vec::new(),
            runs: Runs::new(),
        }
    }

    /// The rows that follow belong to this run.
    #[inline]
    fn enter(&mut self, run: u64) {
        if self.runs.last().position != run {
            self.runs.begin(run, self.rows.len());
        }
    }

    /// Each run with its number of rows, and the rows.
    fn into_runs(self) -> (impl Iterator<Item = (u64, usize)>, vec::IntoIter<Row<K, V>>) {
        let ranges = self.runs.into_ranges(self.rows.len());
        let runs = ranges.map(|(run, range)| (run, range.len()));
        (runs, self.rows.into_iter())
    }
}

impl<K, V> Part<K, V> {
    fn of_rows(rows: Vec<Row<K, V>>) -> Self {
        let mut shares = OneOrMany::new();
        shares.push(Share {
            rows,
            runs: Runs::new(),
        });
        Self(shares)
    }

    /// All items, in order.
    pub(crate) fn into_rows(self) -> Vec<Row<K, V>> {
        let shares = match self.0.into_one() {
            Ok(share) => return share.rows,
            Err(shares) => shares,
        };
        let mut all = Vec::with_capacity(shares.iter().map(|share| share.rows.len()).sum());
        let shares = shares.into_iter().filter(|share| !share.rows.is_empty());
        let mut shares: Vec<_> = shares
            .map(Share::into_runs)
            .map(|(runs, rows)| (runs.peekable(), rows))
            .collect();
        loop {
            let next = shares
                .iter_mut()
                .filter_map(|(runs, rows)| Some((runs.peek()?.0, runs, rows)))
                .min_by_key(|(run, ..)| *run);
            let Some((_, runs, rows)) = next else {
                return all;
            };
            if let Some((_, count)) = runs.next() {
                all.extend(rows.by_ref().take(count));
            }
        }
    }
}

/// Fewer items are kept together: one table for all look-ups is faster than many, though one thread alone builds it.
const fn whole_len_max<K, V>() -> usize {
    WHOLE_BYTES_MAX / (size_of::<Row<K, V>>() + 1)
}

const WHOLE_BYTES_MAX: usize = 64 << 20;
