//! The first few items of a query that knows no positions: blocks below the last one needed still run,
//! blocks above stop.
//!
//! # Ordering
//! The end only says what runners need not start, hence Relaxed; the lock publishes the items.

use crate::engine::consumer::Consumer;
use crate::query::pipeline::Pipeline;
use crate::query::run::{Control, QueryRun};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, into_inner, lock};
use std::collections::BTreeMap;
use std::ops::Range;

/// The first `most` items, in order.
pub(crate) fn first_items<P: Pipeline, E: Control>(
    mut pipeline: P,
    most: usize,
    run: &QueryRun<'_, E>,
) -> Vec<P::Item> {
    let first = FirstItems::new(most);
    pipeline.drive(u64::MAX, &first, run);
    first.into_vec(u64::MAX)
}

/// Keeps blocks until those without a gap before them have enough items.
pub(crate) struct FirstItems<T> {
    most: usize,
    end: AtomicU64,
    blocks: Mutex<Blocks<T>>,
}

struct Blocks<T> {
    /// By first position: one past the last, and the items.
    items: BTreeMap<u64, (u64, Vec<T>)>,
    /// Up to here there is no gap.
    covered: u64,
    /// Items up to there.
    count: usize,
}

impl<T> Blocks<T> {
    fn insert(&mut self, positions: Range<u64>, items: Vec<T>) {
        self.items.insert(positions.start, (positions.end, items));
        self.cover();
    }

    /// How many of a block's items may be needed: no unneeded item is taken from the source.
    fn most_of(&self, positions: &Range<u64>, most: usize) -> usize {
        if positions.start == self.covered {
            most.saturating_sub(self.count)
        } else {
            most
        }
    }

    /// Positions below `end` are complete, with or without blocks.
    fn pass(&mut self, end: u64) {
        // Blocks from there on have no items: the source ended within or before them.
        let beyond = self.items.split_off(&end);
        debug_assert!(beyond.values().all(|(_, items)| items.is_empty()));
        let missed = self.items.range(self.covered.min(end)..);
        self.count += missed.map(|(_, (_, items))| items.len()).sum::<usize>();
        self.covered = end;
        self.cover();
    }

    fn cover(&mut self) {
        while let Some((end, items)) = self.items.get(&self.covered) {
            self.covered = *end;
            self.count += items.len();
        }
    }
}

impl<T> FirstItems<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            end: AtomicU64::new(if most == 0 { 0 } else { u64::MAX }),
            blocks: Mutex::new(Blocks {
                items: BTreeMap::new(),
                covered: 0,
                count: 0,
            }),
        }
    }

    /// The items of blocks that begin before `end`, as many as are wanted.
    pub(crate) fn into_vec(self, end: u64) -> Vec<T> {
        let blocks = into_inner(self.blocks).items;
        let blocks = blocks.into_iter().take_while(|(start, _)| *start < end);
        let items = blocks.flat_map(|(_, (_, items))| items);
        items.take(self.most).collect()
    }

    fn note(&self, blocks: &Blocks<T>) {
        if blocks.count >= self.most {
            // Relaxed: see the file's header.
            self.end.fetch_min(blocks.covered, Ordering::Relaxed);
        }
    }
}

impl<T: Send> Consumer<T> for FirstItems<T> {
    type Runner = ();

    fn start(&self) {}

    fn consume<I: Iterator<Item = T>>(&self, _runner: &mut (), positions: Range<u64>, items: I) {
        if positions.is_empty() {
            return;
        }
        let most = lock(&self.blocks).most_of(&positions, self.most);
        let items: Vec<T> = items.take(most).collect();
        let mut blocks = lock(&self.blocks);
        blocks.insert(positions, items);
        self.note(&blocks);
    }

    fn pass(&self, end: u64) {
        let mut blocks = lock(&self.blocks);
        blocks.pass(end);
        self.note(&blocks);
    }

    fn finish(&self, _runner: ()) {}

    fn end(&self) -> u64 {
        // Relaxed: see the file's header.
        self.end.load(Ordering::Relaxed)
    }
}
