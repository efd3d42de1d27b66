//! Items gathered for look-ups by key, all of them kept, in order.
//!
//! A runner only lists its items. Where there are very many it distributes them by hash, each to one of many parts. At
//! the end the runners' shares of a part are merged, by the runs in which the items came. If no runner has distributed
//! any, there is only one part.

use crate::engine::consumer::Consumer;
use crate::parallel::one_or_many::OneOrMany;
use crate::parallel::runs::Runs;
use crate::query::hash::hasher::Secret;
use crate::query::hash::{PARTS, part_of};
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
    Whole(Share<(K, V)>),
    Parts(Vec<Share<HashedRow<K, V>>>),
}

/// An item with its key's hash.
pub(crate) struct HashedRow<K, V> {
    pub(crate) key: K,
    pub(crate) value: V,
    pub(crate) hash: u32,
}

/// One runner's items of one part.
struct Share<R> {
    rows: Vec<R>,
    runs: Runs<u64>,
}

/// All items that were distributed.
pub(crate) enum Scattered<K, V> {
    Whole(Part<(K, V)>),
    /// As many parts as hashes are divided into.
    Parts(Vec<Part<HashedRow<K, V>>>),
}

/// All items of one part.
pub(crate) struct Part<R>(OneOrMany<Share<R>>);

impl<K: Hash, V, F> Scatter<K, V, F> {
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
            for (part, share) in parts.iter_mut().zip(shares.divided(self.secret)) {
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
        let shares = &mut runner.shares;
        shares.extend(runner.run.start, items.map(&self.split), self.secret);
        // Relaxed: a hint.
        shares.divide_if_many(self.runners.load(Ordering::Relaxed), self.secret);
    }

    fn finish(&self, runner: Self::Runner) {
        lock(&self.done).push(runner.shares);
    }

    fn end(&self) -> u64 {
        u64::MAX
    }
}

impl<K: Hash, V> Shares<K, V> {
    fn new() -> Self {
        Self::Whole(Share::new())
    }

    #[inline]
    fn extend(&mut self, run: u64, rows: impl Iterator<Item = (K, V)>, secret: Secret) {
        match self {
            Self::Whole(share) => {
                share.enter(run);
                share.rows.extend(rows);
            }
            Self::Parts(parts) => rows.for_each(|row| hand_out(parts, run, row, secret)),
        }
    }

    /// Divides them if there are too many for one table, where this number of runners have as many each.
    #[inline]
    fn divide_if_many(&mut self, runners: usize, secret: Secret) {
        if let Self::Whole(share) = self
            && share.rows.len() * runners > whole_len_max::<K, V>()
        {
            let whole = std::mem::replace(self, Self::new());
            *self = Self::Parts(whole.divided(secret));
        }
    }

    fn whole(self) -> Option<Share<(K, V)>> {
        match self {
            Self::Whole(share) => Some(share),
            Self::Parts(_) => None,
        }
    }

    /// Divided into all parts.
    #[cold]
    fn divided(self, secret: Secret) -> Vec<Share<HashedRow<K, V>>> {
        match self {
            Self::Parts(parts) => parts,
            Self::Whole(share) => {
                let mut parts: Vec<_> = (0..PARTS).map(|_| Share::new()).collect();
                let (runs, mut rows) = share.into_runs();
                for (run, count) in runs {
                    let rows = rows.by_ref().take(count);
                    rows.for_each(|row| hand_out(&mut parts, run, row, secret));
                }
                parts
            }
        }
    }
}

/// Adds a row to its part.
#[inline]
fn hand_out<K: Hash, V>(
    parts: &mut [Share<HashedRow<K, V>>],
    run: u64,
    (key, value): (K, V),
    secret: Secret,
) {
    let hash = secret.hash(&key);
    let part = &mut parts[part_of(hash)];
    part.enter(run);
    part.rows.push(HashedRow { key, value, hash });
}

impl<R> Share<R> {
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
    fn into_runs(self) -> (impl Iterator<Item = (u64, usize)>, vec::IntoIter<R>) {
        let ranges = self.runs.into_ranges(self.rows.len());
        let runs = ranges.map(|(run, range)| (run, range.len()));
        (runs, self.rows.into_iter())
    }
}

impl<R> Part<R> {
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|share| share.rows.len()).sum()
    }

    /// All items, in order.
    pub(crate) fn for_each(self, mut take: impl FnMut(R)) {
        let shares = match self.0.into_one() {
            Ok(share) => return share.rows.into_iter().for_each(take),
            Err(shares) => shares,
        };
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
                return;
            };
            if let Some((_, count)) = runs.next() {
                rows.by_ref().take(count).for_each(&mut take);
            }
        }
    }
}

/// Fewer items are kept together: one table for all look-ups is faster than many, though one thread alone builds it.
const fn whole_len_max<K, V>() -> usize {
    WHOLE_BYTES_MAX / (size_of::<(K, V)>() + 1)
}

const WHOLE_BYTES_MAX: usize = 48 << 20;
