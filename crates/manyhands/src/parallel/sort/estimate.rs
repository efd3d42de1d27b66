//! Whether a slice is worth sorting in parallel: a few comparisons are made and timed.

use crate::engine::pays_to_share;
use crate::runtime::current;
use crate::sync::clock;
use std::cmp::Ordering;

/// Whether a sort is expected to be faster when it is shared.
///
/// Slices that look sorted, forwards or backwards, are not: one thread sorts them in one pass.
pub(super) fn sorting_pays<T>(items: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> bool {
    let Some(look) = Look::at(items, compare) else {
        return false;
    };
    let sorted = look.falling < UNSORTED_MIN || COMPARISONS - look.falling < UNSORTED_MIN;
    !sorted && look.pays(items.len() as u64 * u64::from(items.len().ilog2()))
}

/// Whether selecting an item by its rank is expected to be faster when it is shared.
pub(super) fn selecting_pays<T>(items: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> bool {
    Look::at(items, compare).is_some_and(|look| look.pays(items.len() as u64 * 2))
}

/// The result of a few comparisons of neighbours.
struct Look {
    /// Pairs out of order.
    falling: usize,
    ticks: u64,
}

impl Look {
    fn at<T>(items: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> Option<Self> {
        if items.len() < LEN_MIN || size_of::<T>() == 0 {
            return None;
        }
        let stride = items.len() / COMPARISONS;
        let begun = clock::ticks();
        let falling = (0..COMPARISONS)
            .filter(|pair| compare(&items[pair * stride + 1], &items[pair * stride]).is_lt())
            .count();
        let ticks = clock::ticks().saturating_sub(begun);
        Some(Self { falling, ticks })
    }

    fn pays(&self, comparisons: u64) -> bool {
        let expected = self.ticks.saturating_mul(comparisons) / COMPARISONS as u64;
        expected > clock::ticks_in(SHARED_NANOS_MIN) && pays_to_share(expected) && workers() > 1
    }
}

/// Workers of the current runtime.
pub(in crate::parallel) fn workers() -> usize {
    current::with_runtime(|runtime| runtime.idle.limit())
}

/// Shorter slices are sorted before a helper has joined.
const LEN_MIN: usize = 256;
/// Neighbours compared to measure what a comparison costs.
const COMPARISONS: usize = 32;
/// At least this many of those are out of order, and as many in order, unless the slice looks sorted.
const UNSORTED_MIN: usize = 2;
/// A shorter sort gains less than its extra passes take.
const SHARED_NANOS_MIN: u64 = 60_000;
