//! What the ends of a channel share: the state under its lock, and the work that follows once the lock is released.
//!
//! # Threads
//! Any thread may call anything. An operation takes a fast path, or one or a few [full steps](ChannelInner::step). A full
//! step locks the state and the receiver batch, changes the state, settles, and releases both locks. Only then it wakes
//! threads, drops wakers and reasons, and passes dropped items to the user. No user code runs under the lock but the
//! comparisons of a prioritized channel and the closure given to `peek`. Held by
//! `tests/it/channel_lock.rs::items_may_use_their_channel_when_they_are_dropped`,
//! `tests/it/channel_lock.rs::wakers_may_use_the_channel_when_they_are_woken_and_when_they_are_dropped` and
//! `tests/it/channel_lock.rs::a_clone_of_a_waker_waits_for_a_task_that_uses_the_channel`.
//!
//! # Ordering
//! The lock guards all state but the receiver batch, which has a lock of its own. A thread that takes both locks takes
//! the state's first. A receive from the batch takes only the batch's lock.
//!
//! Not here: the operations of each end (`inner/sending.rs`, `inner/receiving.rs`).

mod receiving;
mod sending;

use crate::channel::receiver_batch::ReceiverBatchGuard;
use crate::channel::state::State;
use crate::channel::thread::Retries;
use crate::channel::{
    CloseReason, DeferredWakes, ItemBuffer, PollWaker, ReceiverBatch, Until, WaiterKey, WhenFull,
};
use crate::recording::ChannelRecord;
use crate::sync::{Padded, ShortGuard, ShortLock};
use std::fmt;
use std::task::{Context, Poll};

/// What the ends of a channel share.
pub(super) struct ChannelInner<T> {
    state: Padded<ShortLock<State<T>>>,
    /// Only a holder of the state's lock fills it.
    batch: Padded<ReceiverBatch<T>>,
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
    version: Option<u32>,
    /// Items in the batch.
    batch_len: usize,
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
            batch: Padded(ReceiverBatch::new(capacity / 2)),
            capacity,
            send_retries: Retries::new(),
            receive_retries: Retries::new(),
            on_drop,
            record: ChannelRecord::default(),
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
            batch.swap(&mut full.state.batch_items);
            full.batch = Some(batch);
        }
        full
    }

    /// One attempt of a waiter that neither sends nor receives; `result` is what it learns.
    pub(super) fn poll_until<R>(
        &self,
        until: Until,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
        result: fn(&State<T>) -> R,
    ) -> Poll<R> {
        let mut by = PollWaker::of(cx);
        self.step(|state, deferred| {
            let polled = state.poll_until(until, waiter, &mut by, deferred);
            polled.map(|()| result(state))
        })
    }

    /// Gives such a wait up.
    pub(super) fn cancel_until(&self, until: Until, waiter: &mut Option<WaiterKey>) {
        if waiter.is_some() {
            self.step(|state, deferred| deferred.stale = state.list_of(until).give_up(waiter));
        }
    }

    pub(super) fn close(&self, mut reason: Option<CloseReason>) -> bool {
        // A reason that comes too late is dropped here, where no lock is held.
        self.step(|state, deferred| state.close(&mut reason, deferred))
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed.is_some()
    }

    pub(super) fn buffered(&self) -> usize {
        let state = self.state.lock();
        self.batch.len() + state.buffered()
    }

    /// Adds a sender, unless the last one is gone; returns whether it did.
    pub(super) fn add_sender(&self) -> bool {
        let mut state = self.state.lock();
        let has_others = state.sender_count > 0;
        state.sender_count += usize::from(has_others);
        has_others
    }

    pub(super) fn remove_sender(&self) {
        let is_last = self.step(State::remove_sender);
        self.record.end_removed(is_last);
    }

    pub(super) fn add_receiver(&self) {
        self.state.lock().receiver_count += 1;
    }

    pub(super) fn remove_receiver(&self) {
        let (is_last, left) = self.step(State::remove_receiver);
        self.record.end_removed(is_last);
        // The items that are left are dropped here, where no lock is held.
        drop(left);
    }
}

#[cfg(feature = "inspect")]
impl<T> crate::recording::ObservedChannel for ChannelInner<T> {
    fn load(&self) -> Option<manyhands_wire::Load> {
        let state = self.state.try_lock()?;
        Some(state.load(self.batch.len()))
    }
}

impl<T> Drop for FullGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(mut batch) = self.batch.take() {
            batch.swap(&mut self.state.batch_items);
            batch.leave(self.state.batch_fast_recv_above());
        }
    }
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
