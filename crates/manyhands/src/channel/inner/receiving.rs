//! Receives: from the batch without the channel's lock, else under it by a fast path, else by a full step.
//!
//! Not here: what a step does (`state.rs`), and the futures and threads that wait (`future.rs`, `thread.rs`).

use crate::channel::inner::StateGuard;
use crate::channel::state::State;
use crate::channel::{
    ChannelInner, DeferredWakes, PollWaker, RecvError, Seen, Taken, TryRecvError, WaiterKey,
};
use crate::sync::ShortLock;
use std::task::{Context, Poll};

impl<T> ChannelInner<T> {
    #[inline]
    pub(in crate::channel) fn try_recv(&self) -> Result<T, TryRecvError> {
        if let Some(item) = self.batch.take_fast() {
            return Ok(item);
        }
        self.try_recv_and_note(&mut Seen::default())
    }

    /// Whether the state was locked since `seen` was noted, by a thread that has let it go: an empty channel may have an item
    /// now. A look that does not take the cache line away from senders.
    #[inline]
    pub(in crate::channel) fn may_have_changed(&self, seen: &Seen) -> bool {
        let version = self.state.version();
        version.is_some() && version != seen.version
    }

    /// As [`try_recv`](Self::try_recv), and notes what was seen.
    #[inline]
    pub(in crate::channel) fn try_recv_and_note(&self, seen: &mut Seen) -> Result<T, TryRecvError> {
        let mut state = self.state.lock();
        seen.version = Some(ShortLock::version_after(&state));
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
    pub(in crate::channel) fn try_recv_many(
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
    pub(in crate::channel) fn poll_recv(
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
        let mut by = PollWaker::of(cx);
        let mut state = self.state.lock_patiently();
        if waiter.is_none()
            && let Taken::Item(item) = self.take_fast(&mut state)
        {
            return Poll::Ready(Ok(item));
        }
        if self.batch.len() > 0 {
            // A full step is needed.
        } else if waiter.is_none() {
            *waiter = state.wait_fast(&mut by);
            if waiter.is_some() {
                return Poll::Pending;
            }
        } else if let Some(item) = state.take_as_notified(waiter) {
            return Poll::Ready(Ok(item));
        }
        self.step_locked(state, |state, deferred| {
            state.poll_receive(waiter, &mut by, deferred, State::take)
        })
    }

    pub(in crate::channel) fn poll_recv_many(
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
        let mut by = PollWaker::of(cx);
        self.step(|state, deferred| {
            let max = max.min(state.items_for(waiter.as_ref()));
            state.poll_receive(waiter, &mut by, deferred, |state, deferred| {
                take_many(state, deferred, items, max)
            })
        })
    }

    /// Gives a receive up.
    #[inline]
    pub(in crate::channel) fn cancel_recv(&self, waiter: &mut Option<WaiterKey>) {
        if waiter.is_some() {
            self.leave_receive(waiter);
        }
    }

    #[cold]
    fn leave_receive(&self, waiter: &mut Option<WaiterKey>) {
        self.step(|state, deferred| deferred.stale = state.receivers.give_up(waiter));
    }

    pub(in crate::channel) fn peek<R>(
        &self,
        look: impl FnOnce(&T) -> R,
    ) -> Result<R, TryRecvError> {
        let full = self.lock_batch(self.state.lock());
        match full.state.first() {
            Some(item) => Ok(look(item)),
            None => Err(nothing(&full.state)),
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
    let closed = state.closed.clone();
    closed.map_or(TryRecvError::Empty, TryRecvError::Closed)
}
