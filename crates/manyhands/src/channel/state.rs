//! What a channel is, between two operations: plain data, to be kept under a lock.
//!
//! # Protocol
//! An item moves in the very step in which its operation ends: a receive takes it when it returns it, a send
//! puts it in when it says so. Those who wait are only told that it is worth looking. So a receive that is
//! given up never holds an item, and a send that is given up leaves none behind; both only have to give
//! their place back.
//!
//! A channel without room, for a rendezvous, has nothing to put an item into. There a waiting sender leaves
//! its item at its place, and a receive takes it from there and tells the sender so; and a send succeeds at
//! once while more receivers wait than items are on their way to them.
//!
//! After each step [`State::settle`] restores: *as many waiting receivers have been told as there are items,
//! or all of them; while there is room at least one waiting sender, and if nothing else is in the channel as
//! many as there is room, or all of them.* One that was told and finds nothing, because a newcomer was
//! faster, waits again as the first; one that was told and gives up leaves its place, as does one that was
//! served, and `settle` tells the next. So nobody sleeps beside an item, and beside room only while another
//! one is on its way to it.
//!
//! A step that cannot break this is quiet and settles nothing: `settle` leaves behind whether an item that goes
//! in is one, and down to how many items one that is taken is. Both only depend on who waits, who was told and
//! whether the channel is open, and none of these changes without a `settle`, but for what the next sentences
//! say. A step that finds an open channel full or empty and changes nothing is quiet too. Three steps of those who
//! wait know without `settle` what follows. Who comes to receive and finds an open channel empty takes a place:
//! from now on offers are not quiet. An item that goes in where as many were told as there are items, and more
//! wait, tells one of these. A receiver that was told takes an item and leaves: one fewer was told, and there is
//! one item fewer.
//!
//! # The head
//! A receive that comes quietly and finds more than it takes sets the rest apart in the [`ReceiverBatch`], from which receives
//! take without this state's lock. What is there comes before what is in the line, and it counts as items in all of
//! the above. A step has it here, as `ahead`, and leaves behind down to how many items a take from the head is quiet;
//! so whoever waits for what happens in the head is told by a step, as it is told of the line. A quiet step does not
//! have it, and knows only how many items the head had a moment ago. Since only a holder of this state's lock fills
//! the head, that is no less than there are, and none if it was none. So an offer may find less room than there is
//! where a take has just made it, and never more; who then waits for room does so in a step. An offer may tell one
//! receiver too many, never one too few. And whoever takes from the line, or takes a place to receive, does it only
//! where the head is empty.
//!
//! Items that may fall out of the full channel, or that are sorted, are never set apart, nor is the only item of a
//! channel for one, nor what is there while somebody waits whom a take may have to tell.
//!
//! Not here: the lock, and the waking itself, which happens after it is given back (`inner.rs`).

use crate::channel::WhenFull;
use crate::channel::buffer::ItemBuffer;
use crate::channel::error::{CloseReason, RecvError, SendError, TrySendError};
use crate::channel::receiver_batch::ReceiverBatch;
use crate::channel::ring::Ring;
use crate::channel::step::{DeferredWakes, Offered, Sending, Taken, Until};
use crate::channel::wait_list::{WaitList, WaiterKey};
use std::task::{Poll, Waker};

/// The state of a channel. What a quiet step touches comes first, and with the lock fills one cache line.
#[derive(Debug)]
#[repr(C)]
pub(super) struct State<T> {
    /// Nothing follows from an item that goes in: nobody waits to receive, and the channel is open.
    offers_are_quiet: bool,
    when_full: WhenFull,
    /// Nothing follows from an item that is taken while there are more than these: nobody who waits to send,
    /// or for the drain, is to be told.
    takes_are_quiet_above: usize,
    /// So many items fit in the line beside the head, as far as is known; it may be more.
    room_of_line: usize,
    line: ItemBuffer<T>,
    /// What is in the head, during a step; it comes before what is in the line.
    ahead: Ring<T>,
    /// 0 for a rendezvous, `usize::MAX` for no limit.
    capacity: usize,
    /// Set once; the reason is that of `close_with`.
    closed: Option<RecvError>,
    receivers: WaitList<()>,
    /// With the items of those who wait.
    senders: WaitList<T>,
    until_closed: WaitList<()>,
    until_drained: WaitList<()>,
    sender_count: usize,
    receiver_count: usize,
}

