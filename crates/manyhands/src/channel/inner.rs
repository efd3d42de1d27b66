//! What the ends of a channel share: the state under its lock, and the work that follows once the lock is released.
//!
//! # Threads
//! Any thread may call anything. An operation takes a fast path, or one or a few [full steps](ChannelInner::step). A full
//! step locks the state and the receiver batch, changes the state, settles, and releases both locks. Only then it wakes
//! threads, drops wakers and passes dropped items to the user. No user code runs under the lock but a waker's `clone`,
//! the comparisons of a prioritized channel, and the closure given to `peek`. Held by
//! `tests/it/channel_lock.rs::items_may_use_their_channel_when_they_are_dropped` and
//! `tests/it/channel_lock.rs::wakers_may_use_the_channel_when_they_are_woken_and_when_they_are_dropped`.
//!
//! # Ordering
//! The lock guards all state but the receiver batch, which has a lock of its own. A thread that takes both locks takes
//! the state's first. A receive from the batch takes only the batch's lock.

use crate::channel::buffer::ItemBuffer;
use crate::channel::error::{RecvError, SendError, TryRecvError, TrySendError};
use crate::channel::receiver_batch::{ReceiverBatch, ReceiverBatchGuard};
use crate::channel::state::State;
use crate::channel::step::{DeferredWakes, Offered, Sending, Taken, Until};
use crate::channel::thread::Retries;
use crate::channel::wait_list::WaiterKey;
use crate::channel::when_full::WhenFull;
use crate::job;
use crate::recording::ChannelRecord;
use crate::sync::{Padded, ShortGuard, ShortLock};
use std::cell::Cell;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::task::{Context, Poll};

/// What the ends of a channel share.
pub(super) struct ChannelInner<T> {
    state: Padded<ShortLock<State<T>>>,
    /// Only a holder of the state's lock fills it.
    batch: ReceiverBatch<T>,
    capacity: usize,
    /// Of sends that find it full, and of receives that find it empty.
    pub(super) send_retries: Retries,
    pub(super) receive_retries: Retries,
    on_drop: Option<OnDrop<T>>,
    pub(super) record: ChannelRecord,
}

/// The state, locked.
type StateGuard<'a, T> = ShortGuard<'a, State<T>>;

/// The state, locked, with the items of the batch.
struct FullGuard<'a, T> {
    state: StateGuard<'a, T>,
    /// `None` if the batch is empty, and stays so.
    batch: Option<ReceiverBatchGuard<'a, T>>,
}

/// What a thread has seen of a channel that was empty or full.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The version of the lock of the state.
    version: Cell<Option<u32>>,
    /// Items in the batch.
    batch_len: Cell<usize>,
}

/// Called with each item that falls out of a full channel.
pub(super) type OnDrop<T> = Box<dyn Fn(T) + Send + Sync>;

impl<T> ChannelInner<T> {
    pub(super) fn new(
        buffer: ItemBuffer<T>,
        capacity: usize,
        when_full: WhenFull,
        on_drop: Option<OnDrop<T>>,
    ) -> Self {
        let state = State::new(buffer, capacity, when_full);
        Self {
            // A side that finds the lock taken retries after the other has moved about half the capacity.
            state: Padded(ShortLock::with_patience(state, capacity / 2)),
            batch: ReceiverBatch::new(capacity / 2),
            capacity,
            send_retries: Retries::new(),
            receive_retries: Retries::new(),
            on_drop,
            record: ChannelRecord::none(),
        }
    }

    /// Whether the capacity is 0: items pass from a sender to a waiting receiver.
    pub(super) fn is_rendezvous(&self) -> bool {
        self.capacity == 0
    }

    /// How many items fit; `None` if there is no limit.
    pub(super) fn capacity(&self) -> Option<usize> {
        (self.capacity != usize::MAX).then_some(self.capacity)
    }

    /// One full step of the protocol.
    #[inline]
    fn step<R>(&self, change: impl FnOnce(&mut State<T>, &mut DeferredWakes<T>) -> R) -> R {
        self.step_locked(self.state.lock(), change)
    }

    /// One full step of a caller that has locked the state already.
    #[inline]
    fn step_locked<R>(
        &self,
        state: StateGuard<'_, T>,
        change: impl FnOnce(&mut State<T>, &mut DeferredWakes<T>) -> R,
    ) -> R {
        // Declared before the guard, so that an unwinding `change` drops the wakers after it.
        let mut deferred = DeferredWakes::none();
        let mut full = self.lock_batch(state);
        let result = change(&mut full.state, &mut deferred);
        full.state.settle(&mut deferred);
        drop(full);
        deferred.run(|item| match &self.on_drop {
            Some(on_drop) => on_drop(item),
            None => drop(item),
        });
        result
    }

