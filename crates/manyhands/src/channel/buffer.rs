//! The items of a channel, in the order in which they are received.
//!
//! Plain data, to be kept under a lock.

use crate::channel::Ring;
use std::collections::BTreeSet;

/// The items that wait to be received.
pub(super) enum ItemBuffer<T> {
    /// First in, first out.
    Fifo(Ring<T>),
    /// The smallest first, the older of equals first.
    Sorted(Box<Sorted<T>>),
}

impl<T> ItemBuffer<T> {
    /// First in, first out.
    pub(super) const fn fifo() -> Self {
        Self::Fifo(Ring::new())
    }

    /// The smallest first, the older of equals first.
    pub(super) fn sorted() -> Self
    where
        T: Ord,
    {
        Self::Sorted(Box::new(Sorted {
            items: BTreeSet::new(),
            next_number: 0,
            insert: BTreeSet::insert,
            pop_first: BTreeSet::pop_first,
            pop_last: BTreeSet::pop_last,
        }))
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fifo(items) => items.len(),
            Self::Sorted(sorted) => sorted.items.len(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        match self {
            Self::Fifo(items) => items.push_back(item),
            Self::Sorted(sorted) => sorted.push(item),
        }
    }

    /// Puts an item in if there are fewer than `room`; else it comes back.
    #[inline]
    pub(super) fn push_into(&mut self, room: usize, item: T) -> Result<(), T> {
        match self {
            Self::Fifo(items) if items.len() < room => items.push_back(item),
            Self::Sorted(sorted) if sorted.items.len() < room => sorted.push(item),
            Self::Fifo(_) | Self::Sorted(_) => return Err(item),
        }
        Ok(())
    }

    /// Takes the item that comes next.
    #[inline]
    pub(super) fn pop_first(&mut self) -> Option<T> {
        match self {
            Self::Fifo(items) => items.pop_front(),
            Self::Sorted(sorted) => sorted.pop(sorted.pop_first),
        }
    }

    /// Takes the item that would be received last.
    pub(super) fn pop_last(&mut self) -> Option<T> {
        match self {
            Self::Fifo(items) => items.pop_back(),
            Self::Sorted(sorted) => sorted.pop(sorted.pop_last),
        }
    }

    /// The item that comes next.
    pub(super) fn first(&self) -> Option<&T> {
        match self {
            Self::Fifo(items) => items.front(),
            Self::Sorted(sorted) => sorted.items.iter().next().map(|(item, _)| item),
        }
    }
}

/// Items, each with its rank among equal ones. A set and not a heap, because items are taken from both ends.
type Ranked<T> = BTreeSet<(T, u64)>;

/// A sorted buffer. It has the set's methods by pointer, so that only the constructor needs `T: Ord`.
pub(super) struct Sorted<T> {
    items: Ranked<T>,
    next_number: u64,
    insert: fn(&mut Ranked<T>, (T, u64)) -> bool,
    pop_first: Pop<T>,
    pop_last: Pop<T>,
}

/// Takes an item from one end.
type Pop<T> = fn(&mut Ranked<T>) -> Option<(T, u64)>;

/// Calls, so that they take no room where operations on a ring are inlined.
impl<T> Sorted<T> {
    #[inline(never)]
    fn pop(&mut self, pop: Pop<T>) -> Option<T> {
        pop(&mut self.items).map(|(item, _)| item)
    }

    #[inline(never)]
    pub(super) fn push(&mut self, item: T) {
        let number = self.next_number;
        self.next_number += 1;
        (self.insert)(&mut self.items, (item, number));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::ItemBuffer;
    use std::cmp::Ordering;

    /// Compared by the first part only.
    #[derive(Debug, Clone, Copy)]
    struct Job(u32, char);

    impl Ord for Job {
        fn cmp(&self, other: &Self) -> Ordering {
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Job {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl PartialEq for Job {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other) == Ordering::Equal
        }
    }

    impl Eq for Job {}

    fn filled(mut buffer: ItemBuffer<Job>) -> ItemBuffer<Job> {
        for job in [Job(2, 'a'), Job(1, 'b'), Job(2, 'c'), Job(1, 'd')] {
            buffer.push(job);
        }
        buffer
    }

    fn names(mut buffer: ItemBuffer<Job>) -> String {
        std::iter::from_fn(|| buffer.pop_first().map(|job| job.1)).collect()
    }

    #[test]
    fn a_sorted_buffer_gives_the_smallest_first_and_the_older_of_equals_first() {
        assert_eq!(names(filled(ItemBuffer::sorted())), "bdac");
        assert_eq!(names(filled(ItemBuffer::fifo())), "abcd");
    }

    #[test]
    fn both_ends_can_be_taken() {
        for (buffer, first, last) in [
            (ItemBuffer::sorted(), 'b', 'c'),
            (ItemBuffer::fifo(), 'a', 'd'),
        ] {
            let mut buffer = filled(buffer);
            assert_eq!(buffer.first().map(|job| job.1), Some(first));
            assert_eq!(buffer.pop_first().map(|job| job.1), Some(first));
            assert_eq!(buffer.pop_last().map(|job| job.1), Some(last));
            assert_eq!(buffer.len(), 2);
        }
    }
}
