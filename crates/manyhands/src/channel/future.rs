//! The futures of a channel's ends. Each poll is one attempt; dropping a future gives its wait-list entry back. All
//! futures are `Unpin`: items are never pinned.
//!
//! The polls of one send and one receive are inlined into the task, down to the item's way into or out of the channel: the
//! calls would be a tenth of what a message takes. What is needed once in many messages is a call.

use crate::channel::state::State;
use crate::channel::{
    ChannelInner, RecvError, SendError, Sending, TrySendError, Until, WaiterKey, thread,
};
use crate::recording::{self, Awaited, WaitKind};
use crate::sync::clock;
use crate::task::budget::{self, Permit};
use futures_core::future::FusedFuture;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// What leads to a channel.
pub(crate) trait End {
    /// The channel's address.
    fn channel(&self) -> *const ();
}

/// What an end of a channel does in a future, by what leads there.
pub(super) trait Operation<R> {
    type Output;

    /// What it waits for: most operations receive.
    fn kind(&self) -> WaitKind {
        WaitKind::Receive
    }

    /// One attempt.
    fn poll(&mut self, end: &mut R, cx: &Context<'_>) -> Poll<Self::Output>;

    /// Charges the task's budget for what was done.
    #[inline]
    fn charge(permit: Permit) {
        permit.charge();
    }

    /// Gives up.
    fn cancel(&mut self, end: &mut R);
}

/// The future of an operation.
pub(super) struct ChannelFuture<R, O: Operation<R>> {
    end: R,
    operation: O,
    is_over: bool,
}

impl<R: Deref<Target: End>, O: Operation<R>> ChannelFuture<R, O> {
    pub(super) fn new(end: R, operation: O) -> Self {
        Self {
            end,
            operation,
            is_over: false,
        }
    }

    /// Waits on the calling thread.
    #[cfg_attr(feature = "inspect", track_caller)]
    pub(super) fn wait(mut self) -> O::Output {
        let ready = thread::wait_until(None, |cx| Pin::new(&mut self).poll(cx));
        ready.expect("a wait without end is over when it is ready")
    }

    /// As [`wait`](Self::wait), for about `limit`; `None` when the time is over.
    #[cfg_attr(feature = "inspect", track_caller)]
    pub(super) fn wait_for(&mut self, limit: Duration) -> Option<O::Output> {
        // A time beyond the clock's range never comes.
        let end = clock::now().checked_add(limit);
        thread::wait_until(end, |cx| Pin::new(&mut *self).poll(cx))
    }
}

impl<T> ChannelFuture<&ChannelInner<T>, Sending<T>> {
    /// Gives up; returns the item if it was not sent.
    pub(super) fn cancel(&mut self) -> Option<T> {
        self.end.cancel_send(&mut self.operation)
    }
}

impl<R: Deref<Target: End>, O: Operation<R>> Future for ChannelFuture<R, O> {
    type Output = O::Output;

    #[inline(always)]
    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<O::Output> {
        assert!(!self.is_over, "channel future polled after completion");
        let permit = ready!(budget::poll_proceed(cx));
        let this = &mut *self;
        let polled = this.operation.poll(&mut this.end, cx);
        note_wait(&polled, this, this.end.channel(), cx, this.operation.kind());
        let result = ready!(polled);
        O::charge(permit);
        this.is_over = true;
        Poll::Ready(result)
    }
}

impl<R: Deref<Target: End>, O: Operation<R>> FusedFuture for ChannelFuture<R, O> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<R, O: Operation<R>> Drop for ChannelFuture<R, O> {
    #[inline]
    fn drop(&mut self) {
        recording::forget(self);
        self.operation.cancel(&mut self.end);
    }
}

impl<R, O: Operation<R>> Unpin for ChannelFuture<R, O> {}

impl<R, O: Operation<R>> fmt::Debug for ChannelFuture<R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelFuture")
            .field("kind", &self.operation.kind())
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

impl<T> End for ChannelInner<T> {
    fn channel(&self) -> *const () {
        ptr::from_ref(self).cast()
    }
}

impl<T> Operation<&ChannelInner<T>> for Sending<T> {
    type Output = Result<(), SendError<T>>;

    fn kind(&self) -> WaitKind {
        WaitKind::Send
    }

    #[inline(always)]
    fn poll(&mut self, end: &mut &ChannelInner<T>, cx: &Context<'_>) -> Poll<Self::Output> {
        end.poll_send(self, cx)
    }

    #[inline]
    fn cancel(&mut self, end: &mut &ChannelInner<T>) {
        drop(end.cancel_send(self));
    }
}

/// Sends many items.
pub(super) struct SendingMany<'a, T> {
    items: &'a mut VecDeque<T>,
    sending: Sending<T>,
}

