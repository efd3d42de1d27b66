//! The item of a given rank: all runners together partition the slice around pivots close to that rank.
//!
//! The pivots lie a little to either side of the rank (Floyd and Rivest, *Algorithm 489*, 1975), so that
//! two passes leave a small part of the slice.
//!
//! A round compares each remaining item at most twice. When all rounds together have passed over [`ROUNDS_WORTH`]
//! slices, the standard library takes over. Its selection is linear for every total order; so this one is too.

use crate::engine::Ending;
use crate::parallel::Options;
use crate::parallel::sort::estimate;
use crate::parallel::sort::part::{SAMPLE_LEN, part, pivot_to_front};
use std::cmp::Ordering;

/// Moves the item of rank `index` to that index, smaller ones before and larger ones after it. Returns early, with the
/// items in some order, when the call is cancelled.
pub(super) fn select<T: Send + Sync, E: Ending>(
    mut items: &mut [T],
    mut index: usize,
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
    options: &Options<'_, E>,
) {
    let mut budget = (items.len() + ROUND_COST).saturating_mul(ROUNDS_WORTH);
    while options.may_share() && budget > 0 && estimate::selecting_pays(items, compare) {
        let len = items.len();
        budget = budget.saturating_sub(len + ROUND_COST);
        pivot_to_front(items, rank_beside(index, len), compare);
        let (pivot, rest) = items.split_first_mut().expect("the slice is long");
        let pivot = &*pivot;
        let is_below = |item: &T| compare(item, pivot).is_lt();
        let Some(below) = part_shared(rest, &is_below, options) else {
            return;
        };
        items.swap(0, below);
        if index < below {
            items = &mut items[..below];
            continue;
        }
        let from_pivot = items[below..].split_first_mut();
        let (pivot, mut right) = from_pivot.expect("the pivot is there");
        index -= below;
        if index > 0 && below < len / UNEVEN_PART {
            let pivot = &*pivot;
            let is_equal = |item: &T| compare(pivot, item).is_ge();
            let Some(equal) = part_shared(right, &is_equal, options) else {
                return;
            };
            index = index.saturating_sub(equal);
            right = &mut right[equal..];
        }
        if index == 0 {
            return;
        }
        (items, index) = (right, index - 1);
    }
    if !items.is_empty() {
        items.select_nth_unstable_by(index, compare);
    }
}

/// The rank in a sample that lies beside rank `index` of `len`, on the side where more items are.
fn rank_beside(index: usize, len: usize) -> usize {
    let rank = index as u128 * SAMPLE_LEN as u128 / len as u128;
    let rank = usize::try_from(rank).map_or(0, |rank| rank.min(SAMPLE_LEN - 1));
    if index < len / 2 {
        (rank + SAMPLE_ERROR).min(SAMPLE_LEN - 1)
    } else {
        rank.saturating_sub(SAMPLE_ERROR)
    }
}

/// Moves the items that satisfy `is_left` before the others, and returns their number; `None` when the call was
/// cancelled.
///
/// Every runner partitions a segment of the slice; then the items on the wrong side are swapped.
fn part_shared<T: Send, E: Ending>(
    items: &mut [T],
    is_left: &(impl Fn(&T) -> bool + Sync),
    options: &Options<'_, E>,
) -> Option<usize> {
    let runners = options.runners(estimate::workers());
    let segment_len = items.len().div_ceil(runners * SEGMENTS_PER_RUNNER).max(1);
    let segments = items.chunks_mut(segment_len).collect();
    let lefts = options.map_few(segments, |segment| part(segment, is_left))?;
    let left = lefts.iter().sum();
    let swaps = swaps(items, left, segment_len, &lefts);
    options
        .for_each_few(swaps, |(ours, theirs)| ours.swap_with_slice(theirs))
        .then_some(left)
}

/// Pairs of equally long parts to be swapped, given how many items belong to the left in each segment and in all.
fn swaps<'a, T>(
    items: &'a mut [T],
    left: usize,
    segment_len: usize,
    lefts: &[usize],
) -> Vec<(&'a mut [T], &'a mut [T])> {
    let len = items.len();
    let (left_side, right_side) = items.split_at_mut(left);
    let bounds = lefts.iter().enumerate().map(|(number, count)| {
        let start = number * segment_len;
        (start, start + count, len.min(start + segment_len))
    });
    // On the left side the items that belong to the right, on the right side the items that belong to the left.
    let wrong_left = bounds
        .clone()
        .map(|(_, middle, end)| (middle.min(left), end.min(left)));
    let wrong_right =
        bounds.map(|(start, middle, _)| (start.max(left) - left, middle.max(left) - left));
    let mut ours = carve(left_side, wrong_left);
    let mut theirs = carve(right_side, wrong_right);
    let mut swaps = Vec::new();
    // Both sides have equally many.
    while let (Some(our), Some(their)) = (ours.pop(), theirs.pop()) {
        let count = our.len().min(their.len());
        let (our, our_rest) = our.split_at_mut(count);
        let (their, their_rest) = their.split_at_mut(count);
        swaps.push((our, their));
        ours.extend((!our_rest.is_empty()).then_some(our_rest));
        theirs.extend((!their_rest.is_empty()).then_some(their_rest));
    }
    swaps
}

/// The non-empty ones of these ascending ranges.
fn carve<T>(mut items: &mut [T], ranges: impl Iterator<Item = (usize, usize)>) -> Vec<&mut [T]> {
    let mut from = 0;
    let mut parts = Vec::new();
    for (start, end) in ranges.filter(|(start, end)| start < end) {
        let (head, tail) = items.split_at_mut(end - from);
        parts.push(&mut head[start - from..]);
        (items, from) = (tail, end);
    }
    parts
}

/// So that a runner that falls behind leaves work to others.
const SEGMENTS_PER_RUNNER: usize = 4;
/// Good pivots, taken from the middle, need less than two slices' worth of items in all.
const ROUNDS_WORTH: usize = 4;
/// Sorting a sample takes as long as one pass over about this many items.
const ROUND_COST: usize = 1_024;
/// The possible error of a rank in a sample.
const SAMPLE_ERROR: usize = 10;
/// A part smaller than one in this many is a sign of many equal items.
const UNEVEN_PART: usize = 16;
