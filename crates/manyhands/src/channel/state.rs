//! The state of a channel between two operations: plain data, to be kept under a lock.
//!
//! The README of this folder has the protocol with its invariants C1 to C9. In short:
//!
//! # States
//! - *Open, neither full nor empty*: a send puts its item into the buffer; a receive takes the next item.
//! - *Full*: a send waits, with its item in its wait-list entry, or an item falls out ([`WhenFull`]).
//! - *Empty*: a receive waits.
//! - *Closed*: a send fails; a receive takes what is left, then fails with the reason.
//!
//! # Who notifies whom
//! [`State::settle`] ends each full step and notifies as C1 to C3 and C9 demand:
//! - a step that puts an item in notifies a waiting receiver;
//! - a step that takes an item notifies a waiting sender, or those that wait for the drain of a closed channel;
//! - a waiter that leaves lets `settle` notify the next one in its stead;
//! - a step that leaves an item, or room, notifies all that only wait for it (`until.rs`).
//!
//! Closing notifies all waiters. In a rendezvous channel, a receive that takes the item of a waiting sender notifies
//! that sender.
//!
//! # Fast paths (`state/fast.rs`)
//! A fast path does not end in `settle`, and must keep C1 to C3 and C9 (that is C4):
//! - [`State::offer_fast`] puts an item in where `fast_send` allows it to any: the channel is open, nobody waits for an item, no
//!   sender is put off. [`State::offer_in_poll`] does also where one is, and leaves the room of those for whom it is.
//! - [`State::take_fast`] takes an item while more than `fast_recv_above` are left: no waiter needs to hear of it.
//! - [`State::wait_fast`] lets a receiver wait in an open, empty channel, and clears `fast_send`.
//! - [`State::offer_to_waiting`] notifies exactly one receiver: as many have been notified as there are items, and nobody
//!   waits until the channel is ready.
//! - [`State::take_as_notified`] takes an item for a notified receiver: one item and one notified receiver fewer.
//! - [`State::fill`] moves the buffer into the empty receiver batch, from which receives take no further than
//!   `fast_recv_above` without a full step.
//!
//! # The receiver batch
//! A full step has the batch's items in `batch_items`. A fast path has not, and reads only the batch's length, which
//! may be higher than the true one but never lower (C5). So a fast send may see less room than there is, and may notify
//! one receiver too many. A receive takes from the buffer, or begins to wait, only while the batch is empty (C6).
//!
//! Not here: the lock, and the waking, which happens after the lock is released (`inner.rs`); waiters that neither send nor
//! receive (`until.rs`).

mod fast;
mod until;

use crate::channel::{
    CloseReason, DeferredWakes, ItemBuffer, PollWaker, RecvError, Ring, SendError, Sending,
    TrySendError, Until, WaitList, WaiterKey, WhenFull,
};
use crate::job::catch;
use std::task::Poll;

/// The state of a channel. The fields that fast paths use come first; with the lock they fill one cache line.
#[repr(C)]
pub(super) struct State<T> {
    fast_send: FastSend,
    /// Somebody waits until the channel is readable or writable.
    is_watched: bool,
    when_full: WhenFull,
    /// A receive needs no full step while there are more items than this: no waiter for room or for the drain has
    /// to be notified, and no notified receiver loses an item for which others are put off.
    fast_recv_above: usize,
    /// How many items a send without a full step may leave in the buffer, as far as is known; it may be more.
    known_room: usize,
    buffer: ItemBuffer<T>,
    /// The items of the receiver batch, during a full step. They come before those of the buffer.
    pub(super) batch_items: Ring<T>,
    /// 0 for a rendezvous, `usize::MAX` for no limit.
    capacity: usize,
    /// What receivers get after the last item, once the channel is closed; the reason is that of `close_with`. Set once.
    pub(super) closed: Option<RecvError>,
    pub(super) receivers: WaitList<()>,
    /// With the items of the waiting senders.
    senders: WaitList<T>,
    /// Who neither sends nor receives, by what it waits for ([`Until`]).
    until: [WaitList<()>; 4],
    pub(super) sender_count: usize,
    pub(super) receiver_count: usize,
}