impl<T> State<T> {
    /// An open channel with one end of each kind.
    pub(super) fn new(line: ItemBuffer<T>, capacity: usize, when_full: WhenFull) -> Self {
        let when_full = match when_full {
            // What is in a rendezvous is on its way to a receiver, and has been sent.
            WhenFull::DropNewest | WhenFull::DropOldest if capacity == 0 => WhenFull::DropThis,
            when_full => when_full,
        };
        Self {
            offers_are_quiet: true,
            when_full,
            takes_are_quiet_above: 0,
            room_of_line: capacity,
            line,
            ahead: Ring::new(),
            capacity,
            closed: None,
            receivers: WaitList::new(),
            senders: WaitList::new(),
            until_closed: WaitList::new(),
            until_drained: WaitList::new(),
            sender_count: 1,
            receiver_count: 1,
        }
    }

    /// How many items may be received without waiting for another send.
    pub(super) fn len(&self) -> usize {
        if self.capacity == 0 {
            self.line.len() + self.senders.waiting()
        } else {
            self.buffered()
        }
    }

    /// Items in the line; a rendezvous channel has some only on their way to receivers that wait.
    pub(super) fn buffered(&self) -> usize {
        self.ahead.len() + self.line.len()
    }

    /// What is in the head, which only a step has here.
    pub(super) fn ahead_mut(&mut self) -> &mut Ring<T> {
        &mut self.ahead
    }

    /// How many items may stay in the head.
    pub(super) fn head_is_quiet_above(&self) -> usize {
        self.takes_are_quiet_above.saturating_sub(self.line.len())
    }

    /// The end of the channel's life, once it has begun.
    pub(super) fn closed(&self) -> Option<&RecvError> {
        self.closed.as_ref()
    }

    /// The item that is to be received next.
    pub(super) fn first(&self) -> Option<&T> {
        let first = self.ahead.front().or_else(|| self.line.first());
        first.or_else(|| self.senders.first_data())
    }

    /// As [`offer`](Self::offer), only where nothing else is to be done: nobody waits to receive, and the item
    /// goes in or comes back.
    #[inline]
    pub(super) fn offer_quietly(&mut self, item: T, head: &ReceiverBatch<T>) -> Offered<T> {
        if self.line.len() >= self.room_of_line {
            self.room_of_line = self.capacity.saturating_sub(head.len());
        }
        self.offer_to_known_room(item)
    }

    /// As [`offer_quietly`](Self::offer_quietly), but does not look whether receivers have taken items from the head.
    #[inline]
    pub(super) fn offer_to_known_room(&mut self, item: T) -> Offered<T> {
        if !self.offers_are_quiet {
            Offered::NeedsSlowPath(item)
        } else if self.line.len() < self.room_of_line {
            self.line.push(item);
            Offered::In
        } else if self.when_full == WhenFull::Wait && self.capacity > 0 {
            Offered::Full(item)
        } else {
            Offered::NeedsSlowPath(item)
        }
    }

    /// As [`take`](Self::take), only where nothing else is to be done: there is an item, and nobody who waits
    /// is to be told that it is gone; or there is none, in an open channel.
    #[inline]
    pub(super) fn take_quietly(&mut self) -> Taken<T> {
        if self.line.len() > self.takes_are_quiet_above {
            self.line
                .pop_first()
                .map_or(Taken::NeedsSlowPath, Taken::Item)
        } else if self.line.len() == 0 && self.offers_are_quiet && self.capacity > 0 {
            Taken::Empty
        } else {
            Taken::NeedsSlowPath
        }
    }

