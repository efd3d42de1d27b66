//! Slices by reference, shared or mutable. Arrays and vectors are seen as slices in `collections.rs`.
//!
//! Unsafe: disjoint parts of a mutable slice go to different threads.

use crate::engine::Indexed;
use crate::parallel::source::{ByPosition, Source};
use std::marker::PhantomData;
use std::slice;

/// Items of a shared slice.
#[derive(Debug)]
pub struct SharedItems<'a, T>(&'a [T]);

/// Items of a mutable slice.
#[derive(Debug)]
pub struct MutableItems<'a, T> {
    start: *mut T,
    len: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: sharing it lets several threads take disjoint `&mut T`, which is sending them; that needs `T: Send`.
unsafe impl<T: Send> Sync for MutableItems<'_, T> {}
// SAFETY: equivalent to the `&mut [T]` it was made of.
unsafe impl<T: Send> Send for MutableItems<'_, T> {}

// SAFETY: shared references may be given out any number of times.
unsafe impl<'a, T: Sync> Indexed for SharedItems<'a, T> {
    type Item = &'a T;

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = &'a T> {
        self.0[to_usize(start)..to_usize(end)].iter()
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = &'a T> {
        self.0[to_usize(start)..to_usize(end)].iter().rev()
    }
}

// SAFETY: each position's reference is made when asked for, so it is unique if that is done once.
unsafe impl<'a, T: Send> Indexed for MutableItems<'a, T> {
    type Item = &'a mut T;

    fn len(&self) -> u64 {
        self.len as u64
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = &'a mut T> {
        // SAFETY: as promised by the caller.
        unsafe { self.part(start, end) }.iter_mut()
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = &'a mut T> {
        // SAFETY: as promised by the caller.
        unsafe { self.part(start, end) }.iter_mut().rev()
    }
}

impl<'a, T> MutableItems<'a, T> {
    pub(crate) fn of(slice: &'a mut [T]) -> Self {
        Self {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            borrowed: PhantomData,
        }
    }

    /// The slice's part at `start..end`.
    ///
    /// # Safety
    /// No position is asked for twice.
    pub(crate) unsafe fn part(&self, start: u64, end: u64) -> &'a mut [T] {
        let (start, end) = (to_usize(start), to_usize(end));
        assert!(
            start <= end && end <= self.len,
            "a block lies within the slice"
        );
        // SAFETY: start <= len, the length of the slice.
        let first = unsafe { self.start.add(start) };
        // SAFETY: within the slice, and by the caller's promise asked for once, so unique while `'a` lasts.
        unsafe { slice::from_raw_parts_mut(first, end - start) }
    }
}

impl<'a, T: Sync> Source for &'a [T] {
    type Item = &'a T;
    type Feed = ByPosition<SharedItems<'a, T>>;

    fn into_feed(self) -> Self::Feed {
        ByPosition(SharedItems(self))
    }
}

impl<'a, T: Send> Source for &'a mut [T] {
    type Item = &'a mut T;
    type Feed = ByPosition<MutableItems<'a, T>>;

    fn into_feed(self) -> Self::Feed {
        ByPosition(MutableItems::of(self))
    }
}

/// Positions in memory fit.
#[expect(
    clippy::cast_possible_truncation,
    reason = "positions are below a length that was a usize"
)]
pub(crate) fn to_usize(position: u64) -> usize {
    position as usize
}
