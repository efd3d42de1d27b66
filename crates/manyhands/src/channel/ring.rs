//! A first-in-first-out queue of items that gives memory back.
//!
//! A ring grows by doubling. It shrinks when as many items as it has room for have been taken in a row while it was
//! nearly empty. So the cost of shrinking and growing again is spread over at least as many operations, and a ring that
//! is filled now and then keeps its memory.

use std::collections::VecDeque;

/// A queue of items.
pub(super) struct Ring<T> {
    items: VecDeque<T>,
    /// Items that were taken in a row while the ring was nearly empty.
    taken_while_sparse: usize,
}

impl<T> Ring<T> {
    /// Without items and without memory.
    pub(super) const fn new() -> Self {
        Self {
            items: VecDeque::new(),
            taken_while_sparse: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    pub(super) fn push_back(&mut self, item: T) {
        self.items.push_back(item);
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        let item = self.items.pop_front();
        let room = self.items.capacity();
        if room > Self::ROOM_KEPT {
            if self.items.len() < room / NEARLY_EMPTY {
                self.consider_shrinking();
            } else {
                self.taken_while_sparse = 0;
            }
        }
        item
    }

    pub(super) fn pop_back(&mut self) -> Option<T> {
        self.items.pop_back()
    }

    pub(super) fn front(&self) -> Option<&T> {
        self.items.front()
    }

    /// Shrinks a large ring that has been nearly empty for long; called after each item taken from it while it is. Not inlined:
    /// what takes from a small ring, which never calls this, would save registers for it.
    #[inline(never)]
    fn consider_shrinking(&mut self) {
        let room = self.items.capacity();
        self.taken_while_sparse += 1;
        if self.taken_while_sparse >= room {
            self.taken_while_sparse = 0;
            self.items
                .shrink_to(Self::ROOM_KEPT.max(room / NEARLY_EMPTY));
        }
    }

    /// Room that is never given back: 16 KiB, or for 16 items.
    const ROOM_KEPT: usize = match size_of::<T>() {
        0 => 16 << 10,
        size @ 1..=1024 => (16 << 10) / size,
        _ => 16,
    };
}

/// A ring is nearly empty when it uses less than this part of its room.
const NEARLY_EMPTY: usize = 8;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Ring;

    const MANY: usize = 100_000;

    fn filled(count: usize) -> Ring<usize> {
        let mut ring = Ring::new();
        (0..count).for_each(|n| ring.push_back(n));
        ring
    }

    fn pass(ring: &mut Ring<usize>, count: usize) {
        for n in 0..count {
            ring.push_back(n);
            assert!(ring.pop_front().is_some());
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many steps of safe code")]
    fn room_that_is_not_used_any_more_is_given_back() {
        let mut ring = filled(MANY);
        let room = ring.items.capacity();
        (0..MANY - 10).for_each(|n| assert_eq!(ring.pop_front(), Some(n)));
        pass(&mut ring, room);
        assert!(ring.items.capacity() <= room / 8);
        pass(&mut ring, room);
        assert!(ring.items.capacity() >= Ring::<usize>::ROOM_KEPT);
        assert!(ring.items.capacity() <= 2 * Ring::<usize>::ROOM_KEPT);
        assert_eq!(ring.len(), 10);
    }

    #[test]
    #[cfg_attr(miri, ignore = "many steps of safe code")]
    fn a_ring_that_is_filled_again_and_again_keeps_its_room() {
        let mut ring = filled(MANY);
        let room = ring.items.capacity();
        for _ in 0..20 {
            while ring.pop_front().is_some() {}
            pass(&mut ring, MANY / 2);
            // Before it is filled again, which would double what it has lost.
            assert_eq!(ring.items.capacity(), room);
            (0..MANY).for_each(|n| ring.push_back(n));
            assert_eq!(ring.items.capacity(), room);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many steps of safe code")]
    fn a_small_ring_stays_as_it_is() {
        let mut ring = filled(Ring::<usize>::ROOM_KEPT / 2);
        let room = ring.items.capacity();
        while ring.pop_front().is_some() {}
        pass(&mut ring, 2 * room);
        assert_eq!(ring.items.capacity(), room);
    }

    #[test]
    #[cfg_attr(miri, ignore = "many steps of safe code")]
    fn items_without_size_take_no_room() {
        let mut ring = Ring::new();
        (0..MANY).for_each(|_| ring.push_back(()));
        (0..MANY).for_each(|_| assert_eq!(ring.pop_front(), Some(())));
        assert_eq!(ring.len(), 0);
    }
}
