//! The items of a channel that is first in, first out, in a ring that gives memory back.
//!
//! A ring grows by doubling. It shrinks when as many items as it has room for have been taken in a row while it was
//! nearly empty: so what shrinking and growing again cost is spread over at least as many operations, and a ring
//! that is filled now and then keeps its room.

use std::collections::VecDeque;

/// A queue of items.
#[derive(Debug)]
pub(super) struct Ring<T> {
    items: VecDeque<T>,
    /// Items that were taken in a row while the ring was nearly empty.
    taken_in_vain: usize,
}

impl<T> Ring<T> {
    /// Without items and without memory.
    pub(super) const fn new() -> Self {
        Self {
            items: VecDeque::new(),
            taken_in_vain: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    #[inline]
    pub(super) fn push_back(&mut self, item: T) {
        self.items.push_back(item);
    }

    #[inline]
    pub(super) fn pop_front(&mut self) -> Option<T> {
        let item = self.items.pop_front();
        if self.items.capacity() > Self::ROOM_KEPT {
            self.look_at_room();
        }
        item
    }

    pub(super) fn pop_back(&mut self) -> Option<T> {
        self.items.pop_back()
    }

    pub(super) fn front(&self) -> Option<&T> {
        self.items.front()
    }

    /// An item was taken from a large ring.
    fn look_at_room(&mut self) {
        let room = self.items.capacity();
        if self.items.len() >= room / NEARLY_EMPTY {
            self.taken_in_vain = 0;
            return;
        }
        self.taken_in_vain += 1;
        if self.taken_in_vain >= room {
            self.taken_in_vain = 0;
            self.items
                .shrink_to(Self::ROOM_KEPT.max(room / NEARLY_EMPTY));
        }
    }

    /// Room that is never given back: 16 KiB.
    const ROOM_KEPT: usize = {
        let size = if size_of::<T>() == 0 {
            1
        } else {
            size_of::<T>()
        };
        let room = (16 << 10) / size;
        if room < 16 { 16 } else { room }
    };
}

/// A ring with fewer items than such a part of its room is nearly empty.
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
        assert!(ring.is_empty());
    }
}