/// Which sends need no full step, if there is room.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FastSend {
    /// None: somebody waits for an item, or the channel is closed.
    None,
    /// Those of tasks: senders are put off for others.
    InPoll,
    Any,
}

/// The items that nobody will receive: those of the receivers' batch, and those behind them.
type Unreceived<T> = (Ring<T>, ItemBuffer<T>);

impl<T> State<T> {
    /// An open channel with one end of each kind.
    pub(super) fn new(buffer: ItemBuffer<T>, capacity: usize, when_full: WhenFull) -> Self {
        let when_full = match when_full {
            // An item in a rendezvous channel has been sent: it is on its way to a receiver.
            WhenFull::DropNewest | WhenFull::DropOldest if capacity == 0 => WhenFull::DropThis,
            when_full => when_full,
        };
        Self {
            fast_send: FastSend::Any,
            is_watched: false,
            when_full,
            fast_recv_above: 0,
            known_room: capacity,
            buffer,
            batch_items: Ring::new(),
            capacity,
            closed: None,
            receivers: WaitList::new(),
            senders: WaitList::new(),
            until: [const { WaitList::new() }; 4],
            sender_count: 1,
            receiver_count: 1,
        }
    }

    /// How many items may be received without waiting for another send.
    pub(super) fn len(&self) -> usize {
        if self.capacity == 0 {
            self.buffer.len() + self.senders.waiting()
        } else {
            self.buffered()
        }
    }

    /// Items in the batch and the buffer. A rendezvous channel has some only on their way to waiting receivers.
    pub(super) fn buffered(&self) -> usize {
        self.batch_items.len() + self.buffer.len()
    }

    /// How many items must stay in the batch for a fast receive.
    pub(super) fn batch_fast_recv_above(&self) -> usize {
        self.fast_recv_above.saturating_sub(self.buffer.len())
    }

