//! The first items of a channel, set apart for its receivers.
//!
//! A receiver that comes to the channel's lock for one item and finds more takes all of them to the head, so that
//! the receives that follow need not touch what senders write. While the head has items they are what is received
//! next; and all who receive take from it.
//!
//! # Threads
//! Anyone takes an item, under the head's own lock. Filling it, and taking one of the last that somebody waits
//! for, is done by those who hold the channel's lock; who wants both locks takes the channel's first.
//!
//! # Ordering
//! The items are behind the lock. Their number is also told without it: it grows only under the channel's lock, so
//! who holds that reads it no lower than it is, and a 0 stays one. It publishes nothing, and is Relaxed.

use crate::channel::ring::Ring;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Padded, ShortGuard, ShortLock};

/// What is set apart.
#[derive(Debug)]
pub(super) struct ReceiverBatch<T>(Padded<Parts<T>>);

#[derive(Debug)]
#[repr(C)]
struct Parts<T> {
    len: AtomicUsize,
    items: ShortLock<Items<T>>,
}

#[derive(Debug)]
struct Items<T> {
    items: Ring<T>,
    /// Nothing follows from an item that is taken while there are more than these.
    quiet_above: usize,
}

/// Having the lock of the head.
pub(super) struct ReceiverBatchGuard<'a, T> {
    len: &'a AtomicUsize,
    inside: ShortGuard<'a, Items<T>>,
}

impl<T> ReceiverBatch<T> {
    /// Nothing is set apart. Who finds the lock taken again leaves it to others for about so many operations.
    pub(super) fn new(patience: usize) -> Self {
        let items = Items {
            items: Ring::new(),
            quiet_above: 0,
        };
        Self(Padded(Parts {
            len: AtomicUsize::new(0),
            items: ShortLock::with_patience(items, patience),
        }))
    }

    /// How many there are; to who holds the channel's lock, or were a moment ago.
    #[inline]
    pub(super) fn len(&self) -> usize {
        // Relaxed: see above.
        self.0.len.load(Ordering::Relaxed)
    }

    /// Takes the first, where nothing else is to be done.
    #[inline]
    pub(super) fn take_quietly(&self) -> Option<T> {
        if self.len() == 0 {
            return None;
        }
        let mut inside = self.0.items.lock();
        if inside.items.len() <= inside.quiet_above {
            return None;
        }
        let item = inside.items.pop_front();
        // Relaxed: see above.
        self.0.len.store(inside.items.len(), Ordering::Relaxed);
        item
    }

    /// Takes the lock; the caller has the channel's.
    pub(super) fn lock(&self) -> ReceiverBatchGuard<'_, T> {
        ReceiverBatchGuard {
            len: &self.0.len,
            inside: self.0.items.lock(),
        }
    }
}

impl<T> ReceiverBatchGuard<'_, T> {
    /// Exchanges what is set apart for `items`.
    pub(super) fn swap(&mut self, items: &mut Ring<T>) {
        std::mem::swap(&mut self.inside.items, items);
    }

    /// Leaves what is there, of which all but so many may be taken quietly.
    pub(super) fn leave(mut self, quiet_above: usize) {
        self.inside.quiet_above = quiet_above;
        // Relaxed: see above.
        self.len.store(self.inside.items.len(), Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::channel::{Receiver, Sender, TrySendError, bounded};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    /// Of four items the first has been received, which has set the others apart.
    fn with_head() -> (Sender<u32>, Receiver<u32>) {
        let (sender, receiver) = bounded(4);
        (0..4).for_each(|n| assert_eq!(sender.try_send(n), Ok(())));
        assert_eq!(receiver.try_recv(), Ok(0));
        (sender, receiver)
    }

    #[test]
    fn what_is_set_apart_belongs_to_the_channel() {
        let (sender, receiver) = with_head();
        assert_eq!((receiver.len(), receiver.peek(|n| *n)), (3, Ok(1)));
        assert_eq!(sender.try_send(4), Ok(()));
        assert_eq!(sender.try_send(5), Err(TrySendError::Full(5)));
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(sender.try_send(5), Ok(()));
        let mut items = Vec::new();
        assert_eq!(receiver.recv_many(&mut items, 3), Ok(3));
        assert_eq!(items, [2, 3, 4]);
        assert_eq!((receiver.try_recv(), receiver.len()), (Ok(5), 0));
    }

    #[test]
    fn a_step_leaves_no_more_room_than_there_is_beside_what_is_set_apart() {
        let (sender, receiver) = with_head();
        let mut items = Vec::new();
        assert_eq!(receiver.recv_many(&mut items, 1), Ok(1));
        let sent = (4..9).filter(|n| sender.try_send(*n).is_ok());
        assert_eq!((sent.count(), receiver.len()), (2, 4));
    }

    #[test]
    fn what_is_set_apart_is_dropped_with_the_last_receiver() {
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
    fn a_closure_that_panics_leaves_what_is_set_apart() {
        let (_sender, receiver) = with_head();
        let look = || receiver.peek(|_| -> u32 { panic!("a look") });
        assert!(catch_unwind(AssertUnwindSafe(look)).is_err());
        assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(1), Ok(2)));
    }
}
