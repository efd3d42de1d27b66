//! Items with equal keys brought together, in order: for what keeps all of them.
//!
//! Each runner hands its items out by hash, each to one of many parts. At the end the runners' shares of a
//! part are merged, by the runs in which the items came. A runner with few items does not bother: if none
//! has many, there is only one part.

use crate::parallel::consumer::Consumer;
use crate::query::hash::hasher::Secret;
use crate::query::hash::{PARTS, Places, Row, part_of};
use crate::sync::{Mutex, into_inner, lock};
use std::hash::Hash;
use std::ops::Range;
use std::vec;

/// Hands items out, from several runners at once. `split` takes an item apart into its key and the rest.
pub(crate) struct Scatter<K, V, F> {
    split: F,
    secret: Secret,
    done: Mutex<Vec<Shares<K, V>>>,
}

/// What a runner has in hand.
pub(crate) struct Runner<K, V> {
    shares: Shares<K, V>,
    places: Places,
}

/// What one runner has handed out, in ascending order.
enum Shares<K, V> {
    Whole(Share<K, V>),
    Parts(Vec<Share<K, V>>),
}

/// One runner's items of one part.
struct Share<K, V> {
    rows: Vec<Row<K, V>>,
    /// Each run with its number of rows.
    runs: Vec<(u64, usize)>,
}

/// All items of one part.
pub(crate) struct Part<K, V>(Vec<Share<K, V>>);

impl<K: Hash, V, F> Scatter<K, V, F> {
    pub(crate) fn new(split: F, secret: Secret) -> Self {
        Self {
            split,
            secret,
            done: Mutex::new(Vec::new()),
        }
    }

    /// All parts: one, or [`PARTS`].
    pub(crate) fn into_parts(self) -> Vec<Part<K, V>> {
        let mut done = into_inner(self.done);
        if done.iter().any(|shares| matches!(shares, Shares::Parts(_))) {
            done = done.into_iter().map(Shares::divided).collect();
        }
        let mut parts = Vec::new();
        for shares in done {
            let shares = match shares {
                Shares::Whole(share) => vec![share],
                Shares::Parts(shares) => shares,
            };
            parts.resize_with(shares.len(), || Part(Vec::new()));
            for (part, share) in parts.iter_mut().zip(shares) {
                part.0.push(share);
            }
        }
        parts
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
        Runner {
            shares: Shares::new(),
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
        let before = runner.places.run();
        runner.places.enter(positions);
        if runner.places.run() < before {
            // It has taken over positions that lie before those it had.
            let shares = std::mem::replace(&mut runner.shares, Shares::new());
            lock(&self.done).push(shares);
        }
        items.for_each(|item| {
            let (key, value) = (self.split)(item);
            let (run, index) = runner.places.next();
            let hash = self.secret.hash(&key);
            let row = Row {
                key,
                value,
                hash,
                index,
            };
            runner.shares.push(run, row);
        });
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
    fn push(&mut self, run: u64, row: Row<K, V>) {
        match self {
            Self::Parts(parts) => parts[part_of(row.hash)].push(run, row),
            Self::Whole(share) => {
                share.push(run, row);
                if share.rows.len() > WHOLE_LEN_MAX {
                    *self = std::mem::replace(self, Self::new()).divided();
                }
            }
        }
    }

    /// Divided into all parts.
    #[cold]
    fn divided(self) -> Self {
        let Self::Whole(share) = self else {
            return self;
        };
        let mut parts: Vec<_> = (0..PARTS).map(|_| Share::new()).collect();
        Part(vec![share]).for_each(|run, row| parts[part_of(row.hash)].push(run, row));
        Self::Parts(parts)
    }
}

impl<K, V> Share<K, V> {
    fn new() -> Self {
        Self {
            rows: Vec::new(),
            runs: Vec::new(),
        }
    }

    #[inline]
    fn push(&mut self, run: u64, row: Row<K, V>) {
        self.rows.push(row);
        match self.runs.last_mut() {
            Some((last, count)) if *last == run => *count += 1,
            _ => self.runs.push((run, 1)),
        }
    }
}

impl<K, V> Part<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|share| share.rows.len()).sum()
    }

    /// All items, in order.
    pub(crate) fn for_each(self, mut take: impl FnMut(u64, Row<K, V>)) {
        let mut shares: Vec<_> = self
            .0
            .into_iter()
            .map(|share| (share.runs.into_iter().peekable(), share.rows.into_iter()))
            .collect();
        loop {
            let next = shares
                .iter_mut()
                .filter_map(|(runs, rows)| Some((runs.peek()?.0, runs, rows)))
                .min_by_key(|(run, ..)| *run);
            let Some((_, runs, rows)) = next else {
                return;
            };
            if let Some((run, count)) = runs.next() {
                rows.by_ref().take(count).for_each(|row| take(run, row));
            }
        }
    }
}

/// A runner with fewer items keeps them together.
const WHOLE_LEN_MAX: usize = 4_096;
