//! The positions of one source after those of another.
//!
//! Unsafe: passes positions on.

use crate::engine::Indexed;
use crate::job::{catch, value_or_resume};
use std::ops::Range;

/// The positions of the first source, then those of the second.
#[derive(Debug)]
pub struct Chained<S, R>(pub(crate) S, pub(crate) R);

impl<S: Indexed, R: Indexed> Chained<S, R> {
    /// The parts of these positions in the left and in the right source.
    fn split(&self, start: u64, end: u64) -> (Range<u64>, Range<u64>) {
        let border = self.0.len();
        let left = start.min(border)..end.min(border);
        let right = start.max(border) - border..end.max(border) - border;
        (left, right)
    }
}

// SAFETY: positions are passed on to one of the two, one to one.
unsafe impl<S: Indexed, R: Indexed<Item = S::Item>> Indexed for Chained<S, R> {
    type Item = S::Item;

    fn len(&self) -> u64 {
        self.0.len().saturating_add(self.1.len())
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = S::Item> {
        let (left, right) = self.split(start, end);
        // SAFETY: as promised by the caller.
        let left = unsafe { self.0.block(left.start, left.end) };
        // SAFETY: as promised by the caller.
        left.chain(unsafe { self.1.block(right.start, right.end) })
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = S::Item> {
        let (left, right) = self.split(start, end);
        // SAFETY: as promised by the caller.
        let right = unsafe { self.1.block_backwards(right.start, right.end) };
        // SAFETY: as promised by the caller.
        right.chain(unsafe { self.0.block_backwards(left.start, left.end) })
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        let (left, mut right) = self.split(start, end);
        if start < end && end == u64::MAX {
            // What is behind more items than can be counted goes with the last one that can.
            right.end = self.1.len();
        }
        // SAFETY: as promised by the caller.
        let discard_left = || unsafe { self.0.discard(left.start, left.end) };
        // SAFETY: as promised by the caller.
        let discard_right = || unsafe { self.1.discard(right.start, right.end) };
        discard_both(discard_left, discard_right);
    }
}

/// Discards what a left and a right source hold: also the right one's items, if the drop of a left one panics.
pub(crate) fn discard_both(left: impl FnOnce(), right: impl FnOnce()) {
    let discarded = catch(left);
    right();
    value_or_resume(discarded, Vec::new());
}
