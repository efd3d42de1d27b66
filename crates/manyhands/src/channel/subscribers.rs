//! What broadcast and watch channels have in common: all receivers wait for the same event, the next value or the end,
//! and are notified together.
//!
//! Plain data, to be kept under a lock. A receiver joins the wait list when it finds nothing, and leaves when it finds
//! something or gives up. A notification is only a hint to try again, so a receiver that gives up loses nothing.

use crate::channel::error::{CloseReason, RecvError};
use crate::channel::wait_list::{WaitList, WaiterKey};
use crate::job;
use crate::sync::ShortLock;
use std::ops::Deref;
use std::sync::Arc;
use std::task::Waker;

/// The waiting receivers, and how many ends there are.
#[derive(Debug)]
pub(super) struct Subscribers {
    waiting: WaitList<()>,
    /// Set once; the reason is that of `close_with`.
    closed: Option<RecvError>,
    sender_count: usize,
    receiver_count: usize,
}

/// The state of a channel whose receivers are subscribers.
pub(super) trait HasSubscribers {
    fn subscribers(&mut self) -> &mut Subscribers;
}

/// What both kinds of sender share: a reference to the channel that counts as one of its senders.
#[derive(Debug)]
pub(super) struct SenderCore<S: HasSubscribers>(Arc<ShortLock<S>>);

impl<S: HasSubscribers> SenderCore<S> {
    /// The first sender of a channel.
    pub(super) fn new(shared: Arc<ShortLock<S>>) -> Self {
        Self(shared)
    }

    /// The reference for a new receiver.
    pub(super) fn share(&self) -> Arc<ShortLock<S>> {
        Arc::clone(&self.0)
    }

    pub(super) fn receiver_count(&self) -> usize {
        self.lock().subscribers().receiver_count
    }

    /// Closes; returns whether this was the first time.
    pub(super) fn close(&self, reason: Option<CloseReason>) -> bool {
        let (is_first, wakers) = self.lock().subscribers().close(reason);
        wakers.wake();
        is_first
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().subscribers().closed().is_some()
    }
}

impl<S: HasSubscribers> Deref for SenderCore<S> {
    type Target = ShortLock<S>;

    fn deref(&self) -> &ShortLock<S> {
        &self.0
    }
}

impl<S: HasSubscribers> Clone for SenderCore<S> {
    fn clone(&self) -> Self {
        self.lock().subscribers().sender_count += 1;
        Self(Arc::clone(&self.0))
    }
}

/// Dropping the last sender closes the channel.
impl<S: HasSubscribers> Drop for SenderCore<S> {
    fn drop(&mut self) {
        let wakers = self.lock().subscribers().remove_sender();
        wakers.wake();
    }
}

/// Wakers to wake or to drop where no lock is held.
#[derive(Debug, Default)]
#[must_use]
pub(super) struct TakenWakers {
    wake: Vec<Waker>,
    stale: Option<Waker>,
}

impl Subscribers {
    /// One sender and one receiver.
    pub(super) const fn new() -> Self {
        Self {
            waiting: WaitList::new(),
            closed: None,
            sender_count: 1,
            receiver_count: 1,
        }
    }

    pub(super) fn closed(&self) -> Option<&RecvError> {
        self.closed.as_ref()
    }

    pub(super) fn receiver_count(&self) -> usize {
        self.receiver_count
    }

    /// There is something new: notifies all receivers.
    pub(super) fn notify_all(&mut self) -> TakenWakers {
        let mut wakers = TakenWakers::default();
        self.waiting.notify_all(&mut wakers.wake);
        wakers
    }

    /// Waits, after the receiver found nothing.
    pub(super) fn wait(&mut self, waiter: &mut Option<WaiterKey>, waker: &Waker) -> TakenWakers {
        let stale = self.waiting.wait(waiter, waker);
        TakenWakers {
            wake: Vec::new(),
            stale,
        }
    }

    /// Leaves the wait list.
    pub(super) fn leave(&mut self, waiter: &mut Option<WaiterKey>) -> TakenWakers {
        let stale = self.waiting.give_up(waiter);
        TakenWakers {
            wake: Vec::new(),
            stale,
        }
    }

    /// Closes; returns whether this was the first time.
    fn close(&mut self, reason: Option<CloseReason>) -> (bool, TakenWakers) {
        if self.closed.is_some() {
            return (false, TakenWakers::default());
        }
        self.closed = Some(RecvError::new(reason));
        (true, self.notify_all())
    }

    /// Removing the last sender closes the channel.
    fn remove_sender(&mut self) -> TakenWakers {
        self.sender_count -= 1;
        if self.sender_count == 0 {
            self.close(None).1
        } else {
            TakenWakers::default()
        }
    }

    pub(super) fn add_receiver(&mut self) {
        self.receiver_count += 1;
    }

    pub(super) fn remove_receiver(&mut self) {
        self.receiver_count -= 1;
    }
}

impl TakenWakers {
    /// Wakes, and drops the waker that is not needed any more; to be called outside the lock.
    pub(super) fn wake(self) {
        self.wake.into_iter().for_each(job::wake);
        job::discard(self.stale);
    }
}
