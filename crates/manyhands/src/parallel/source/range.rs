//! Ranges of every primitive integer type.
//!
//! Unsafe: implements the engine's trait for positions.

use crate::engine::Indexed;
use crate::parallel::source::{ByPosition, Source};
use std::fmt::Debug;
use std::ops::{Range, RangeInclusive};

/// A primitive integer. Users cannot name it, so that nobody else implements it.
///
/// Example: see [`for_each`](crate::parallel::for_each).
pub trait Integer: Copy + Send + Sync + Debug + PartialOrd {
    /// The integer `offset` above `self`, wrapping at the type's end.
    #[doc(hidden)]
    #[must_use]
    fn plus(self, offset: u64) -> Self;

    /// How far `self` is above `start`; at most `u64::MAX`.
    #[doc(hidden)]
    fn distance_from(self, start: Self) -> u64;
}

/// Indices `start`, `start + 1`, … below an end of the same type, so that each block is a range: compilers vectorise that best.
///
/// Of a range of 2^64 indices or more, only the first 2^64 - 1 are there.
#[derive(Debug)]
pub struct Indices<T> {
    start: T,
    len: u64,
}

// SAFETY: a position's index is a value, made at each request.
unsafe impl<T: Integer> Indexed for Indices<T>
where
    Range<T>: DoubleEndedIterator<Item = T>,
{
    type Item = T;

    fn len(&self) -> u64 {
        self.len
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = T> {
        self.start.plus(start)..self.start.plus(end)
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = T> {
        (self.start.plus(start)..self.start.plus(end)).rev()
    }
}

/// As [`Indices`], perhaps up to the type's highest value, which no range has.
#[derive(Debug)]
pub struct IndicesThrough<T>(Indices<T>);

// SAFETY: a position's index is a value, made at each request.
unsafe impl<T: Integer> Indexed for IndicesThrough<T> {
    type Item = T;

    fn len(&self) -> u64 {
        self.0.len
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = T> {
        IndicesAt(self.0.start, start..end)
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = T> {
        IndicesAt(self.0.start, (start..end).rev())
    }
}

/// The indices at these positions, counted from the first one. Not a `Map`, which takes each step of a leap.
struct IndicesAt<T, P>(T, P);

impl<T: Integer, P: Iterator<Item = u64>> Iterator for IndicesAt<T, P> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.1.next().map(|position| self.0.plus(position))
    }

    #[inline]
    fn nth(&mut self, left_out: usize) -> Option<T> {
        let position = self.1.nth(left_out);
        position.map(|position| self.0.plus(position))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.1.size_hint()
    }
}

impl<T: Integer> Source for Range<T>
where
    Self: DoubleEndedIterator<Item = T>,
{
    type Item = T;
    type Feed = ByPosition<Indices<T>>;

    fn into_feed(self) -> Self::Feed {
        let Self { start, end } = self;
        let len = if start < end {
            end.distance_from(start)
        } else {
            0
        };
        ByPosition(Indices { start, len })
    }
}

impl<T: Integer> Source for RangeInclusive<T> {
    type Item = T;
    type Feed = ByPosition<IndicesThrough<T>>;

    fn into_feed(self) -> Self::Feed {
        // An inclusive range that was iterated to its end is empty, though its bounds do not show it.
        let is_empty = self.is_empty();
        let (start, end) = self.into_inner();
        let len = if is_empty {
            0
        } else {
            end.distance_from(start).saturating_add(1)
        };
        ByPosition(IndicesThrough(Indices { start, len }))
    }
}

/// One implementation for each width: `as` between integers is what is meant, and has no generic form.
macro_rules! integer {
    ($($type:ty, $unsigned:ty;)*) => {$(
        #[expect(
            clippy::allow_attributes,
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            clippy::cast_sign_loss,
            clippy::cast_lossless,
            reason = "wrapping arithmetic on the unsigned twin is exact modulo the type's size"
        )]
        #[allow(unfulfilled_lint_expectations, reason = "each width fulfils others of the expectations")]
        impl Integer for $type {
            #[inline]
            fn plus(self, offset: u64) -> Self {
                (self as $unsigned).wrapping_add(offset as $unsigned) as Self
            }

            #[inline]
            fn distance_from(self, start: Self) -> u64 {
                let distance = (self as $unsigned).wrapping_sub(start as $unsigned);
                u64::try_from(distance as u128).unwrap_or(u64::MAX)
            }
        }
    )*};
}

