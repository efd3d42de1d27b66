//! The first items of a channel, moved aside for its receivers.
//!
//! A receive that takes the channel's lock for one item and finds more moves them all into the batch. The receives that
//! follow take from the batch, and do not touch what senders write. While the batch has items, all receives take from
//! it, since its items come first.
//!
//! # Threads
//! Any thread may take an item, under the batch's own lock. Only a holder of the channel's lock fills the batch, or
//! takes one of the last items, which waiters have to be notified about. A thread that takes both locks takes the
//! channel's first.
//!
//! # Ordering
//! The items are behind the lock. Their number can be read without it. It grows only under the channel's lock: a holder
//! of that lock reads it no lower than it is, and a 0 stays 0. It publishes nothing, and is Relaxed.

use crate::channel::Ring;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{ShortGuard, ShortLock};

/// The receiver batch of a channel.
#[repr(C)]
pub(super) struct ReceiverBatch<T> {
    len: AtomicUsize,
    items: ShortLock<Items<T>>,
}

struct Items<T> {
    items: Ring<T>,
    /// A receive needs no full step while there are more items than this.
    fast_above: usize,
}

/// The batch, locked.
pub(super) struct ReceiverBatchGuard<'a, T> {
    len: &'a AtomicUsize,
    items: ShortGuard<'a, Items<T>>,
}

impl<T> ReceiverBatch<T> {
    /// An empty batch. A thread that finds its lock taken retries after about `patience` operations of others.
    pub(super) fn new(patience: usize) -> Self {
        let items = Items {
            items: Ring::new(),
            fast_above: 0,
        };
        Self {
            len: AtomicUsize::new(0),
            items: ShortLock::with_patience(items, patience),
        }
    }

    /// How many items there are, or were a moment ago; never fewer than there are if the caller holds the channel's
    /// lock.
    #[inline]
    pub(super) fn len(&self) -> usize {
        // Relaxed: see above.
        self.len.load(Ordering::Relaxed)
    }

    /// Takes the first item, if no full step is needed.
    #[inline]
    pub(super) fn take_fast(&self) -> Option<T> {
        if self.len() == 0 {
            return None;
        }
        let mut guard = self.items.lock();
        if guard.items.len() <= guard.fast_above {
            return None;
        }
        let item = guard.items.pop_front();
        // Relaxed: see above.
        self.len.store(guard.items.len(), Ordering::Relaxed);
        item
    }

    /// Takes the lock; the caller holds the channel's.
    pub(super) fn lock(&self) -> ReceiverBatchGuard<'_, T> {
        ReceiverBatchGuard {
            len: &self.len,
            items: self.items.lock(),
        }
    }
}

impl<T> ReceiverBatchGuard<'_, T> {
    /// Exchanges the batch's items for `items`.
    pub(super) fn swap(&mut self, items: &mut Ring<T>) {
        std::mem::swap(&mut self.items.items, items);
    }

    /// Releases the lock; receives that leave `fast_above` items or more need no full step.
    pub(super) fn leave(mut self, fast_above: usize) {
        self.items.fast_above = fast_above;
        // Relaxed: see above.
        self.len.store(self.items.items.len(), Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::channel::{Receiver, Sender, TrySendError, bounded};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    /// A channel from which the first of four items has been received; the others are in the batch.
    fn with_batch() -> (Sender<u32>, Receiver<u32>) {
        let (sender, receiver) = bounded(4);
        (0..4).for_each(|n| assert_eq!(sender.try_send(n), Ok(())));
        assert_eq!(receiver.try_recv(), Ok(0));
        (sender, receiver)
    }

    #[test]
    fn the_batch_counts_as_items_of_the_channel() {
        let (sender, receiver) = with_batch();
        assert_eq!((receiver.len(), receiver.peek(|n| *n)), (3, Ok(1)));
        assert_eq!(sender.try_send(4), Ok(()));
        assert_eq!(sender.try_send(5), Err(TrySendError::Full(5)));
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(sender.try_send(5), Ok(()));
        let mut items = Vec::new();
        assert_eq!(receiver.recv_many_blocking(&mut items, 3), Ok(3));
        assert_eq!(items, [2, 3, 4]);
        assert_eq!((receiver.try_recv(), receiver.len()), (Ok(5), 0));
    }

    #[test]
    fn a_full_step_leaves_no_more_room_than_the_batch_allows() {
        let (sender, receiver) = with_batch();
        let mut items = Vec::new();
        assert_eq!(receiver.recv_many_blocking(&mut items, 1), Ok(1));
        let sent = (4..9).filter(|n| sender.try_send(*n).is_ok());
        assert_eq!((sent.count(), receiver.len()), (2, 4));
    }

    #[test]
    fn the_batch_is_dropped_with_the_last_receiver() {
        let ((sender, receiver), item) = (bounded(4), Arc::new(()));
        for _ in 0..4 {
            assert!(sender.try_send(Arc::clone(&item)).is_ok());
        }
        drop(receiver.try_recv());
        assert_eq!(Arc::strong_count(&item), 4);
        drop(receiver);
        assert_eq!(Arc::strong_count(&item), 1);
    }

    #[test]
    fn a_closure_that_panics_leaves_the_batch() {
        let (_sender, receiver) = with_batch();
        let look = || receiver.peek(|_| -> u32 { panic!("a look") });
        assert!(catch_unwind(AssertUnwindSafe(look)).is_err());
        assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(1), Ok(2)));
    }
}
