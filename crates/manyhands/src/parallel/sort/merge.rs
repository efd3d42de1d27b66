//! Merging two sorted runs, in pieces that do not depend on each other.
//!
//! The ends of a piece are determined by binary search along the output (Odeh, Green et al., *Merge Path*, 2012). All
//! searches come before the first move: a comparison may change its items through a cell, and an item already copied
//! must not change any more.
//!
//! Unsafe: items are copied as bits, by pointers.

use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::ptr;

/// Two sorted runs, and where they are merged to. The copies own the items once all of them are made.
pub(super) struct Merge<'a, T> {
    pub(super) left: &'a mut [T],
    pub(super) right: &'a mut [T],
    /// The length of both together.
    pub(super) out: &'a mut [MaybeUninit<T>],
}

/// Splits a merge into pieces of about `piece_len` items.
pub(super) fn split<'a, T>(
    merge: Merge<'a, T>,
    piece_len: usize,
    compare: &impl Fn(&T, &T) -> Ordering,
    pieces: &mut Vec<Merge<'a, T>>,
) {
    let mut rest = merge;
    while rest.out.len() > piece_len + piece_len / 2 {
        let left_len = left_share(rest.left, rest.right, piece_len, compare);
        let (left, left_rest) = rest.left.split_at_mut(left_len);
        let (right, right_rest) = rest.right.split_at_mut(piece_len - left_len);
        let (out, out_rest) = rest.out.split_at_mut(piece_len);
        pieces.push(Merge { left, right, out });
        rest = Merge {
            left: left_rest,
            right: right_rest,
            out: out_rest,
        };
    }
    pieces.push(rest);
}

/// How many of the first `len` merged items come from the left; of equal ones the left are first.
fn left_share<T>(
    left: &[T],
    right: &[T],
    len: usize,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> usize {
    let (mut low, mut high) = (len.saturating_sub(right.len()), len.min(left.len()));
    while low < high {
        let middle = low.midpoint(high);
        if compare(&right[len - middle - 1], &left[middle]) == Ordering::Less {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

impl<T> Merge<'_, T> {
    /// Copies the items to `out`, in order. A comparison that panics leaves both runs as they are.
    pub(super) fn perform(self, compare: &impl Fn(&T, &T) -> Ordering) {
        assert_eq!(self.left.len() + self.right.len(), self.out.len());
        let mut out = self.out.as_mut_ptr().cast::<T>();
        let left = self.left.as_ptr_range();
        let right = self.right.as_ptr_range();
        let (mut next_left, mut next_right) = (left.start, right.start);
        while next_left < left.end && next_right < right.end {
            // SAFETY: within the left run.
            let left_item = unsafe { &*next_left };
            // SAFETY: within the right run.
            let right_item = unsafe { &*next_right };
            let takes_right = compare(right_item, left_item) == Ordering::Less;
            let taken = if takes_right { next_right } else { next_left };
            // SAFETY: `out` has room for all items of both runs.
            unsafe { ptr::copy_nonoverlapping(taken, out, 1) };
            // SAFETY: at most one past the end of the output.
            out = unsafe { out.add(1) };
            // SAFETY: at most one past the end of the right run.
            next_right = unsafe { next_right.add(usize::from(takes_right)) };
            // SAFETY: at most one past the end of the left run.
            next_left = unsafe { next_left.add(usize::from(!takes_right)) };
        }
        // SAFETY: both point into the left run.
        let left_len = unsafe { left.end.offset_from_unsigned(next_left) };
        // SAFETY: both point into the right run.
        let right_len = unsafe { right.end.offset_from_unsigned(next_right) };
        // SAFETY: what is left of the left run; there is room for all.
        unsafe { ptr::copy_nonoverlapping(next_left, out, left_len) };
        // SAFETY: within the output: it is as long as both runs.
        let out = unsafe { out.add(left_len) };
        // SAFETY: as above, for the right run.
        unsafe { ptr::copy_nonoverlapping(next_right, out, right_len) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Merge, split};
    use std::mem::MaybeUninit;

    /// Merges in pieces, and returns all items with the run they came from.
    fn merged(left: &[u8], right: &[u8], piece_len: usize) -> Vec<(u8, char)> {
        let mut left: Vec<_> = left.iter().map(|&item| (item, 'l')).collect();
        let mut right: Vec<_> = right.iter().map(|&item| (item, 'r')).collect();
        let mut out = vec![MaybeUninit::new((0, 'x')); left.len() + right.len()];
        let merge = Merge {
            left: &mut left,
            right: &mut right,
            out: &mut out,
        };
        let compare = |a: &(u8, char), b: &(u8, char)| a.0.cmp(&b.0);
        let mut pieces = Vec::new();
        split(merge, piece_len, &compare, &mut pieces);
        for piece in pieces {
            piece.perform(&compare);
        }
        // SAFETY: every entry was initialized at the beginning.
        out.into_iter()
            .map(|item| unsafe { item.assume_init() })
            .collect()
    }

    #[test]
    fn pieces_of_every_length_give_the_stable_merge() {
        let runs: [&[u8]; 6] = [
            &[],
            &[1],
            &[1, 1, 1, 1],
            &[1, 2, 3, 4, 5],
            &[0, 2, 2, 2, 9],
            &[3, 3, 7, 8, 8, 8, 8],
        ];
        for left in runs {
            for right in runs {
                let mut expected: Vec<_> = left.iter().map(|&item| (item, 'l')).collect();
                expected.extend(right.iter().map(|&item| (item, 'r')));
                expected.sort_by_key(|&(item, _)| item);
                for piece_len in 1..=left.len() + right.len() + 1 {
                    assert_eq!(merged(left, right, piece_len), expected);
                }
            }
        }
    }
}
