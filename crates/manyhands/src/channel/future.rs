//! The futures of a channel's ends. Each poll is one attempt; dropping a future gives its wait-list entry back. All
//! futures are `Unpin`.
//!
//! The polls of one send and one receive are inlined into the task, down to the item's way into or out of the channel: the
//! calls would be a tenth of what a message takes. What is needed once in many messages is a call.

use crate::channel::error::{CloseReason, RecvError, SendError, TrySendError};
use crate::channel::inner::ChannelInner;
use crate::channel::state::State;
use crate::channel::step::{Sending, Until};
use crate::channel::thread;
use crate::channel::wait_list::WaiterKey;
use crate::recording::{self, WaitKind};
use crate::task::budget;
use futures_core::future::FusedFuture;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, ready};

/// Sends one item; made by [`Sender::send`](super::Sender::send).
pub(super) struct SendFuture<'a, T> {
    shared: &'a ChannelInner<T>,
    sending: Sending<T>,
    is_over: bool,
}

impl<'a, T> SendFuture<'a, T> {
    /// `item` is `Some`; it is an option because callers that have tried before have it in one.
    pub(super) fn new(shared: &'a ChannelInner<T>, item: Option<T>) -> Self {
        Self {
            shared,
            sending: Sending { item, key: None },
            is_over: false,
        }
    }

    /// Gives up; returns the item if it was not sent.
    #[inline]
    pub(super) fn cancel(&mut self) -> Option<T> {
        self.shared.cancel_send(&mut self.sending)
    }
}

impl<T> Future for SendFuture<'_, T> {
    type Output = Result<(), SendError<T>>;

    #[inline(always)]
    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        refuse_another_poll(self.is_over);
        let permit = ready!(budget::poll_proceed(cx));
        let this = &mut *self;
        let polled = this.shared.poll_send(&mut this.sending, cx);
        note_wait(&polled, this, this.shared, cx, WaitKind::Send);
        let result = ready!(polled);
        permit.charge();
        this.is_over = true;
        Poll::Ready(result)
    }
}

impl<T> FusedFuture for SendFuture<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for SendFuture<'_, T> {
    #[inline]
    fn drop(&mut self) {
        recording::forget(self);
        drop(self.cancel());
    }
}

/// The item is never pinned.
impl<T> Unpin for SendFuture<'_, T> {}

/// Sends many items; made by [`Sender::send_many`](super::Sender::send_many).
pub(super) struct SendManyFuture<'a, T> {
    shared: &'a ChannelInner<T>,
    items: &'a mut VecDeque<T>,
    /// The item that waits for room, if any.
    sending: Sending<T>,
    is_over: bool,
}

impl<'a, T> SendManyFuture<'a, T> {
    pub(super) fn new(shared: &'a ChannelInner<T>, items: &'a mut VecDeque<T>) -> Self {
        Self {
            shared,
            items,
            sending: Sending::none(),
            is_over: false,
        }
    }

    fn poll_rest(&mut self, cx: &Context<'_>) -> Poll<Result<(), SendError<()>>> {
        loop {
            if self.sending.is_some()
                && let Err(SendError(item)) = ready!(self.shared.poll_send(&mut self.sending, cx))
            {
                self.items.push_front(item);
                return Poll::Ready(Err(SendError(())));
            }
            match self.shared.try_send_many(self.items) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(TrySendError::Closed(())) => return Poll::Ready(Err(SendError(()))),
                Err(TrySendError::Full(())) => self.sending.item = self.items.pop_front(),
            }
        }
    }
}

impl<T> Future for SendManyFuture<'_, T> {
    type Output = Result<(), SendError<()>>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        refuse_another_poll(self.is_over);
        let permit = ready!(budget::poll_proceed(cx));
        let polled = self.poll_rest(cx);
        note_wait(&polled, &*self, self.shared, cx, WaitKind::Send);
        let result = ready!(polled);
        permit.charge();
        self.is_over = true;
        Poll::Ready(result)
    }
}

impl<T> FusedFuture for SendManyFuture<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for SendManyFuture<'_, T> {
    fn drop(&mut self) {
        recording::forget(self);
        if let Some(item) = self.shared.cancel_send(&mut self.sending) {
            self.items.push_front(item);
        }
    }
}

/// The item is never pinned.
impl<T> Unpin for SendManyFuture<'_, T> {}

/// Receives one item; made by [`Receiver::recv`](super::Receiver::recv).
pub(super) struct RecvFuture<'a, T> {
    shared: &'a ChannelInner<T>,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<'a, T> RecvFuture<'a, T> {
    pub(super) fn new(shared: &'a ChannelInner<T>) -> Self {
        Self {
            shared,
            waiter: None,
            is_over: false,
        }
    }
}

impl<T> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    #[inline(always)]
    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        refuse_another_poll(self.is_over);
        let permit = ready!(budget::poll_proceed(cx));
        let this = &mut *self;
        let polled = this.shared.poll_recv(&mut this.waiter, cx);
        note_wait(&polled, this, this.shared, cx, WaitKind::Receive);
        let result = ready!(polled);
        permit.charge_half();
        this.is_over = true;
        Poll::Ready(result)
    }
}

impl<T> FusedFuture for RecvFuture<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for RecvFuture<'_, T> {
    #[inline]
    fn drop(&mut self) {
        recording::forget(self);
        self.shared.cancel_recv(&mut self.waiter);
    }
}

