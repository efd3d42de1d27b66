//! Whether a slice is worth sorting in parallel: a few of its items are sorted, and that is timed.

use crate::engine::pays_to_share;
use crate::runtime::current;
use crate::sync::clock;
use std::array;
use std::cmp::Ordering;

/// Whether a sort is expected to be faster when it is shared.
///
/// Slices that look sorted, forwards or backwards, are not: one thread sorts them in one pass.
pub(super) fn sorting_pays<T>(items: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> bool {
    let pays = || {
        Look::at(items, compare).is_some_and(|look| {
            let comparisons = items.len() as u64 * u64::from(look.passes(items.len()));
            !look.is_sorted() && look.pays(comparisons)
        })
    };
    // By a second look, too: where the first finds nothing in the caches, comparisons seem to take several times as long as they do.
    pays() && pays()
}

/// A sample of a slice, each item a stride behind the one before.
struct Look {
    /// How many of its items are below the one before, in the sample or in the slice.
    falling: usize,
    /// How many different values it has.
    values: usize,
    /// How long it took to sort it.
    ticks: u64,
}

impl Look {
    fn at<T>(items: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> Option<Self> {
        if items.len() < LEN_MIN || size_of::<T>() == 0 {
            return None;
        }
        let stride = items.len() / SAMPLE_LEN;
        let mut sample: [&T; SAMPLE_LEN] = array::from_fn(|number| &items[number * stride]);
        let falls = |before: &T, item: &T| usize::from(compare(item, before).is_lt());
        let apart: usize = sample.windows(2).map(|pair| falls(pair[0], pair[1])).sum();
        let neighbours = (0..SAMPLE_LEN).map(|number| &items[number * stride + 1]);
        let pairs = sample.iter().zip(neighbours);
        let beside: usize = pairs.map(|(a, b)| falls(a, b)).sum();
        let begun = clock::ticks();
        sample.sort_unstable_by(|a, b| compare(a, b));
        let ticks = clock::ticks().saturating_sub(begun);
        let rises = sample.windows(2).map(|pair| falls(pair[1], pair[0]));
        Some(Self {
            falling: apart + beside,
            values: 1 + rises.sum::<usize>(),
            ticks,
        })
    }

    /// Whether no pair shows that the slice is not sorted, forwards or backwards.
    fn is_sorted(&self) -> bool {
        self.falling == 0 || self.falling == 2 * SAMPLE_LEN - 1
    }

    /// How often a sort goes through `len` items: not more often than it takes to tell their values apart.
    fn passes(&self, len: usize) -> u32 {
        let is_each_different = self.values == SAMPLE_LEN;
        let values = if is_each_different { len } else { self.values };
        values.ilog2()
    }

    /// Two threads save less than half of the time, because the first pass, or the last one, is slower than the standard library's.
    fn pays(&self, comparisons: u64) -> bool {
        let sorted = SAMPLE_LEN as u64 * u64::from(SAMPLE_LEN.ilog2());
        let expected = self.ticks.saturating_mul(comparisons) / sorted;
        expected > clock::ticks_in(SHARED_NANOS_MIN) && pays_to_share(expected / 2) && workers() > 1
    }
}

/// Workers of the current runtime.
pub(in crate::parallel) fn workers() -> usize {
    current::with_runtime(|runtime| runtime.idle.limit)
}

/// Shorter slices are sorted before a helper has joined.
const LEN_MIN: usize = 256;
/// Sorting them takes much less than a microsecond where comparisons are cheap.
const SAMPLE_LEN: usize = 32;
/// A shorter sort gains less than its extra passes take.
const SHARED_NANOS_MIN: u64 = 60_000;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{LEN_MIN, Look};

    fn look(items: &[u64]) -> Look {
        Look::at(items, &u64::cmp).expect("the slice is long enough")
    }

    #[test]
    fn only_one_run_looks_sorted() {
        let len = 100_000;
        assert!(look(&(0..len).collect::<Vec<_>>()).is_sorted());
        assert!(look(&(0..len).rev().collect::<Vec<_>>()).is_sorted());
        assert!(look(&vec![7; LEN_MIN]).is_sorted());
        for runs in [2, 8, 100, 1_000, 10_000] {
            let run = len / runs;
            let ascending: Vec<_> = (0..len).map(|i| i % run * runs + i / run).collect();
            assert!(!look(&ascending).is_sorted(), "{runs} runs");
            let descending: Vec<_> = ascending.into_iter().rev().collect();
            assert!(!look(&descending).is_sorted(), "{runs} runs backwards");
        }
    }

    #[test]
    fn few_values_need_few_passes() {
        let passes = |values: u64| {
            let items: Vec<_> = (0..30_000)
                .map(|i: u64| i * 7_919 % 30_011 % values)
                .collect();
            look(&items).passes(items.len())
        };
        assert_eq!((passes(1), passes(2), passes(30_011)), (0, 1, 14));
        assert!((2..=3).contains(&passes(8)));
    }
}
