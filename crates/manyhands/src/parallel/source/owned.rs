//! Vectors by value. Arrays become vectors in `collections.rs`.
//!
//! Unsafe: items are moved out of the vector, each once; those never run are dropped in place.

use crate::engine::Indexed;
use crate::parallel::source::{ByPosition, Source, to_usize};
use std::ptr;

/// Items moved out of a vector. This value frees the vector's memory; each item is freed by the code that receives it.
#[derive(Debug)]
pub struct OwnedItems<T> {
    items: Vec<T>,
}

// SAFETY: sharing it moves items to other threads, which needs `T: Send`; nothing else is done with them.
unsafe impl<T: Send> Sync for OwnedItems<T> {}

impl<T> OwnedItems<T> {
    pub(crate) fn new(items: Vec<T>) -> Self {
        Self { items }
    }

    /// The vector again, if no item was asked for.
    pub(crate) fn into_items(mut self) -> Vec<T> {
        std::mem::take(&mut self.items)
    }

    /// # Safety
    /// As [`Indexed::block`].
    unsafe fn moved(&self, start: u64, end: u64) -> Moved<T> {
        let (start, left) = (to_usize(start), to_usize(end - start));
        assert!(
            start <= self.items.len(),
            "a position lies within the vector"
        );
        let next = self.items.as_ptr().cast_mut().wrapping_add(start);
        Moved { next, left }
    }
}

// SAFETY: each item is read, or dropped in place, when it is asked for, which is once.
unsafe impl<T: Send> Indexed for OwnedItems<T> {
    type Item = T;

    fn len(&self) -> u64 {
        self.items.len() as u64
    }

    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = T> {
        // SAFETY: by the caller's promise.
        unsafe { self.moved(start, end) }
    }

    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = T> {
        // SAFETY: by the caller's promise.
        unsafe { self.moved(start, end) }.rev()
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        // SAFETY: by the caller's promise they were not moved out; they are dropped in place.
        drop(unsafe { self.moved(start, end) });
    }
}

impl<T> Drop for OwnedItems<T> {
    fn drop(&mut self) {
        // SAFETY: every item has been moved out or dropped by the engine. Held by
        // `tests/it/drops.rs::items_of_plain_loops_and_searches_are_dropped_once`.
        unsafe { self.items.set_len(0) };
    }
}

/// Moves items out one by one; those left when it is dropped are dropped in place.
struct Moved<T> {
    next: *mut T,
    left: usize,
}

impl<T> Iterator for Moved<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.left == 0 {
            return None;
        }
        let place = self.next;
        self.left -= 1;
        // SAFETY: `left` items were still to come, so this is at most one past the last.
        self.next = unsafe { place.add(1) };
        // SAFETY: a live item of the block, moved out once because `next` has moved on.
        Some(unsafe { place.read() })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> DoubleEndedIterator for Moved<T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        // SAFETY: one of the items still to come.
        let place = unsafe { self.next.add(self.left) };
        // SAFETY: a live item of the block, moved out once because `left` has shrunk.
        Some(unsafe { place.read() })
    }
}

impl<T> Drop for Moved<T> {
    fn drop(&mut self) {
        // SAFETY: the items from `next` on were not moved out.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(self.next, self.left)) };
    }
}

impl<T: Send> Source for Vec<T> {
    type Item = T;
    type Feed = ByPosition<OwnedItems<T>>;

    fn into_feed(self) -> Self::Feed {
        ByPosition(OwnedItems::new(self))
    }
}