/// Receives many items; made by [`Receiver::recv_many`](super::Receiver::recv_many).
pub(super) struct RecvManyFuture<'a, T> {
    shared: &'a ChannelInner<T>,
    items: &'a mut Vec<T>,
    max: usize,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<'a, T> RecvManyFuture<'a, T> {
    pub(super) fn new(shared: &'a ChannelInner<T>, items: &'a mut Vec<T>, max: usize) -> Self {
        Self {
            shared,
            items,
            max,
            waiter: None,
            is_over: false,
        }
    }
}

impl<T> Future for RecvManyFuture<'_, T> {
    type Output = Result<usize, RecvError>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        refuse_another_poll(self.is_over);
        let permit = ready!(budget::poll_proceed(cx));
        let this = &mut *self;
        let polled = this
            .shared
            .poll_recv_many(&mut this.waiter, cx, this.items, this.max);
        note_wait(&polled, this, this.shared, cx, WaitKind::Receive);
        let result = ready!(polled);
        permit.charge();
        this.is_over = true;
        Poll::Ready(result)
    }
}

impl<T> FusedFuture for RecvManyFuture<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for RecvManyFuture<'_, T> {
    fn drop(&mut self) {
        recording::forget(self);
        self.shared.cancel_recv(&mut self.waiter);
    }
}

/// Waits until a channel is closed, or drained as well; made by `wait_closed` and
/// `wait_drained` of either end.
pub(super) struct EndFuture<'a, T> {
    shared: &'a ChannelInner<T>,
    until: Until,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<'a, T> EndFuture<'a, T> {
    pub(super) fn new(shared: &'a ChannelInner<T>, until: Until) -> Self {
        Self {
            shared,
            until,
            waiter: None,
            is_over: false,
        }
    }

    /// Blocks the thread until ready.
    #[cfg_attr(feature = "inspect", track_caller)]
    pub(super) fn wait(mut self) -> Result<(), CloseReason> {
        thread::wait(|cx| Pin::new(&mut self).poll(cx))
    }
}

impl<T> Future for EndFuture<'_, T> {
    type Output = Result<(), CloseReason>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        refuse_another_poll(self.is_over);
        let permit = ready!(budget::poll_proceed(cx));
        let this = &mut *self;
        let polled = this
            .shared
            .poll_until(this.until, &mut this.waiter, cx, State::end);
        note_wait(&polled, this, this.shared, cx, WaitKind::ChannelEnd);
        let result = ready!(polled);
        permit.charge();
        this.is_over = true;
        Poll::Ready(result)
    }
}

impl<T> FusedFuture for EndFuture<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for EndFuture<'_, T> {
    fn drop(&mut self) {
        recording::forget(self);
        self.shared.cancel_until(self.until, &mut self.waiter);
    }
}

/// Waits until an item can be received, or sent; made by `wait_ready` of either end.
pub(super) struct ReadyFuture<'a, T> {
    shared: &'a ChannelInner<T>,
    until: Until,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<'a, T> ReadyFuture<'a, T> {
    pub(super) fn new(shared: &'a ChannelInner<T>, until: Until) -> Self {
        Self {
            shared,
            until,
            waiter: None,
            is_over: false,
        }
    }

    /// Blocks the thread until ready.
    #[cfg_attr(feature = "inspect", track_caller)]
    pub(super) fn wait(mut self) -> bool {
        thread::wait(|cx| Pin::new(&mut self).poll(cx))
    }
}

impl<T> Future for ReadyFuture<'_, T> {
    type Output = bool;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        refuse_another_poll(self.is_over);
        let permit = ready!(budget::poll_proceed(cx));
        let this = &mut *self;
        let until = this.until;
        let may_go_on = |state: &State<T>| state.may_go_on(until);
        let polled = this
            .shared
            .poll_until(until, &mut this.waiter, cx, may_go_on);
        let kind = match until {
            Until::Writable => WaitKind::Send,
            _ => WaitKind::Receive,
        };
        note_wait(&polled, this, this.shared, cx, kind);
        let result = ready!(polled);
        permit.charge();
        this.is_over = true;
        Poll::Ready(result)
    }
}

impl<T> FusedFuture for ReadyFuture<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for ReadyFuture<'_, T> {
    fn drop(&mut self) {
        recording::forget(self);
        self.shared.cancel_until(self.until, &mut self.waiter);
    }
}

/// Records that `future` waits for `channel`, if it does.
#[inline]
#[cfg_attr(feature = "inspect", track_caller)]
pub(super) fn note_wait<R, F, C>(
    polled: &Poll<R>,
    future: &F,
    channel: &C,
    cx: &Context<'_>,
    kind: WaitKind,
) {
    if polled.is_pending() {
        let resource = ptr::from_ref(channel).addr();
        recording::waits(future, cx.waker(), kind, resource);
    }
}

/// Records that `future`, which has waited and can wait again, does not go on with that wait, if so.
#[inline]
pub(super) fn note_end<R, F>(polled: &Poll<R>, future: &F) {
    if polled.is_ready() {
        recording::forget(future);
    }
}

#[inline]
fn refuse_another_poll(is_over: bool) {
    assert!(!is_over, "channel future polled after completion");
}

macro_rules! debug {
    ($($name:ident),*) => {
        $(impl<T> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("is_over", &self.is_over)
                    .finish_non_exhaustive()
            }
        })*
    };
}

debug!(
    SendFuture,
    SendManyFuture, RecvFuture, RecvManyFuture, EndFuture, ReadyFuture
);
