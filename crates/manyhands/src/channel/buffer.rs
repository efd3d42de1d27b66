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
    Sorted(Box<dyn Sorted<T> + Send>),
}

impl<T> ItemBuffer<T> {
    /// First in, first out.
    pub(super) const fn fifo() -> Self {
        Self::Fifo(Ring::new())
    }

    /// The smallest first, the older of equals first.
    pub(super) fn sorted() -> Self
    where
        T: Ord + Send + 'static,
    {
        Self::Sorted(Box::new(Set {
            items: BTreeSet::new(),
            next_number: 0,
        }))
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fifo(items) => items.len(),
            Self::Sorted(items) => items.len(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, item: T) {
        match self {
            Self::Fifo(items) => items.push_back(item),
            Self::Sorted(items) => items.push(item),
        }
    }

    /// Puts an item in if there are fewer than `room`; else it comes back.
    #[inline]
    pub(super) fn push_into(&mut self, room: usize, item: T) -> Result<(), T> {
        match self {
            Self::Fifo(items) if items.len() < room => items.push_back(item),
            Self::Sorted(items) if items.len() < room => items.push(item),
            Self::Fifo(_) | Self::Sorted(_) => return Err(item),
        }
        Ok(())
    }

    /// Takes the item that comes next.
    #[inline]
    pub(super) fn pop_first(&mut self) -> Option<T> {
        match self {
            Self::Fifo(items) => items.pop_front(),
            Self::Sorted(items) => items.pop_first(),
        }
    }

    /// Takes the item that would be received last.
    pub(super) fn pop_last(&mut self) -> Option<T> {
        match self {
            Self::Fifo(items) => items.pop_back(),
            Self::Sorted(items) => items.pop_last(),
        }
    }

    /// The item that comes next.
    pub(super) fn first(&self) -> Option<&T> {
        match self {
            Self::Fifo(items) => items.front(),
            Self::Sorted(items) => items.first(),
        }
    }
}

/// A sorted buffer; a trait object, so that only the constructor needs `T: Ord`.
pub(super) trait Sorted<T> {
    fn len(&self) -> usize;
    fn push(&mut self, item: T);
    fn pop_first(&mut self) -> Option<T>;
    fn pop_last(&mut self) -> Option<T>;
    fn first(&self) -> Option<&T>;
}

/// A `BTreeSet` and not a heap, because items are taken from both ends.
struct Set<T> {
    /// Each with its rank among equal items.
    items: BTreeSet<(T, u64)>,
    next_number: u64,
}

impl<T: Ord + Send + 'static> Sorted<T> for Set<T> {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn push(&mut self, item: T) {
        let number = self.next_number;
        self.next_number += 1;
        self.items.insert((item, number));
    }

    fn pop_first(&mut self) -> Option<T> {
        self.items.pop_first().map(|(item, _)| item)
    }

    fn pop_last(&mut self) -> Option<T> {
        self.items.pop_last().map(|(item, _)| item)
    }

    fn first(&self) -> Option<&T> {
        self.items.first().map(|(item, _)| item)
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
