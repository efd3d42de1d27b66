//! Chunks and windows of slices, by position.
//!
//! Not here: the methods of slices that make queries of them (`slice.rs`).
//!
//! Unsafe: disjoint parts of a mutable slice go to different threads.

use crate::engine::Indexed;
use crate::parallel::source::{MutableItems, to_usize};
use crate::query::Positional;

/// Non-overlapping parts of a slice; see [`ParSlice::par_chunks`](super::ParSlice::par_chunks).
#[derive(Debug, Clone, Copy)]
pub struct Chunks<'a, T> {
    slice: &'a [T],
    size: usize,
}

/// Non-overlapping mutable parts of a slice; see [`ParSlice::par_chunks_mut`](super::ParSlice::par_chunks_mut).
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    items: MutableItems<'a, T>,
    size: usize,
}

/// Overlapping parts of a slice; see [`ParSlice::par_windows`](super::ParSlice::par_windows).
#[derive(Debug, Clone, Copy)]
pub struct Windows<'a, T> {
    slice: &'a [T],
    size: usize,
}

impl<'a, T> Chunks<'a, T> {
    pub(super) fn new(slice: &'a [T], size: usize) -> Self {
        assert!(size > 0, "chunk size must be non-zero");
        Self { slice, size }
    }

    /// The items of the chunks `start..end`.
    fn part(&self, start: u64, end: u64) -> &'a [T] {
        let (first, last) = bounds((start, end), self.size, self.slice.len());
        &self.slice[first..last]
    }
}

impl<'a, T> Windows<'a, T> {
    pub(super) fn new(slice: &'a [T], size: usize) -> Self {
        assert!(size > 0, "window size must be non-zero");
        Self { slice, size }
    }

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
    pub(super) fn new(slice: &'a mut [T], size: usize) -> Self {
        assert!(size > 0, "chunk size must be non-zero");
        let items = MutableItems::of(slice);
        Self { items, size }
    }

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

// SAFETY: a chunk of the slice for each position.
unsafe impl<T: Sync> Positional for Chunks<'_, T> {}
// SAFETY: a chunk of the slice for each position.
unsafe impl<T: Send> Positional for ChunksMut<'_, T> {}
// SAFETY: a window of the slice for each position.
unsafe impl<T: Sync> Positional for Windows<'_, T> {}
