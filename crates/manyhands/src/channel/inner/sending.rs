//! Sends under the channel's lock: a fast path each, and a full step where that may not go on.
//!
//! Not here: what a step does (`state.rs`), and the futures and threads that wait (`future.rs`, `thread.rs`).

use crate::channel::inner::StateGuard;
use crate::channel::{ChannelInner, Offered, PollWaker, Seen, SendError, Sending, TrySendError};
use crate::job;
use crate::sync::ShortLock;
use crate::task::is_task;
use std::collections::VecDeque;
use std::task::{Context, Poll};

impl<T> ChannelInner<T> {
    #[inline]
    pub(in crate::channel) fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        self.try_send_by(item, |state, item| state.offer_fast(item, &self.batch))
    }

    /// As [`try_send`](Self::try_send), and notes what was seen.
    pub(in crate::channel) fn try_send_and_note(
        &self,
        item: T,
        seen: &mut Seen,
    ) -> Result<(), TrySendError<T>> {
        self.try_send_by(item, |state, item| {
            seen.version = Some(ShortLock::version_after(state));
            seen.batch_len = self.batch.len();
            state.offer_fast(item, &self.batch)
        })
    }

    /// As [`may_have_changed`](Self::may_have_changed): a full channel may have room now.
    pub(in crate::channel) fn may_have_room(&self, seen: &Seen) -> bool {
        self.may_have_changed(seen) || self.batch.len() != seen.batch_len
    }

    /// As [`try_send`](Self::try_send), but may report a full channel although receivers have just made room: it does
    /// not read the batch's length, which receivers write.
    #[inline]
    pub(in crate::channel) fn try_send_to_known_room(
        &self,
        item: T,
    ) -> Result<(), TrySendError<T>> {
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
    fn try_send_locked(
        &self,
        mut state: StateGuard<'_, T>,
        item: T,
    ) -> Result<(), TrySendError<T>> {
        match state.offer_to_waiting(item, &self.batch) {
            Ok(receiver) => {
                drop(state);
                job::wake(receiver);
                Ok(())
            }
            Err(item) => self.step_locked(state, |state, deferred| state.offer(item, deferred)),
        }
    }

    /// Sends from the front as many items as there is room for, and no room for others that were notified of it.
    pub(in crate::channel) fn try_send_many(
        &self,
        items: &mut VecDeque<T>,
    ) -> Result<(), TrySendError<()>> {
        loop {
            let sent = self.step(|state, deferred| {
                while deferred.dropped.is_none()
                    && deferred.panic.is_none()
                    && let Some(item) = items.pop_front()
                {
                    let sent = match state.room_for(None) {
                        0 => Err(TrySendError::Full(item)),
                        _ => state.offer(item, deferred),
                    };
                    let (item, error) = match sent {
                        Ok(()) => continue,
                        Err(TrySendError::Full(item)) => (item, TrySendError::Full(())),
                        Err(TrySendError::Closed(item)) => (item, TrySendError::Closed(())),
                    };
                    items.push_front(item);
                    return Err(error);
                }
                Ok(())
            });
            if sent.is_err() || items.is_empty() {
                return sent;
            }
        }
    }

    /// Inlined into the tasks that send, as the poll of its future is.
    #[inline(always)]
    pub(in crate::channel) fn poll_send(
        &self,
        sending: &mut Sending<T>,
        cx: &Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        let item = sending.item.take();
        let mut state = self.state.lock_patiently();
        if let Some(item) = item {
            match state.offer_in_poll(item, &self.batch) {
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
            match state.offer_to_waiting(item, &self.batch) {
                Ok(receiver) => {
                    drop(state);
                    job::wake(receiver);
                    return Poll::Ready(Ok(()));
                }
                Err(item) => sending.item = Some(item),
            }
        }
        let mut by;
        let state = if is_task(cx.waker()) {
            by = PollWaker::of(cx);
            state
        } else {
            drop(state);
            by = PollWaker::of(cx);
            self.state.lock_patiently()
        };
        self.step_locked(state, |state, deferred| {
            state.poll_send(sending, &mut by, deferred)
        })
    }

    /// Gives a send up; returns the item if no receiver has taken it.
    #[inline]
    pub(in crate::channel) fn cancel_send(&self, sending: &mut Sending<T>) -> Option<T> {
        if sending.key.is_none() {
            return sending.item.take();
        }
        self.leave_send(sending)
    }

    #[cold]
    fn leave_send(&self, sending: &mut Sending<T>) -> Option<T> {
        self.step(|state, deferred| state.leave_send(sending, deferred))
    }
}
