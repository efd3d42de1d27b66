//! The results of the first items up to a failure, where positions are known: written in place, as `parallel::map` does.
//!
//! Nobody knows how many there will be. So room is made, and items are run, in steps: each many times as long as the one before, and
//! later as long as all of them.
//!
//! Not here: items whose positions are not known (`first_items.rs`).
//!
//! # Ordering
//! The end only says what runners need not start, hence Relaxed; it is read for the result when all have left.
//!
//! Unsafe: takes over what was written in place.

use crate::engine::{Consumer, Ending};
use crate::parallel::append::{ROOM_BYTES_MAX, give_back_room};
use crate::parallel::map::Filling;
use crate::parallel::source::to_usize;
use crate::query::{Items, Positional, QueryRun};
use crate::sync::atomic::{AtomicU64, Ordering};
use std::ops::Range;

/// The results of `map` for the items before its first `None`, `most` at most.
pub(crate) fn first_in_place<S: Positional, R: Send, E: Ending>(
    mut items: Items<S>,
    most: u64,
    map: impl Fn(S::Item) -> Option<R> + Sync,
    run: &QueryRun<'_, E>,
) -> Vec<R> {
    let mut left = usize::try_from(items.len().min(most)).unwrap_or(usize::MAX);
    let (mut results, mut step) = (Vec::new(), STEP_FIRST);
    // Room for more is made only where there are as many results already.
    let step_max = (ROOM_BYTES_MAX / size_of::<R>().max(BYTES_MIN)).max(STEP_FIRST);
    while left > 0 {
        let len = left.min(step).min(step_max.max(results.len()));
        let mut first = FirstInPlace {
            filling: Filling::of_first(results, len),
            map: &map,
            end: AtomicU64::new(u64::MAX),
        };
        items.drive(len as u64, &mut first, run);
        if run.is_cancelled() {
            return Vec::new();
        }
        let end = to_usize(first.end.into_inner().min(len as u64));
        // SAFETY: each position was driven once; all below the end, where no item has failed, have a result.
        results = unsafe { first.filling.into_first(end) };
        left = if end < len { 0 } else { left - len };
        step = step.saturating_mul(STEP_GROWTH);
    }
    drop((items, map));
    give_back_room(&mut results);
    results
}

/// Writes results in place, up to the first `None`.
struct FirstInPlace<'a, R, F> {
    filling: Filling<R>,
    map: &'a F,
    /// Where that is; nothing behind it is wanted.
    end: AtomicU64,
}

impl<T, R: Send, F: Fn(T) -> Option<R> + Sync> Consumer<T> for FirstInPlace<'_, R, F> {
    type Runner = Range<usize>;

    #[inline]
    fn start(&self) -> Range<usize> {
        self.filling.start()
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        run: &mut Range<usize>,
        positions: Range<u64>,
        items: I,
    ) {
        let mut has_failed = false;
        let passing = items.map_while(|item| {
            let made = (self.map)(item);
            has_failed = made.is_none();
            made
        });
        self.filling.consume(run, positions, passing);
        if has_failed {
            // Relaxed: see the file's header.
            self.end.fetch_min(run.end as u64, Ordering::Relaxed);
        }
    }

    #[inline]
    fn finish(&self, run: Range<usize>) {
        self.filling.finish(run);
    }

    #[inline]
    fn finish_only(&mut self, run: Range<usize>) {
        self.filling.finish_only(run);
    }

    #[inline]
    fn end(&self) -> u64 {
        // Relaxed: see the file's header.
        self.end.load(Ordering::Relaxed)
    }
}

/// Items of the first step: room for so few is made at once, and most searches that end early end here.
const STEP_FIRST: usize = 1 << 10;
/// Each step is this many times as long as the one before: its end is a barrier, and runners search alone at first.
const STEP_GROWTH: usize = 64;
/// An item counts as this long at least: where items take long, and are run one by one, each may be noted as a run of its own.
const BYTES_MIN: usize = size_of::<Range<usize>>();
