//! In-place quicksort, down to segments that the standard library sorts.
//!
//! The slice is partitioned around good pivots, in rounds, until there are a few segments for each runner. Items move
//! by swapping, so a comparison that panics loses none.

use crate::engine::Ending;
use crate::parallel::Options;
use crate::parallel::sort::estimate;
use crate::parallel::sort::part::{SAMPLE_LEN, part, pivot_to_front};
use std::cmp::{Ordering, Reverse};

/// Sorts. Returns early, with the items in some order, when the call is cancelled.
pub(super) fn sort<T: Send, E: Ending>(
    items: &mut [T],
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
    options: &Options<'_, E>,
) {
    if !options.may_share() || !estimate::sorting_pays(items, compare) {
        // Each sort has a closure of its own: where both share one the compiler does not inline it, and short sorts of numbers
        // take 1.18 times as long.
        return items.sort_unstable_by(|a, b| compare(a, b));
    }
    let runners = options.runners(estimate::workers());
    let len_max = (items.len() / (runners * SEGMENTS_PER_RUNNER)).max(SAMPLE_LEN);
    let (mut long, mut segments) = (vec![items], Vec::new());
    while !long.is_empty() {
        let parted = options.map_few(long, |segment| part_around_middle(segment, compare));
        let Some(parted) = parted else { return };
        long = Vec::new();
        for (both, are_even) in parted {
            for segment in both {
                let is_long = are_even && segment.len() > len_max;
                let list = if is_long { &mut long } else { &mut segments };
                list.push(segment);
            }
        }
    }
    // The longest first: the short ones at the end balance the load.
    segments.sort_by_key(|segment| Reverse(segment.len()));
    options.for_each_few(segments, |segment| {
        segment.sort_unstable_by(|a, b| compare(a, b));
    });
}

/// Partitions a segment in two, which are not sorted yet; items equal to the pivot, if there are many, are already where they
/// belong. Also whether the parts are even: otherwise no good pivot was detected, and the standard library copes with that.
fn part_around_middle<'a, T>(
    segment: &'a mut [T],
    compare: &impl Fn(&T, &T) -> Ordering,
) -> ([&'a mut [T]; 2], bool) {
    let len = segment.len();
    pivot_to_front(segment, compare);
    let (pivot, rest) = segment.split_first_mut().expect("a segment is long");
    let below = part(rest, |item| compare(item, pivot) == Ordering::Less);
    segment.swap(0, below);
    let (left, right) = segment.split_at_mut(below);
    let (pivot, mut right) = right.split_first_mut().expect("the pivot is there");
    if below < len / UNEVEN_PART {
        let equal = part(right, |item| compare(pivot, item) != Ordering::Less);
        right = &mut right[equal..];
    }
    let are_even = left.len().max(right.len()) <= len - len / UNEVEN_PART;
    ([left, right], are_even)
}

/// So that the last segments balance the load.
const SEGMENTS_PER_RUNNER: usize = 4;
/// A part smaller than one in this many is a sign of many equal items, or of a bad pivot.
const UNEVEN_PART: usize = 8;
