//! What broadcast and watch channels have in common: all receivers wait for the same event, the next value or the end,
//! and are notified together.
//!
//! Plain data, to be kept under a lock. A receiver joins the wait list when it finds nothing, and leaves when it finds
//! something or gives up. A notification is only a hint to try again, so a receiver that gives up loses nothing.

use crate::channel::{
    CloseReason, End, PollWaker, Receives, RecvError, SendError, WaitList, WaiterKey,
};
use crate::job;
use crate::sync::{ShortGuard, ShortLock};
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The waiting receivers, and how many ends there are.
pub(super) struct Subscribers {
    waiting: WaitList<()>,
    /// Set once; the reason is that of `close_with`.
    pub(super) closed: Option<RecvError>,
    sender_count: usize,
    pub(super) receiver_count: usize,
}

/// The state of a channel whose receivers are subscribers. Each has a position: how far it has come.
pub(super) trait HasSubscribers {
    /// What is sent.
    type Item;
    /// Why a receiver gets none.
    type Error;

    fn subscribers(&mut self) -> &mut Subscribers;

    /// What a receiver at `position` gets, which leads it on; `None` if it has to wait.
    fn next(&mut self, position: &mut u64) -> Option<Result<Arc<Self::Item>, Self::Error>>;

    /// The position of a receiver that has to wait.
    fn end(&self) -> u64;

    /// Adds a receiver at this position.
    fn add_receiver(&mut self, _position: u64) {
        self.subscribers().receiver_count += 1;
    }

    /// Removes a receiver; returns the items that no receiver wants any more, to be dropped where no lock is held.
    fn remove_receiver(&mut self, _position: u64) -> Vec<Arc<Self::Item>> {
        self.subscribers().receiver_count -= 1;
        Vec::new()
    }
}

/// What a receiver gets.
pub(super) type Received<S> =
    Result<Arc<<S as HasSubscribers>::Item>, <S as HasSubscribers>::Error>;

/// The ends of a new channel.
pub(super) fn ends<S: HasSubscribers>(state: S) -> (SenderCore<S>, ReceiverCore<S>) {
    let position = state.end();
    let shared = Arc::new(ShortLock::new(state));
    let sender = SenderCore(Arc::clone(&shared));
    (sender, ReceiverCore { shared, position })
}

/// There is something new: wakes all receivers, where no lock is held.
pub(super) fn notify<S: HasSubscribers>(mut state: ShortGuard<'_, S>) {
    let mut wakers = Vec::new();
    state.subscribers().waiting.notify_all(&mut wakers);
    drop(state);
    wakers.into_iter().for_each(job::wake);
}

/// The error of a send into a closed channel; nobody else has the item yet.
pub(super) fn not_sent<T>(item: Arc<T>) -> SendError<T> {
    SendError(Arc::into_inner(item).expect("the item was not shared yet"))
}

/// What both kinds of sender share: a reference to the channel that counts as one of its senders.
pub(super) struct SenderCore<S: HasSubscribers>(Arc<ShortLock<S>>);

impl<S: HasSubscribers> SenderCore<S> {
    pub(super) fn lock(&self) -> ShortGuard<'_, S> {
        self.0.lock()
    }

    /// A receiver of all that is sent from now on.
    pub(super) fn subscribe(&self) -> ReceiverCore<S> {
        let mut state = self.lock();
        let position = state.end();
        state.add_receiver(position);
        drop(state);
        let shared = Arc::clone(&self.0);
        ReceiverCore { shared, position }
    }

    pub(super) fn receiver_count(&self) -> usize {
        self.lock().subscribers().receiver_count
    }

    /// Closes; returns whether this was the first time.
    pub(super) fn close(&self, reason: Option<CloseReason>) -> bool {
        let mut state = self.lock();
        let subscribers = state.subscribers();
        if subscribers.closed.is_some() {
            // The reason is dropped after the lock is released.
            return false;
        }
        subscribers.closed = Some(RecvError::new(reason));
        notify(state);
        true
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().subscribers().closed.is_some()
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
        let mut state = self.lock();
        let subscribers = state.subscribers();
        subscribers.sender_count -= 1;
        let is_last = subscribers.sender_count == 0;
        drop(state);
        if is_last {
            self.close(None);
        }
    }
}

/// What both kinds of receiver share: a reference to the channel that counts as one of its receivers.
pub(super) struct ReceiverCore<S: HasSubscribers> {
    pub(super) shared: Arc<ShortLock<S>>,
    /// How far it has come.
    pub(super) position: u64,
}

impl<S: HasSubscribers> ReceiverCore<S> {
    /// What comes next, or the end, if it is there.
    pub(super) fn try_next(&mut self) -> Option<Received<S>> {
        self.shared.lock().next(&mut self.position)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.shared.lock().subscribers().closed.is_some()
    }
}

impl<S: HasSubscribers> End for ReceiverCore<S> {
    fn channel(&self) -> *const () {
        ptr::from_ref(&*self.shared).cast()
    }
}

impl<S: HasSubscribers> Receives for ReceiverCore<S> {
    type Received = Received<S>;

    fn poll_next(&mut self, waiter: &mut Option<WaiterKey>, cx: &Context<'_>) -> Poll<Received<S>> {
        let mut by = PollWaker::of(cx);
        let mut state = self.shared.lock();
        let next = state.next(&mut self.position);
        let waiting = &mut state.subscribers().waiting;
        let stale = match next {
            Some(_) => waiting.give_up(waiter),
            None => waiting.wait(waiter, &mut by),
        };
        drop(state);
        job::discard(stale);
        next.map_or(Poll::Pending, Poll::Ready)
    }

    fn leave(&self, waiter: &mut Option<WaiterKey>) {
        if waiter.is_some() {
            let stale = self.shared.lock().subscribers().waiting.give_up(waiter);
            job::discard(stale);
        }
    }
}

impl<S: HasSubscribers> Clone for ReceiverCore<S> {
    fn clone(&self) -> Self {
        self.shared.lock().add_receiver(self.position);
        let (shared, position) = (Arc::clone(&self.shared), self.position);
        Self { shared, position }
    }
}

impl<S: HasSubscribers> Drop for ReceiverCore<S> {
    fn drop(&mut self) {
        // Items that no receiver wants any more are dropped here, where no lock is held.
        let unwanted = self.shared.lock().remove_receiver(self.position);
        drop(unwanted);
    }
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
}
