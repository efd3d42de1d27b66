//! Merge sort: the standard library sorts runs, and passes merge them from the slice to a second buffer of its length
//! and back.
//!
//! In each pass the source buffer holds every item until the pass is complete; then the other one does. So a
//! comparison that panics, or a cancellation, loses nothing: at the end the items in the second buffer are copied
//! back.
//!
//! Unsafe: items are moved between the two buffers as bits.

use crate::engine::Ending;
use crate::parallel::Options;
use crate::parallel::map::check_written;
use crate::parallel::sort::estimate;
use crate::parallel::sort::merge::{Merge, split};
use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::{ptr, slice};

/// Sorts stably. Returns early, with the items in some order, when the call is cancelled.
pub(super) fn sort<T: Send, E: Ending>(
    items: &mut [T],
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
    options: &Options<'_, E>,
) {
    if !options.may_share() || !estimate::sorting_pays(items, compare) {
        return items.sort_by(compare);
    }
    let runners = options.runners(estimate::workers());
    let run_len = items.len().div_ceil((runners * 2).next_power_of_two());
    let runs = items.chunks_mut(run_len).collect::<Vec<_>>();
    if !options.for_each_few(runs, |run| run.sort_by(compare)) {
        return;
    }
    let piece_len = (items.len() / (runners * PIECES_PER_RUNNER)).max(PIECE_LEN_MIN);
    let mut places = MergeBuffers::new(items);
    let mut sorted_len = run_len;
    while sorted_len < places.items.len() || places.is_second_live {
        let (from, to) = places.views();
        let merges = merges(from, to, sorted_len, piece_len, compare);
        let written = options.map_few(merges, |merge| {
            let len = merge.out.len();
            merge.perform(compare);
            len
        });
        let Some(written) = written else { return };
        places.turn_over(written.into_iter().sum());
        sorted_len = sorted_len.saturating_mul(2);
    }
}

/// The pieces of a pass that merges neighbouring runs of `run_len` items.
fn merges<'a, T>(
    from: &'a mut [T],
    to: &'a mut [MaybeUninit<T>],
    run_len: usize,
    piece_len: usize,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> Vec<Merge<'a, T>> {
    let mut merges = Vec::new();
    let both_len = run_len.saturating_mul(2);
    for (both, out) in from.chunks_mut(both_len).zip(to.chunks_mut(both_len)) {
        let (left, right) = both.split_at_mut(run_len.min(both.len()));
        split(Merge { left, right, out }, piece_len, compare, &mut merges);
    }
    merges
}

/// The slice and the second buffer; copies the items back when it is dropped.
struct MergeBuffers<'a, T> {
    items: &'a mut [T],
    second: Vec<MaybeUninit<T>>,
    /// Which of the two holds the items.
    is_second_live: bool,
}

impl<'a, T> MergeBuffers<'a, T> {
    fn new(items: &'a mut [T]) -> Self {
        Self {
            second: Vec::with_capacity(items.len()),
            items,
            is_second_live: false,
        }
    }

    /// From now on the other buffer holds the items, of which a pass has written `written` there. Ends the process if
    /// these are not all.
    fn turn_over(&mut self, written: usize) {
        check_written(written, self.items.len());
        self.is_second_live = !self.is_second_live;
    }

    /// The buffer that holds the items, and the other one.
    fn views(&mut self) -> (&mut [T], &mut [MaybeUninit<T>]) {
        let len = self.items.len();
        let (first, second) = (self.items.as_mut_ptr(), self.second.as_mut_ptr().cast());
        let (from, to) = match self.is_second_live {
            false => (first, second),
            true => (second, first),
        };
        // SAFETY: all `len` items are there, and `self` is borrowed for as long as the view lives.
        let from = unsafe { slice::from_raw_parts_mut(from, len) };
        // SAFETY: room for `len` items, apart from `from`; what is in it need not be valid.
        let to = unsafe { slice::from_raw_parts_mut(to.cast(), len) };
        (from, to)
    }
}

impl<T> Drop for MergeBuffers<'_, T> {
    fn drop(&mut self) {
        if self.is_second_live {
            let len = self.items.len();
            let (first, second) = (self.items.as_mut_ptr(), self.second.as_ptr().cast());
            // SAFETY: the items are in the second buffer and nowhere else; the slice has room for them.
            unsafe { ptr::copy_nonoverlapping(second, first, len) };
        }
    }
}

/// So that runners that fall behind leave work to others.
const PIECES_PER_RUNNER: usize = 8;
/// Shorter pieces take less time than handing them out.
const PIECE_LEN_MIN: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::MergeBuffers;
    use crate::engine::ending::assert_ends_process;

    #[test]
    fn a_pass_that_has_not_written_every_item_ends_the_process() {
        assert_ends_process(
            "parallel::sort::stable::tests::a_pass_that_has_not_written_every_item_ends_the_process",
            "memory that it has not written",
            || MergeBuffers::new(&mut [1, 2, 3]).turn_over(2),
        );
    }
}
