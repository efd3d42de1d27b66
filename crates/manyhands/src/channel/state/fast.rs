//! The fast paths of a channel: steps that leave the invariants as they are, so that `settle` need not look.
//!
//! The comment of `state.rs` says what each demands and why (C4). What finds that it may not go on gives the item back,
//! and its caller takes a full step.

use crate::channel::state::{FastSend, State};
use crate::channel::{ItemBuffer, Offered, PollWaker, ReceiverBatch, Taken, WaiterKey, WhenFull};
use std::task::Waker;

impl<T> State<T> {
    /// As [`offer`](Self::offer), but only if no receiver waits and no sender is put off, and the item goes in or comes back.
    #[inline]
    pub(in crate::channel) fn offer_fast(
        &mut self,
        item: T,
        batch: &ReceiverBatch<T>,
    ) -> Offered<T> {
        match self.offer_to_known_room(item) {
            Offered::Full(item) => self.offer_to_batch_room(item, batch),
            offered => offered,
        }
    }

    /// As [`offer_fast`](Self::offer_fast), but does not check whether receivers have taken items from the batch.
    #[inline]
    pub(in crate::channel) fn offer_to_known_room(&mut self, item: T) -> Offered<T> {
        if self.fast_send != FastSend::Any {
            return Offered::NeedsSlowPath(item);
        }
        self.push_to_known_room(item)
    }

    /// As [`offer_fast`](Self::offer_fast) of a task, which may go beside senders for whom others are put off, and leaves their
    /// room. Threads that did would mostly make them come too late again.
    #[inline]
    pub(in crate::channel) fn offer_in_poll(
        &mut self,
        item: T,
        batch: &ReceiverBatch<T>,
    ) -> Offered<T> {
        if self.fast_send == FastSend::None {
            return Offered::NeedsSlowPath(item);
        }
        match self.buffer.push_into(self.known_room, item) {
            Ok(()) => Offered::In,
            Err(item) => self.offer_to_batch_room(item, batch),
        }
    }

    /// The same once the known room is used up: receivers may have taken items from the batch.
    #[inline(never)]
    fn offer_to_batch_room(&mut self, item: T, batch: &ReceiverBatch<T>) -> Offered<T> {
        self.known_room = self.room_beside(batch.len());
        self.push_to_known_room(item)
    }

    /// The channel is full if there is no room, a send waits for that, and none is put off.
    #[inline]
    fn push_to_known_room(&mut self, item: T) -> Offered<T> {
        let may_wait = self.when_full == WhenFull::Wait && self.capacity > 0;
        let is_full = may_wait && self.fast_send == FastSend::Any;
        match self.buffer.push_into(self.known_room, item) {
            Ok(()) => Offered::In,
            Err(item) if is_full => Offered::Full(item),
            Err(item) => Offered::NeedsSlowPath(item),
        }
    }

    /// As [`take`](Self::take), but only if there is an item whose removal nobody has to be notified of, or if the
    /// channel is open and empty.
    #[inline]
    pub(in crate::channel) fn take_fast(&mut self) -> Taken<T> {
        if self.buffer.len() > self.fast_recv_above {
            let first = self.buffer.pop_first();
            first.map_or(Taken::NeedsSlowPath, Taken::Item)
        } else if self.buffer.len() == 0 && self.fast_send != FastSend::None && self.capacity > 0 {
            Taken::Empty
        } else {
            Taken::NeedsSlowPath
        }
    }

    /// Moves the buffer's items into the empty batch, if receivers may take them by fast receives.
    #[inline]
    pub(in crate::channel) fn fill(&mut self, batch: &ReceiverBatch<T>) {
        if self.capacity > 1
            && matches!(self.when_full, WhenFull::Wait | WhenFull::DropThis)
            && let ItemBuffer::Fifo(items) = &mut self.buffer
            && items.len() > 0
        {
            let moved = items.len();
            let mut guard = batch.lock();
            guard.swap(items);
            guard.leave(self.fast_recv_above);
            self.known_room = self.room_beside(moved);
        }
    }

    /// As [`offer`](Self::offer), but only if exactly one receiver has to be notified; returns its waker.
    pub(in crate::channel) fn offer_to_waiting(
        &mut self,
        item: T,
        batch: &ReceiverBatch<T>,
    ) -> Result<Waker, T> {
        let len = batch.len() + self.buffer.len();
        let is_full = len >= self.capacity;
        let is_expected = len < self.receivers.notified();
        // A full step sees to it that others do not come first.
        let is_for_late_waiter = self.receivers.would_put_off() || self.senders.puts_off();
        if self.closed.is_some()
            || is_full
            || is_expected
            || is_for_late_waiter
            || self.is_watched
            || self.receivers.waiting() == 0
        {
            return Err(item);
        }
        self.buffer.push(item);
        let receiver = self.receivers.notify_first();
        if self.receivers.waiting() == 0 {
            self.fast_send = FastSend::Any;
        }
        Ok(receiver.expect("a receiver waits"))
    }

    /// Enters the wait list of receivers, if the channel is open and empty. Nobody else has to be notified of that.
    pub(in crate::channel) fn wait_fast(&mut self, by: &mut PollWaker<'_>) -> Option<WaiterKey> {
        let may_wait = self.closed.is_none() && self.buffer.len() == 0 && self.capacity > 0;
        if !may_wait {
            return None;
        }
        let key = self.receivers.join(by.keep(), None);
        self.fast_send = FastSend::None;
        Some(key)
    }

    /// As [`take`](Self::take), and leaves the wait list; only for a notified receiver, and only if no other waiter has
    /// to be notified.
    pub(in crate::channel) fn take_as_notified(
        &mut self,
        waiter: &mut Option<WaiterKey>,
    ) -> Option<T> {
        let was_notified = waiter
            .as_ref()
            .is_some_and(|key| self.receivers.is_notified(key));
        if !was_notified || self.buffer.len() <= self.fast_recv_above {
            return None;
        }
        let item = self.buffer.pop_first();
        self.receivers.give_up(waiter);
        item
    }
}