impl<'a, T> SendingMany<'a, T> {
    pub(super) fn new(items: &'a mut VecDeque<T>) -> Self {
        let sending = Sending::new(None);
        Self { items, sending }
    }
}

impl<T> Operation<&ChannelInner<T>> for SendingMany<'_, T> {
    type Output = Result<(), SendError<()>>;

    fn kind(&self) -> WaitKind {
        WaitKind::Send
    }

    fn poll(&mut self, end: &mut &ChannelInner<T>, cx: &Context<'_>) -> Poll<Self::Output> {
        loop {
            if self.sending.is_some()
                && let Err(SendError(item)) = ready!(end.poll_send(&mut self.sending, cx))
            {
                self.items.push_front(item);
                return Poll::Ready(Err(SendError(())));
            }
            match end.try_send_many(self.items) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(TrySendError::Closed(())) => return Poll::Ready(Err(SendError(()))),
                Err(TrySendError::Full(())) => self.sending.item = self.items.pop_front(),
            }
        }
    }

    fn cancel(&mut self, end: &mut &ChannelInner<T>) {
        if let Some(item) = end.cancel_send(&mut self.sending) {
            self.items.push_front(item);
        }
    }
}

/// Receives one item.
#[derive(Default)]
pub(super) struct Receiving {
    waiter: Option<WaiterKey>,
}

impl<T> Operation<&ChannelInner<T>> for Receiving {
    type Output = Result<T, RecvError>;

    #[inline(always)]
    fn poll(&mut self, end: &mut &ChannelInner<T>, cx: &Context<'_>) -> Poll<Self::Output> {
        end.poll_recv(&mut self.waiter, cx)
    }

    #[inline]
    fn charge(permit: Permit) {
        permit.charge_half();
    }

    #[inline]
    fn cancel(&mut self, end: &mut &ChannelInner<T>) {
        end.cancel_recv(&mut self.waiter);
    }
}

/// Receives up to `max` items.
pub(super) struct ReceivingMany<'a, T> {
    items: &'a mut Vec<T>,
    max: usize,
    waiter: Option<WaiterKey>,
}

impl<'a, T> ReceivingMany<'a, T> {
    pub(super) fn new(items: &'a mut Vec<T>, max: usize) -> Self {
        Self {
            items,
            max,
            waiter: None,
        }
    }
}

impl<T> Operation<&ChannelInner<T>> for ReceivingMany<'_, T> {
    type Output = Result<usize, RecvError>;

    fn poll(&mut self, end: &mut &ChannelInner<T>, cx: &Context<'_>) -> Poll<Self::Output> {
        end.poll_recv_many(&mut self.waiter, cx, self.items, self.max)
    }

    fn cancel(&mut self, end: &mut &ChannelInner<T>) {
        end.cancel_recv(&mut self.waiter);
    }
}

/// Waits, and takes nothing.
pub(super) struct Waiting<T, R> {
    until: Until,
    waiter: Option<WaiterKey>,
    result: fn(&State<T>) -> R,
}

impl<T> ChannelInner<T> {
    /// Waits, and takes nothing; `result` is what the caller learns.
    pub(super) fn until<R>(
        &self,
        until: Until,
        result: fn(&State<T>) -> R,
    ) -> ChannelFuture<&Self, Waiting<T, R>> {
        let waiting = Waiting {
            until,
            waiter: None,
            result,
        };
        ChannelFuture::new(self, waiting)
    }
}

impl<T, R> Operation<&ChannelInner<T>> for Waiting<T, R> {
    type Output = R;

    fn kind(&self) -> WaitKind {
        match self.until {
            Until::Writable => WaitKind::Send,
            Until::Readable => WaitKind::Receive,
            Until::Closed | Until::Drained => WaitKind::ChannelEnd,
        }
    }

    fn poll(&mut self, end: &mut &ChannelInner<T>, cx: &Context<'_>) -> Poll<R> {
        end.poll_until(self.until, &mut self.waiter, cx, self.result)
    }

    fn cancel(&mut self, end: &mut &ChannelInner<T>) {
        end.cancel_until(self.until, &mut self.waiter);
    }
}

/// Records that `future` waits for the channel at this address, if it does.
#[inline]
#[cfg_attr(feature = "inspect", track_caller)]
pub(super) fn note_wait<R, F>(
    polled: &Poll<R>,
    future: &F,
    channel: *const (),
    cx: &Context<'_>,
    kind: WaitKind,
) {
    if polled.is_pending() {
        recording::waits(future, cx.waker(), || Awaited::Thing(kind, channel.addr()));
    }
}