    /// Sets what is in the line apart for receivers, into the empty head, if they may take all of it quietly.
    #[inline]
    pub(super) fn fill(&mut self, head: &ReceiverBatch<T>) {
        if self.capacity > 1
            && matches!(self.when_full, WhenFull::Wait | WhenFull::DropThis)
            && let ItemBuffer::Fifo(items) = &mut self.line
            && self.takes_are_quiet_above == 0
            && !items.is_empty()
        {
            self.room_of_line = self.capacity - items.len();
            let mut guard = head.lock();
            guard.swap(items);
            guard.leave(0);
        }
    }

    /// As [`offer`](Self::offer), only where all that follows is that one receiver is told, who is to be woken.
    pub(super) fn offer_to_waiting(
        &mut self,
        item: T,
        head: &ReceiverBatch<T>,
    ) -> Result<Waker, T> {
        let len = head.len() + self.line.len();
        let is_full = len >= self.capacity;
        let is_expected = len < self.receivers.notified();
        if self.closed.is_some() || is_full || is_expected || self.receivers.waiting() == 0 {
            return Err(item);
        }
        self.line.push(item);
        let receiver = self.receivers.notify_first();
        self.offers_are_quiet = self.receivers.waiting() == 0;
        Ok(receiver.expect("somebody waits"))
    }

    /// Takes a place to receive, if the channel is open and empty; nothing follows from that for others.
    pub(super) fn wait_quietly(&mut self, waker: &Waker) -> Option<WaiterKey> {
        if self.closed.is_some() || self.line.len() > 0 || self.capacity == 0 {
            return None;
        }
        let key = self.receivers.join(waker.clone(), None);
        self.offers_are_quiet = false;
        Some(key)
    }

    /// As [`take`](Self::take), and leaves the place, only for a receiver that was told, and where nobody who
    /// waits is to be told.
    pub(super) fn take_as_told(&mut self, waiter: &mut Option<WaiterKey>) -> Option<T> {
        let was_told = waiter
            .as_ref()
            .is_some_and(|key| self.receivers.is_notified(key));
        if !was_told || self.line.len() <= self.takes_are_quiet_above {
            return None;
        }
        let item = self.line.pop_first();
        self.receivers.give_up(waiter);
        item
    }

    /// Puts an item in, if it need not wait for room.
    #[inline]
    pub(super) fn offer(
        &mut self,
        item: T,
        deferred: &mut DeferredWakes<T>,
    ) -> Result<(), TrySendError<T>> {
        if self.closed.is_some() {
            return Err(TrySendError::Closed(item));
        }
        if !self.has_room() {
            match self.when_full {
                WhenFull::Wait => return Err(TrySendError::Full(item)),
                WhenFull::DropNewest => deferred.dropped = self.line.pop_last(),
                WhenFull::DropOldest => deferred.dropped = self.line.pop_first(),
                WhenFull::DropThis => {}
            }
            if deferred.dropped.is_none() {
                deferred.dropped = Some(item);
                return Ok(());
            }
        }
        self.line.push(item);
        Ok(())
    }

    fn has_room(&self) -> bool {
        if self.capacity == 0 {
            let expecting = self.receivers.waiting() + self.receivers.notified();
            self.senders.waiting() == 0 && self.line.len() < expecting
        } else {
            self.buffered() < self.capacity
        }
    }

    /// Takes the next item.
    #[inline]
    pub(super) fn take(&mut self, deferred: &mut DeferredWakes<T>) -> Option<T> {
        let item = self.ahead.pop_front().or_else(|| self.line.pop_first());
        if item.is_none() && self.capacity == 0 {
            let (sender, item) = self.senders.notify_first_with_data();
            if let Some(sender) = sender {
                deferred.wake_later(sender);
            }
            return item;
        }
        item
    }