integer! {
    u8, u8; u16, u16; u32, u32; u64, u64; u128, u128; usize, usize;
    i8, u8; i16, u16; i32, u32; i64, u64; i128, u128; isize, usize;
}

#[cfg(test)]
mod tests {
    use super::Integer;
    use crate::engine::Indexed;
    use crate::parallel::source::{Feed, Source};
    use std::fmt::Debug;

    fn check<T: Integer + PartialEq>(indices: &(impl Indexed<Item = T> + Debug), expected: &[T]) {
        assert_eq!(indices.len(), expected.len() as u64);
        for split in 0..=indices.len() {
            // SAFETY: indices are values; asking twice does no harm.
            let left = unsafe { indices.block(0, split) };
            // SAFETY: as above.
            let right = unsafe { indices.block(split, indices.len()) };
            assert!(
                left.chain(right).eq(expected.iter().copied()),
                "{indices:?} at {split}"
            );
            // SAFETY: as above.
            let left = unsafe { indices.block_backwards(0, split) };
            // SAFETY: as above.
            let right = unsafe { indices.block_backwards(split, indices.len()) };
            assert!(
                right.chain(left).eq(expected.iter().rev().copied()),
                "{indices:?} backwards at {split}"
            );
        }
    }

    #[test]
    fn blocks_cover_the_range_at_both_ends_of_the_type() {
        check(
            &(250..=255_u8).into_feed().0,
            &[250, 251, 252, 253, 254, 255],
        );
        check(&(-128..=-126_i8).into_feed().0, &[-128, -127, -126]);
        check(
            &(i64::MAX - 1..=i64::MAX).into_feed().0,
            &[i64::MAX - 1, i64::MAX],
        );
        check(&(u128::MAX..=u128::MAX).into_feed().0, &[u128::MAX]);
        check(&(-2..2_i32).into_feed().0, &[-2, -1, 0, 1]);
        check(&(253..u8::MAX).into_feed().0, &[253, 254]);
    }

    #[test]
    fn a_leap_over_any_number_of_indices_takes_one_step() {
        const LEAP: usize = usize::MAX / 2;
        let all = (i64::MIN..=i64::MAX).into_feed().0;
        let most = (i64::MIN..i64::MAX).into_feed().0;
        let check = |mut indices: Box<dyn Iterator<Item = i64> + '_>, seen: [i64; 3]| {
            let leaps = [indices.nth(LEAP), indices.nth(LEAP - 2), indices.next()];
            assert_eq!(leaps, seen.map(Some));
        };
        let rising = [-1, i64::MAX - 2, i64::MAX - 1];
        let falling = [-1, i64::MIN + 1, i64::MIN];
        // SAFETY: indices are values; asking twice does no harm.
        check(Box::new(unsafe { all.block(0, u64::MAX) }), rising);
        // SAFETY: as above.
        check(Box::new(unsafe { most.block(0, u64::MAX) }), rising);
        // SAFETY: as above.
        let backwards = unsafe { all.block_backwards(0, u64::MAX) };
        check(Box::new(backwards), falling);
        // SAFETY: as above.
        let backwards = unsafe { most.block_backwards(0, u64::MAX) };
        check(Box::new(backwards), falling);
    }

    #[test]
    fn lengths_are_exact_up_to_the_cut() {
        assert_eq!((0..=u8::MAX).into_feed().len_hint(), Some(256));
        assert_eq!((i16::MIN..=i16::MAX).into_feed().len_hint(), Some(65_536));
        assert_eq!((0..u64::MAX).into_feed().0.len(), u64::MAX);
        assert_eq!((i128::MIN..i128::MAX).into_feed().0.len(), u64::MAX);
        #[expect(clippy::reversed_empty_ranges, reason = "that is what is tested")]
        let reversed = 5..2_i32;
        assert_eq!(reversed.into_feed().0.len(), 0);
    }
}