    /// The item that will be received next.
    pub(super) fn first(&self) -> Option<&T> {
        let first = self.batch_items.front().or_else(|| self.buffer.first());
        // In another channel a waiting sender's item is not inside, and those of notified senders may come before it.
        if first.is_none() && self.capacity == 0 {
            return self.senders.first_data();
        }
        first
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
                WhenFull::DropNewest => deferred.dropped = self.buffer.pop_last(),
                WhenFull::DropOldest => deferred.dropped = self.buffer.pop_first(),
                WhenFull::DropThis => {}
            }
            if deferred.dropped.is_none() {
                deferred.dropped = Some(item);
                return Ok(());
            }
        }
        match &mut self.buffer {
            ItemBuffer::Fifo(items) => items.push_back(item),
            // What this step has done before counts all the same.
            ItemBuffer::Sorted(items) => {
                deferred.panic = deferred.panic.take().or(catch(|| items.push(item)).err());
            }
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        if self.capacity == 0 {
            let expecting = self.receivers.waiting() + self.receivers.notified();
            self.senders.waiting() == 0 && self.buffer.len() < expecting
        } else {
            self.buffered() < self.capacity
        }
    }

    /// Takes the next item.
    #[inline]
    pub(super) fn take(&mut self, deferred: &mut DeferredWakes<T>) -> Option<T> {
        let item = self.batch_items.pop_front();
        let item = item.or_else(|| self.buffer.pop_first());
        if item.is_none() && self.capacity == 0 {
            let (sender, item) = self.senders.notify_first_with_data();
            if let Some(sender) = sender {
                deferred.wake_later(sender);
            }
            return item;
        }
        item
    }

    /// One attempt of a send: its item goes in, comes back, or waits in a wait-list entry.
    pub(super) fn poll_send(
        &mut self,
        sending: &mut Sending<T>,
        by: &mut PollWaker<'_>,
        deferred: &mut DeferredWakes<T>,
    ) -> Poll<Result<(), SendError<T>>> {
        if self.room_for(sending.key.as_ref()) == 0 && self.has_room() {
            deferred.wake = Some(self.senders.put_off(by));
            return Poll::Pending;
        }
        let item = match &sending.key {
            None => sending.item.take(),
            Some(key) => self.senders.data_mut(key).take(),
        };
        // An entry without its item: a receiver has taken it.
        let result = item.map_or(Ok(()), |item| self.offer(item, deferred));
        let ended = match result {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(item)) => Err(SendError(item)),
            Err(TrySendError::Full(item)) => {
                match &sending.key {
                    None => sending.key = Some(self.senders.join(by.keep(), Some(item))),
                    Some(key) => {
                        *self.senders.data_mut(key) = Some(item);
                        deferred.stale = self.senders.wait_again(key, by);
                    }
                }
                return Poll::Pending;
            }
        };
        self.leave_send(sending, deferred);
        Poll::Ready(ended)
    }

    /// Removes a send from the wait list, and returns its item if no receiver took it.
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

    /// How many items a send may put in: if it was not notified of room, the rest is for those that were, and for whom
    /// others are put off.
    pub(super) fn room_for(&self, waiter: Option<&WaiterKey>) -> usize {
        let is_notified = waiter.is_some_and(|key| self.senders.is_notified(key));
        if is_notified || !self.senders.puts_off() || self.closed.is_some() {
            return usize::MAX;
        }
        let room = self.capacity.saturating_sub(self.buffered());
        room.saturating_sub(self.senders.notified())
    }

    /// As [`room_for`](Self::room_for), of the items that a receive may take.
    pub(super) fn items_for(&self, waiter: Option<&WaiterKey>) -> usize {
        let is_notified = waiter.is_some_and(|key| self.receivers.is_notified(key));
        if is_notified || !self.receivers.puts_off() || self.closed.is_some() {
            return usize::MAX;
        }
        self.len().saturating_sub(self.receivers.notified())
    }

    /// One attempt of a receive, which takes its items with `take`.
    pub(super) fn poll_receive<R>(
        &mut self,
        waiter: &mut Option<WaiterKey>,
        by: &mut PollWaker<'_>,
        deferred: &mut DeferredWakes<T>,
        take: impl FnOnce(&mut Self, &mut DeferredWakes<T>) -> Option<R>,
    ) -> Poll<Result<R, RecvError>> {
        if self.items_for(waiter.as_ref()) == 0 && self.len() > 0 {
            deferred.wake = Some(self.receivers.put_off(by));
            return Poll::Pending;
        }
        let taken = take(self, deferred).map(Ok);
        let Some(result) = taken.or_else(|| self.closed.clone().map(Err)) else {
            deferred.stale = self.receivers.wait(waiter, by);
            return Poll::Pending;
        };
        deferred.stale = self.receivers.give_up(waiter);
        Poll::Ready(result)
    }

    /// Closes the channel, and takes the reason if this is the first time; returns whether it is.
    pub(super) fn close(
        &mut self,
        reason: &mut Option<CloseReason>,
        deferred: &mut DeferredWakes<T>,
    ) -> bool {
        if self.closed.is_some() {
            return false;
        }
        self.closed = Some(RecvError::new(reason.take()));
        self.receivers.notify_all(&mut deferred.wake_too);
        self.senders.notify_all(&mut deferred.wake_too);
        // Who waits until it is ready, or for the drain, hears of it from `settle`.
        self.until[Until::Closed as usize].notify_all(&mut deferred.wake_too);
        true
    }

    /// Removing the last sender closes the channel. Returns whether no end is left that could be cloned.
    pub(super) fn remove_sender(&mut self, deferred: &mut DeferredWakes<T>) -> bool {
        self.sender_count -= 1;
        if self.sender_count == 0 {
            self.close(&mut None, deferred);
        }
        self.sender_count + self.receiver_count == 0
    }

    /// What it shows of itself, with `in_batch` items in the receiver batch.
    #[cfg(feature = "inspect")]
    pub(super) fn load(&self, in_batch: usize) -> manyhands_wire::Load {
        manyhands_wire::Load {
            len: self.buffered() + in_batch,
            senders: self.sender_count,
            receivers: self.receiver_count,
            senders_waiting: self.senders.waiting(),
            receivers_waiting: self.receivers.waiting(),
            closed: self.closed.is_some(),
        }
    }

    /// As [`remove_sender`](Self::remove_sender), of a receiver; the last one gets the items that are left.
    pub(super) fn remove_receiver(
        &mut self,
        deferred: &mut DeferredWakes<T>,
    ) -> (bool, Option<Unreceived<T>>) {
        self.receiver_count -= 1;
        let left = (self.receiver_count == 0).then(|| {
            self.close(&mut None, deferred);
            // Nothing goes into a closed channel.
            (
                std::mem::replace(&mut self.batch_items, Ring::new()),
                std::mem::replace(&mut self.buffer, ItemBuffer::fifo()),
            )
        });
        (self.sender_count + self.receiver_count == 0, left)
    }

    /// Notifies the waiters that can make progress now (C1, C2). The last action under the lock.
    #[inline]
    pub(super) fn settle(&mut self, deferred: &mut DeferredWakes<T>) {
        if self.receivers.waiting() > 0 {
            self.notify_receivers(deferred);
        }
        if self.senders.waiting() > 0 {
            self.notify_senders(deferred);
        }
        let is_open = self.closed.is_none();
        self.fast_send = if !is_open || self.receivers.waiting() > 0 {
            FastSend::None
        } else if self.senders.puts_off() {
            FastSend::InPoll
        } else {
            FastSend::Any
        };
        self.fast_recv_above = if self.senders.waiting() > 0 {
            self.next_sender_notified_below()
        } else {
            0
        };
        if self.receivers.puts_off() {
            self.fast_recv_above = self.fast_recv_above.max(self.receivers.notified());
        }
        self.known_room = self.room_beside(self.batch_items.len());
        if !is_open {
            self.settle_drain(deferred);
        }
        if self.is_watched {
            self.settle_watched(deferred);
        }
    }

    fn notify_receivers(&mut self, deferred: &mut DeferredWakes<T>) {
        while self.receivers.notified() < self.len()
            && let Some(waker) = self.receivers.notify_first()
        {
            deferred.wake_later(waker);
        }
    }

    fn notify_senders(&mut self, deferred: &mut DeferredWakes<T>) {
        while self.buffered() < self.next_sender_notified_below()
            && let Some(waker) = self.senders.notify_first()
        {
            deferred.wake_later(waker);
        }
    }

    /// How many items the buffer may have beside that many in the batch; without the room of notified senders for whom others are
    /// put off.
    fn room_beside(&self, batch_len: usize) -> usize {
        let kept = match self.senders.puts_off() {
            true => self.senders.notified(),
            false => 0,
        };
        self.capacity.saturating_sub(batch_len + kept)
    }

    /// The number of items below which one more sender is notified. While there are items left, senders are notified
    /// gradually: running senders are likely to fill the room first, and waking a sender for nothing is expensive.
    fn next_sender_notified_below(&self) -> usize {
        let notified = self.senders.notified();
        if notified >= self.capacity {
            return 0;
        }
        let part = (self.capacity / NOTIFIED_SENDERS_MAX).max(1);
        self.capacity.saturating_sub(notified * part).max(1)
    }

    /// The channel is closed: notifies those that wait for the drain once it is empty.
    #[cold]
    fn settle_drain(&mut self, deferred: &mut DeferredWakes<T>) {
        let is_empty = self.len() == 0;
        let waiters = &mut self.until[Until::Drained as usize];
        if is_empty {
            waiters.notify_all(&mut deferred.wake_too);
        } else if waiters.waiting() > 0 {
            self.fast_recv_above = self.fast_recv_above.max(1);
        }
    }
}

/// A channel that is not empty notifies one sender for each such part of its capacity.
const NOTIFIED_SENDERS_MAX: usize = 8;