    /// One look of a send: its item goes in, comes back, or waits at a place.
    pub(super) fn poll_send(
        &mut self,
        sending: &mut Sending<T>,
        waker: &Waker,
        deferred: &mut DeferredWakes<T>,
    ) -> Poll<Result<(), SendError<T>>> {
        let item = match &sending.key {
            None => sending.item.take(),
            Some(key) => self.senders.data_mut(key).take(),
        };
        // A place without its item: a receiver has taken it.
        let result = item.map_or(Ok(()), |item| self.offer(item, deferred));
        match result {
            Ok(()) => {
                self.leave_send(sending, deferred);
                Poll::Ready(Ok(()))
            }
            Err(TrySendError::Closed(item)) => {
                self.leave_send(sending, deferred);
                Poll::Ready(Err(SendError(item)))
            }
            Err(TrySendError::Full(item)) => {
                match &sending.key {
                    None => {
                        // The waker's clone may panic: the item is the future's meanwhile.
                        sending.item = Some(item);
                        let waker = waker.clone();
                        sending.key = Some(self.senders.join(waker, sending.item.take()));
                    }
                    Some(key) => {
                        *self.senders.data_mut(key) = Some(item);
                        deferred.stale = self.senders.wait_again(key, waker);
                    }
                }
                Poll::Pending
            }
        }
    }

    /// Gives up the place of a send, and takes back the item that nobody took.
    pub(super) fn leave_send(
        &mut self,
        sending: &mut Sending<T>,
        deferred: &mut DeferredWakes<T>,
    ) -> Option<T> {
        let key = sending.key.take()?;
        let (waker, item) = self.senders.leave(&key);
        deferred.stale = waker;
        item
    }

    /// One look of a receive, which takes what it wants with `take`.
    pub(super) fn poll_receive<R>(
        &mut self,
        waiter: &mut Option<WaiterKey>,
        waker: &Waker,
        deferred: &mut DeferredWakes<T>,
        take: impl FnOnce(&mut Self, &mut DeferredWakes<T>) -> Option<R>,
    ) -> Poll<Result<R, RecvError>> {
        let result = match take(self, deferred) {
            Some(taken) => Ok(taken),
            None => match &self.closed {
                Some(closed) => Err(closed.clone()),
                None => {
                    deferred.stale = self.receivers.wait(waiter, waker);
                    return Poll::Pending;
                }
            },
        };
        self.leave_receive(waiter, deferred);
        Poll::Ready(result)
    }

    /// Gives up the place of a receive.
    pub(super) fn leave_receive(
        &mut self,
        waiter: &mut Option<WaiterKey>,
        deferred: &mut DeferredWakes<T>,
    ) {
        deferred.stale = self.receivers.give_up(waiter);
    }

    /// One look of somebody who only waits for the end.
    pub(super) fn poll_until(
        &mut self,
        until: Until,
        waiter: &mut Option<WaiterKey>,
        waker: &Waker,
        deferred: &mut DeferredWakes<T>,
    ) -> Poll<Result<(), CloseReason>> {
        let is_over = match until {
            Until::Closed => true,
            Until::Drained => self.len() == 0,
        };
        match &self.closed {
            Some(closed) if is_over => {
                let result = closed.reason().cloned().map_or(Ok(()), Err);
                self.leave_until(until, waiter, deferred);
                Poll::Ready(result)
            }
            _ => {
                deferred.stale = self.list_of(until).wait(waiter, waker);
                Poll::Pending
            }
        }
    }

    /// Gives up the place of somebody who waits for the end.
    pub(super) fn leave_until(
        &mut self,
        until: Until,
        waiter: &mut Option<WaiterKey>,
        deferred: &mut DeferredWakes<T>,
    ) {
        deferred.stale = self.list_of(until).give_up(waiter);
    }