    /// Locks the batch as well, and moves its items into the state.
    fn lock_batch<'a>(&'a self, state: StateGuard<'a, T>) -> FullGuard<'a, T> {
        let mut full = FullGuard { state, batch: None };
        if self.batch.len() > 0 {
            let mut batch = self.batch.lock();
            batch.swap(full.state.batch_items_mut());
            full.batch = Some(batch);
        }
        full
    }

    #[inline]
    pub(super) fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        self.try_send_by(item, |state, item| state.offer_fast(item, &self.batch))
    }

    /// As [`try_send`](Self::try_send), and notes what was seen.
    pub(super) fn try_send_and_note(&self, item: T, seen: &Seen) -> Result<(), TrySendError<T>> {
        self.try_send_by(item, |state, item| {
            seen.version.set(Some(ShortLock::version_after(state)));
            seen.batch_len.set(self.batch.len());
            state.offer_fast(item, &self.batch)
        })
    }

    /// As [`may_have_changed`](Self::may_have_changed): a full channel may have room now.
    pub(super) fn may_have_room(&self, seen: &Seen) -> bool {
        self.may_have_changed(seen) || self.batch.len() != seen.batch_len.get()
    }

    /// As [`try_send`](Self::try_send), but may report a full channel although receivers have just made room: it does
    /// not read the batch's length, which receivers write.
    #[inline]
    pub(super) fn try_send_to_known_room(&self, item: T) -> Result<(), TrySendError<T>> {
        self.try_send_by(item, |state, item| state.offer_to_known_room(item))
    }

    #[inline]
    fn try_send_by(
        &self,
        item: T,
        offer: impl FnOnce(&mut StateGuard<'_, T>, T) -> Offered<T>,
    ) -> Result<(), TrySendError<T>> {
        let mut state = self.state.lock();
        match offer(&mut state, item) {
            Offered::In => Ok(()),
            Offered::Full(item) => Err(TrySendError::Full(item)),
            Offered::NeedsSlowPath(item) => self.try_send_locked(state, item),
        }
    }

    #[inline(never)]
    fn try_send_locked(&self, state: StateGuard<'_, T>, item: T) -> Result<(), TrySendError<T>> {
        match self.offer_to_waiting(state, item) {
            Ok(()) => Ok(()),
            Err((state, item)) => {
                self.step_locked(state, |state, deferred| state.offer(item, deferred))
            }
        }
    }

    /// Puts an item in if exactly one receiver has to be notified, and wakes it after releasing the lock.
    #[inline]
    fn offer_to_waiting<'a>(
        &self,
        mut state: StateGuard<'a, T>,
        item: T,
    ) -> Result<(), (StateGuard<'a, T>, T)> {
        match state.offer_to_waiting(item, &self.batch) {
            Ok(receiver) => {
                drop(state);
                job::wake(receiver);
                Ok(())
            }
            Err(item) => Err((state, item)),
        }
    }

    /// Sends from the front as many items as there is room for, and no room for others that were notified of it.
    pub(super) fn try_send_many(&self, items: &mut VecDeque<T>) -> Result<(), TrySendError<()>> {
        loop {
            let sent = self.step(|state, deferred| {
                while !deferred.has_dropped()
                    && let Some(item) = items.pop_front()
                {
                    if state.room_for(None) == 0 {
                        items.push_front(item);
                        return Err(TrySendError::Full(()));
                    }
                    if let Err(error) = state.offer(item, deferred) {
                        let is_full = error.is_full();
                        items.push_front(error.into_inner());
                        return Err(if is_full {
                            TrySendError::Full(())
                        } else {
                            TrySendError::Closed(())
                        });
                    }
                }
                Ok(())
            });
            if sent.is_err() || items.is_empty() {
                return sent;
            }
        }
    }

    /// Inlined into the tasks that send, as the poll of [`SendFuture`](crate::channel::future::SendFuture) is.
    #[inline(always)]
    pub(super) fn poll_send(
        &self,
        sending: &mut Sending<T>,
        cx: &Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        let item = sending.item.take();
        let mut state = self.state.lock_patiently();
        if let Some(item) = item {
            match state.offer_fast(item, &self.batch) {
                Offered::In => return Poll::Ready(Ok(())),
                Offered::Full(item) | Offered::NeedsSlowPath(item) => sending.item = Some(item),
            }
        }
        self.poll_send_locked(state, sending, cx)
    }

    #[inline(never)]
    fn poll_send_locked(
        &self,
        mut state: StateGuard<'_, T>,
        sending: &mut Sending<T>,
        cx: &Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        if let Some(item) = sending.item.take() {
            match self.offer_to_waiting(state, item) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err((guard, item)) => {
                    state = guard;
                    sending.item = Some(item);
                }
            }
        }
        self.step_locked(state, |state, deferred| {
            state.poll_send(sending, cx.waker(), deferred)
        })
    }

    /// Gives a send up; returns the item if no receiver has taken it.
    #[inline]
    pub(super) fn cancel_send(&self, sending: &mut Sending<T>) -> Option<T> {
        if sending.key.is_none() {
            return sending.item.take();
        }
        self.leave_send(sending)
    }

    #[cold]
    fn leave_send(&self, sending: &mut Sending<T>) -> Option<T> {
        self.step(|state, deferred| state.leave_send(sending, deferred))
    }

    #[inline]
    pub(super) fn try_recv(&self) -> Result<T, TryRecvError> {
        if let Some(item) = self.batch.take_fast() {
            return Ok(item);
        }
        self.try_recv_and_note(&Seen::default())
    }

    /// Whether the state was locked since `seen` was noted, by a thread that has let it go: an empty channel may have an item
    /// now. A look that does not take the cache line away from senders.
    #[inline]
    pub(super) fn may_have_changed(&self, seen: &Seen) -> bool {
        let version = self.state.version();
        version.is_some() && version != seen.version.get()
    }

    /// As [`try_recv`](Self::try_recv), and notes what was seen.
    #[inline]
    pub(super) fn try_recv_and_note(&self, seen: &Seen) -> Result<T, TryRecvError> {
        let mut state = self.state.lock();
        seen.version.set(Some(ShortLock::version_after(&state)));
        match self.take_fast(&mut state) {
            Taken::Item(item) => Ok(item),
            Taken::Empty => Err(TryRecvError::Empty),
            Taken::NeedsSlowPath => self.try_recv_locked(state),
        }
    }

    /// Takes an item from the buffer and moves the rest into the batch, if the batch is empty and no full step is
    /// needed.
    #[inline]
    fn take_fast(&self, state: &mut State<T>) -> Taken<T> {
        if self.batch.len() > 0 {
            return Taken::NeedsSlowPath;
        }
        let taken = state.take_fast();
        if let Taken::Item(_) = taken {
            state.fill(&self.batch);
        }
        taken
    }

    #[inline(never)]
    fn try_recv_locked(&self, state: StateGuard<'_, T>) -> Result<T, TryRecvError> {
        self.step_locked(state, |state, deferred| {
            state.take(deferred).ok_or_else(|| nothing(state))
        })
    }

    /// Receives the available items, up to `max`.
    pub(super) fn try_recv_many(
        &self,
        items: &mut Vec<T>,
        max: usize,
    ) -> Result<usize, TryRecvError> {
        items.reserve(self.buffered().min(max));
        self.step(
            |state, deferred| match take_many(state, deferred, items, max) {
                Some(count) => Ok(count),
                None if max == 0 => Ok(0),
                None => Err(nothing(state)),
            },
        )
    }

    #[inline]
    pub(super) fn poll_recv(
        &self,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        if waiter.is_none()
            && let Some(item) = self.batch.take_fast()
        {
            return Poll::Ready(Ok(item));
        }
        self.poll_recv_outside_batch(waiter, cx)
    }

    /// One attempt of a receive that has waited, or has found the batch empty. Not inlined, so that the step before is
    /// small enough to be.
    #[inline(never)]
    fn poll_recv_outside_batch(
        &self,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        let mut state = self.state.lock_patiently();
        if waiter.is_none()
            && let Taken::Item(item) = self.take_fast(&mut state)
        {
            return Poll::Ready(Ok(item));
        }
        self.poll_recv_locked(state, waiter, cx)
    }

    #[inline]
    fn poll_recv_locked(
        &self,
        mut state: StateGuard<'_, T>,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        if self.batch.len() > 0 {
            // A full step is needed.
        } else if waiter.is_none() {
            *waiter = state.wait_fast(cx.waker());
            if waiter.is_some() {
                return Poll::Pending;
            }
        } else if let Some(item) = state.take_as_notified(waiter) {
            return Poll::Ready(Ok(item));
        }
        self.step_locked(state, |state, deferred| {
            state.poll_receive(waiter, cx.waker(), deferred, State::take)
        })
    }

    pub(super) fn poll_recv_many(
        &self,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
        items: &mut Vec<T>,
        max: usize,
    ) -> Poll<Result<usize, RecvError>> {
        if max == 0 {
            return Poll::Ready(Ok(0));
        }
        items.reserve(self.buffered().min(max));
        self.step(|state, deferred| {
            let max = max.min(state.items_for(waiter.as_ref()));
            state.poll_receive(waiter, cx.waker(), deferred, |state, deferred| {
                take_many(state, deferred, items, max)
            })
        })
    }

    /// Gives a receive up.
    #[inline]
    pub(super) fn cancel_recv(&self, waiter: &mut Option<WaiterKey>) {
        if waiter.is_some() {
            self.leave_receive(waiter);
        }
    }

    #[cold]
    fn leave_receive(&self, waiter: &mut Option<WaiterKey>) {
        self.step(|state, deferred| state.leave_receive(waiter, deferred));
    }

    pub(super) fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> Result<R, TryRecvError> {
        let full = self.lock_batch(self.state.lock());
        match full.state.first() {
            Some(item) => Ok(look(item)),
            None => Err(nothing(&full.state)),
        }
    }

    /// One attempt of a waiter that neither sends nor receives; `result` is what it learns.
    pub(super) fn poll_until<R>(
        &self,
        until: Until,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
        result: impl FnOnce(&State<T>) -> R,
    ) -> Poll<R> {
        self.step(|state, deferred| {
            let polled = state.poll_until(until, waiter, cx.waker(), deferred);
            polled.map(|()| result(state))
        })
    }

    /// Gives such a wait up.
    pub(super) fn cancel_until(&self, until: Until, waiter: &mut Option<WaiterKey>) {
        if waiter.is_some() {
            self.step(|state, deferred| state.leave_until(until, waiter, deferred));
        }
    }

    pub(super) fn close(&self) -> bool {
        self.step(|state, deferred| state.close(None, deferred))
    }

    pub(super) fn close_with(&self, reason: Box<dyn Error + Send + Sync>) -> bool {
        self.step(|state, deferred| state.close(Some(reason.into()), deferred))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed().is_some()
    }

    pub(super) fn buffered(&self) -> usize {
        let state = self.state.lock();
        self.batch.len() + state.buffered()
    }

    pub(super) fn add_sender(&self) {
        self.state.lock().add_sender();
    }

    /// As [`add_sender`](Self::add_sender), unless the last one is gone.
    pub(super) fn add_sender_to_others(&self) -> bool {
        self.state.lock().add_sender_to_others()
    }

    pub(super) fn remove_sender(&self) {
        let end = self.record.removing_an_end();
        self.step(|state, deferred| {
            state.remove_sender(deferred);
            end.note_last(state.has_no_ends());
        });
    }

    pub(super) fn add_receiver(&self) {
        self.state.lock().add_receiver();
    }

    pub(super) fn remove_receiver(&self) {
        let end = self.record.removing_an_end();
        let left = self.step(|state, deferred| {
            let left = state.remove_receiver(deferred);
            end.note_last(state.has_no_ends());
            left
        });
        // The items that are left are dropped here, where no lock is held.
        drop(left);
    }
}

#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
impl<T> crate::recording::ObservedChannel for ChannelInner<T> {
    fn load(&self) -> Option<crate::recording::ChannelLoad> {
        let state = self.state.try_lock()?;
        Some(state.load(self.batch.len()))
    }
}

impl<T> Drop for FullGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(mut batch) = self.batch.take() {
            batch.swap(self.state.batch_items_mut());
            batch.leave(self.state.batch_fast_recv_above());
        }
    }
}

/// Takes up to `max` items; `None` if there are none.
fn take_many<T>(
    state: &mut State<T>,
    deferred: &mut DeferredWakes<T>,
    items: &mut Vec<T>,
    max: usize,
) -> Option<usize> {
    let before = items.len();
    items.extend(std::iter::from_fn(|| state.take(deferred)).take(max));
    let count = items.len() - before;
    (count > 0).then_some(count)
}

/// Why there is nothing to receive.
fn nothing<T>(state: &State<T>) -> TryRecvError {
    state
        .closed()
        .map_or(TryRecvError::Empty, |closed| closed.clone().into())
}

impl<T> fmt::Debug for ChannelInner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("len", &self.buffered())
            .field("capacity", &self.capacity)
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
