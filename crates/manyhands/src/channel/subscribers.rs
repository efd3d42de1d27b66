//! What broadcast and watch channels have in common: receivers who all wait for the same thing, the next
//! value or the end, and are all told at once.
//!
//! Plain data, to be kept under a lock. A place is taken by a look that found nothing and given back by the
//! look that finds something, or by giving up; being told promises nothing, so nothing is lost either way.

use crate::channel::error::{CloseReason, RecvError};
use crate::channel::wait_list::{WaitList, WaiterKey};
use crate::job;
use crate::sync::ShortLock;
use std::ops::Deref;
use std::sync::Arc;
use std::task::Waker;

/// Those who listen, and whether anybody still speaks.
#[derive(Debug)]
pub(super) struct Subscribers {
    waiting: WaitList<()>,
    /// Set once; the reason is that of `close_with`.
    closed: Option<RecvError>,
    sender_count: usize,
    receiver_count: usize,
}

/// The state of a channel that has an audience.
pub(super) trait Stage {
    fn audience(&mut self) -> &mut Subscribers;
}

/// A sender, apart from what it sends: a share in the channel that counts as one of its senders.
#[derive(Debug)]
pub(super) struct SenderCore<S: Stage>(Arc<ShortLock<S>>);

impl<S: Stage> SenderCore<S> {
    /// The channel's first.
    pub(super) fn new(shared: Arc<ShortLock<S>>) -> Self {
        Self(shared)
    }

    /// For a receiver's share.
    pub(super) fn share(&self) -> Arc<ShortLock<S>> {
        Arc::clone(&self.0)
    }

    pub(super) fn receiver_count(&self) -> usize {
        self.lock().audience().receiver_count
    }

    /// Closes; whether this was the first time.
    pub(super) fn close(&self, reason: Option<CloseReason>) -> bool {
        let (is_first, told) = self.lock().audience().close(reason);
        told.wake();
        is_first
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().audience().closed().is_some()
    }
}

impl<S: Stage> Deref for SenderCore<S> {
    type Target = ShortLock<S>;

    fn deref(&self) -> &ShortLock<S> {
        &self.0
    }
}

impl<S: Stage> Clone for SenderCore<S> {
    fn clone(&self) -> Self {
        self.lock().audience().sender_count += 1;
        Self(Arc::clone(&self.0))
    }
}

/// The last one closes.
impl<S: Stage> Drop for SenderCore<S> {
    fn drop(&mut self) {
        let told = self.lock().audience().remove_sender();
        told.wake();
    }
}

/// Wakers to be used, or dropped, where no lock is held.
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

    /// There is something new.
    pub(super) fn tell_all(&mut self) -> TakenWakers {
        let mut told = TakenWakers::default();
        self.waiting.notify_all(&mut told.wake);
        told
    }

    /// Nothing was found: waits.
    pub(super) fn wait(&mut self, waiter: &mut Option<WaiterKey>, waker: &Waker) -> TakenWakers {
        let stale = self.waiting.wait(waiter, waker);
        TakenWakers {
            wake: Vec::new(),
            stale,
        }
    }

    /// Something was found, or is not wanted any more.
    pub(super) fn leave(&mut self, waiter: &mut Option<WaiterKey>) -> TakenWakers {
        let stale = self.waiting.give_up(waiter);
        TakenWakers {
            wake: Vec::new(),
            stale,
        }
    }

    /// Closes; whether this was the first time.
    fn close(&mut self, reason: Option<CloseReason>) -> (bool, TakenWakers) {
        if self.closed.is_some() {
            return (false, TakenWakers::default());
        }
        self.closed = Some(RecvError::new(reason));
        (true, self.tell_all())
    }

    /// The last one closes.
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
    /// Outside the lock: wakes, and drops what nobody needs.
    pub(super) fn wake(self) {
        self.wake.into_iter().for_each(job::wake);
        job::discard(self.stale);
    }
}