    fn list_of(&mut self, until: Until) -> &mut WaitList<()> {
        match until {
            Until::Closed => &mut self.until_closed,
            Until::Drained => &mut self.until_drained,
        }
    }

    /// Closes; whether this was the first time.
    pub(super) fn close(
        &mut self,
        reason: Option<CloseReason>,
        deferred: &mut DeferredWakes<T>,
    ) -> bool {
        if self.closed.is_some() {
            return false;
        }
        self.closed = Some(RecvError::new(reason));
        self.receivers.notify_all(&mut deferred.wake_too);
        self.senders.notify_all(&mut deferred.wake_too);
        self.until_closed.notify_all(&mut deferred.wake_too);
        true
    }

    pub(super) fn add_sender(&mut self) {
        self.sender_count += 1;
    }

    /// The last one closes.
    pub(super) fn remove_sender(&mut self, deferred: &mut DeferredWakes<T>) {
        self.sender_count -= 1;
        if self.sender_count == 0 {
            self.close(None, deferred);
        }
    }

    pub(super) fn add_receiver(&mut self) {
        self.receiver_count += 1;
    }

    /// The last one closes, and returns what nobody will receive.
    pub(super) fn remove_receiver(
        &mut self,
        deferred: &mut DeferredWakes<T>,
    ) -> Option<(Ring<T>, ItemBuffer<T>)> {
        self.receiver_count -= 1;
        (self.receiver_count == 0).then(|| {
            self.close(None, deferred);
            (
                std::mem::replace(&mut self.ahead, Ring::new()),
                self.line.take(),
            )
        })
    }

    /// Tells those for whom there is something now. The last thing under the lock.
    #[inline]
    pub(super) fn settle(&mut self, deferred: &mut DeferredWakes<T>) {
        if self.receivers.waiting() > 0 {
            self.tell_receivers(deferred);
        }
        if self.senders.waiting() > 0 {
            self.tell_senders(deferred);
        }
        let is_open = self.closed.is_none();
        self.offers_are_quiet = is_open && self.receivers.waiting() == 0;
        self.takes_are_quiet_above = if self.senders.waiting() > 0 {
            self.next_sender_is_told_below()
        } else {
            0
        };
        self.room_of_line = self.capacity - self.ahead.len();
        if !is_open {
            self.settle_drain(deferred);
        }
    }

    fn tell_receivers(&mut self, deferred: &mut DeferredWakes<T>) {
        while self.receivers.notified() < self.len() {
            let Some(waker) = self.receivers.notify_first() else {
                break;
            };
            deferred.wake_later(waker);
        }
    }

    fn tell_senders(&mut self, deferred: &mut DeferredWakes<T>) {
        while self.buffered() < self.next_sender_is_told_below() {
            let Some(waker) = self.senders.notify_first() else {
                break;
            };
            deferred.wake_later(waker);
        }
    }

    /// With how many items left one more sender is to be on its way, besides those that are. While there are
    /// items left they are told bit by bit: who sends at the time is likely to fill the room before they come,
    /// and being woken for nothing is dear.
    fn next_sender_is_told_below(&self) -> usize {
        let told = self.senders.notified();
        if told >= self.capacity {
            return 0;
        }
        let part = (self.capacity / NOTIFIED_SENDERS_MAX).max(1);
        self.capacity.saturating_sub(told * part).max(1)
    }

    /// The channel is closed: tells those who wait for the drain when it is there.
    #[cold]
    fn settle_drain(&mut self, deferred: &mut DeferredWakes<T>) {
        if self.len() == 0 {
            self.until_drained.notify_all(&mut deferred.wake_too);
        } else if self.until_drained.waiting() > 0 {
            self.takes_are_quiet_above = self.takes_are_quiet_above.max(1);
        }
    }
}

/// Of a channel that is not empty so many parts of room call for a sender each.
const NOTIFIED_SENDERS_MAX: usize = 8;
