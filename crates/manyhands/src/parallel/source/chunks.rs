//! Chunks and windows of slices, by position.
//!
//! Not here: the slices (`slice.rs`).
//!
//! Unsafe: disjoint parts of a mutable slice go to different threads.

use crate::engine::Indexed;
use crate::parallel::source::slice::{MutableItems, to_usize};
use crate::parallel::source::{ByPosition, Source};

/// Non-overlapping parts of a slice, as a source of loops and queries; made by [`chunks`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a source does nothing until a loop or a query runs over it"]
pub struct Chunks<'a, T> {
    slice: &'a [T],
    size: usize,
}

/// Non-overlapping mutable parts of a slice, as a source of loops and queries; made by [`chunks_mut`].
#[derive(Debug)]
#[must_use = "a source does nothing until a loop or a query runs over it"]
pub struct ChunksMut<'a, T> {
    items: MutableItems<'a, T>,
    size: usize,
}

/// Overlapping parts of a slice, as a source of loops and queries; made by [`windows`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a source does nothing until a loop or a query runs over it"]
pub struct Windows<'a, T> {
    slice: &'a [T],
    size: usize,
}

/// The parts of `size` items of a slice, from its beginning on; the last one may be shorter. As [`slice::chunks`], by
/// position: runners take parts without waiting for one another.
///
/// # Panics
/// If `size` is 0.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let sums = parallel::map(parallel::chunks(&[1, 2, 3, 4, 5], 2), |part| part.iter().sum::<i32>());
/// assert_eq!(sums, [3, 7, 5]);
/// ```
#[doc(alias = "par_chunks")]
pub fn chunks<T: Sync>(slice: &[T], size: usize) -> Chunks<'_, T> {
    assert!(size > 0, "chunk size must be non-zero");
    Chunks { slice, size }
}

/// As [`chunks`], mutable.
///
/// # Panics
/// If `size` is 0.
///
/// # Examples
/// Each row of a picture by its own body, beside the row that it is made of:
/// ```
/// use manyhands::{parallel, query::prelude::*};
/// let (width, source) = (3, [1_u8, 2, 3, 4, 5, 6]);
/// let mut picture = [0; 6];
/// parallel::chunks_mut(&mut picture, width)
///     .into_par_query()
///     .zip(parallel::chunks(&source, width))
///     .for_each(|(to, from)| to.iter_mut().zip(from.iter().rev()).for_each(|(to, from)| *to = *from));
/// assert_eq!(picture, [3, 2, 1, 6, 5, 4]);
/// ```
#[doc(alias = "par_chunks_mut")]
pub fn chunks_mut<T: Send>(slice: &mut [T], size: usize) -> ChunksMut<'_, T> {
    assert!(size > 0, "chunk size must be non-zero");
    let items = MutableItems::of(slice);
    ChunksMut { items, size }
}

/// All parts of `size` items of a slice that lie one after another, each one item after the one before. None if the slice
/// is shorter.
///
/// # Panics
/// If `size` is 0.
///
/// # Examples
/// ```
/// use manyhands::{parallel, query::prelude::*};
/// let heights = [1, 4, 2, 2, 5];
/// let climbs = parallel::windows(&heights, 2).into_par_query().filter(|pair| pair[0] < pair[1]);
/// assert_eq!(climbs.count(), 2);
/// ```
#[doc(alias = "par_windows")]
pub fn windows<T: Sync>(slice: &[T], size: usize) -> Windows<'_, T> {
    assert!(size > 0, "window size must be non-zero");
    Windows { slice, size }
}

impl<'a, T> Chunks<'a, T> {
    /// The items of the chunks `start..end`.
    fn part(&self, start: u64, end: u64) -> &'a [T] {
        let (first, last) = bounds((start, end), self.size, self.slice.len());
        &self.slice[first..last]
    }
}

impl<'a, T> Windows<'a, T> {
    /// The items of the windows `start..end`.
    fn part(&self, start: u64, end: u64) -> &'a [T] {
        let overlap = if start < end { self.size - 1 } else { 0 };
        &self.slice[to_usize(start)..to_usize(end) + overlap]
    }
}

/// Where the items of these chunks begin and end in a slice of this length.
fn bounds((start, end): (u64, u64), size: usize, len: usize) -> (usize, usize) {
    // A chunk that is there begins within the slice.
    let first = len.min(to_usize(start).saturating_mul(size));
    (first, len.min(to_usize(end).saturating_mul(size)))
}

// SAFETY: shared references may be given out any number of times.
unsafe impl<'a, T: Sync> Indexed for Chunks<'a, T> {
    type Item = &'a [T];

    fn len(&self) -> u64 {
        self.slice.len().div_ceil(self.size) as u64
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = &'a [T]> {
        self.part(start, end).chunks(self.size)
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = &'a [T]> {
        self.part(start, end).chunks(self.size).rev()
    }
}

// SAFETY: each chunk's reference is made when asked for, so it is unique if that is done once.
unsafe impl<'a, T: Send> Indexed for ChunksMut<'a, T> {
    type Item = &'a mut [T];

    fn len(&self) -> u64 {
        self.items.len().div_ceil(self.size as u64)
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = &'a mut [T]> {
        // SAFETY: as promised by the caller: chunks do not overlap.
        unsafe { self.part(start, end) }.chunks_mut(self.size)
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = &'a mut [T]> {
        // SAFETY: as above.
        unsafe { self.part(start, end) }.chunks_mut(self.size).rev()
    }
}

impl<'a, T: Send> ChunksMut<'a, T> {
    /// The items of the chunks `start..end`.
    ///
    /// # Safety
    /// No chunk is asked for twice.
    unsafe fn part(&self, start: u64, end: u64) -> &'a mut [T] {
        let (first, last) = bounds((start, end), self.size, to_usize(self.items.len()));
        // SAFETY: by the caller's promise.
        unsafe { self.items.part(first as u64, last as u64) }
    }
}

// SAFETY: shared references may be given out any number of times.
unsafe impl<'a, T: Sync> Indexed for Windows<'a, T> {
    type Item = &'a [T];

    fn len(&self) -> u64 {
        self.slice.len().saturating_sub(self.size - 1) as u64
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = &'a [T]> {
        self.part(start, end).windows(self.size)
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = &'a [T]> {
        self.part(start, end).windows(self.size).rev()
    }
}

impl<'a, T: Sync> Source for Chunks<'a, T> {
    type Item = &'a [T];
    type Feed = ByPosition<Self>;

    fn into_feed(self) -> Self::Feed {
        ByPosition(self)
    }
}

impl<'a, T: Send> Source for ChunksMut<'a, T> {
    type Item = &'a mut [T];
    type Feed = ByPosition<Self>;

    fn into_feed(self) -> Self::Feed {
        ByPosition(self)
    }
}

impl<'a, T: Sync> Source for Windows<'a, T> {
    type Item = &'a [T];
    type Feed = ByPosition<Self>;

    fn into_feed(self) -> Self::Feed {
        ByPosition(self)
    }
}
