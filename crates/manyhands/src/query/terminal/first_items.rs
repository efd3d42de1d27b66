//! The first few items of a query that knows no positions: blocks below the last one needed still run,
//! blocks above stop.
//!
//! # Ordering
//! The end is advice to runners about what they need not start, hence Relaxed; items are handed over under
//! the lock.

use crate::parallel::consumer::Consumer;
use crate::query::pipeline::Pipeline;
use crate::query::run::{Control, Run};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, into_inner, lock};
use std::collections::BTreeMap;
use std::ops::Range;

/// The first `most` items, in order.
pub(super) fn first_items<P: Pipeline, E: Control>(
    mut pipeline: P,
    most: usize,
    run: &Run<'_, E>,
) -> Vec<P::Item> {
    let first = FirstItems {
        most,
        end: AtomicU64::new(if most == 0 { 0 } else { u64::MAX }),
        blocks: Mutex::new(Blocks {
            items: BTreeMap::new(),
            covered: 0,
            count: 0,
        }),
    };
    pipeline.drive(u64::MAX, &first, run);
    let blocks = into_inner(first.blocks).items.into_values();
    blocks.flat_map(|(_, items)| items).take(most).collect()
}

/// Keeps blocks until those without a gap before them have items enough.
struct FirstItems<T> {
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
        while let Some((end, items)) = self.items.get(&self.covered) {
            self.covered = *end;
            self.count += items.len();
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
        let items: Vec<T> = items.take(self.most).collect();
        let mut blocks = lock(&self.blocks);
        blocks.insert(positions, items);
        if blocks.count >= self.most {
            // Relaxed: see the file's header.
            self.end.fetch_min(blocks.covered, Ordering::Relaxed);
        }
    }

    fn finish(&self, _runner: ()) {}

    fn end(&self) -> u64 {
        // Relaxed: see the file's header.
        self.end.load(Ordering::Relaxed)
    }
}
