//! The futures and the stream of a receiver.

use crate::channel::RecvError;
use crate::channel::future::{note_end, note_wait};
use crate::channel::wait_list::WaiterKey;
use crate::channel::watch::Receiver;
use crate::recording::{self, WaitKind};
use futures_core::future::FusedFuture;
use futures_core::stream::{FusedStream, Stream};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Waits for a change; made by [`Receiver::changed`].
pub(super) struct ChangedFuture<'a, T> {
    receiver: &'a mut Receiver<T>,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<'a, T> ChangedFuture<'a, T> {
    pub(super) fn new(receiver: &'a mut Receiver<T>) -> Self {
        Self {
            receiver,
            waiter: None,
            is_over: false,
        }
    }
}

impl<T> Future for ChangedFuture<'_, T> {
    type Output = Result<Arc<T>, RecvError>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.is_over, "`changed` polled after completion");
        let this = &mut *self;
        let polled = this.receiver.poll_changed(&mut this.waiter, cx);
        let channel = &*this.receiver.shared;
        note_wait(&polled, this, channel, cx, WaitKind::Receive);
        let result = ready!(polled);
        this.is_over = true;
        Poll::Ready(result)
    }
}

impl<T> FusedFuture for ChangedFuture<'_, T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for ChangedFuture<'_, T> {
    fn drop(&mut self) {
        recording::forget(self);
        self.receiver.cancel_changed(&mut self.waiter);
    }
}

impl<T> fmt::Debug for ChangedFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangedFuture")
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

/// Waits for a value that a closure wants; made by [`Receiver::wait_for`].
pub(super) struct WaitForFuture<'a, T, F> {
    receiver: &'a mut Receiver<T>,
    is_wanted: F,
    /// The first value to look at is the current one, even if the receiver has seen it.
    has_looked: bool,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<'a, T, F: FnMut(&T) -> bool> WaitForFuture<'a, T, F> {
    pub(super) fn new(receiver: &'a mut Receiver<T>, is_wanted: F) -> Self {
        Self {
            receiver,
            is_wanted,
            has_looked: false,
            waiter: None,
            is_over: false,
        }
    }

    /// Looks at one value after the other. Each uses up a part of the task's budget.
    fn poll_wanted(&mut self, cx: &mut Context<'_>) -> Poll<Result<Arc<T>, RecvError>> {
        loop {
            let value = if self.has_looked {
                match ready!(self.receiver.poll_changed(&mut self.waiter, cx)) {
                    Ok(value) => value,
                    closed => return Poll::Ready(closed),
                }
            } else {
                let value = ready!(self.receiver.poll_latest(cx));
                self.has_looked = true;
                value
            };
            if (self.is_wanted)(&value) {
                return Poll::Ready(Ok(value));
            }
        }
    }
}

impl<T, F: FnMut(&T) -> bool> Future for WaitForFuture<'_, T, F> {
    type Output = Result<Arc<T>, RecvError>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.is_over, "`wait_for` polled after completion");
        let this = &mut *self;
        let polled = this.poll_wanted(cx);
        let channel = &*this.receiver.shared;
        note_wait(&polled, this, channel, cx, WaitKind::Receive);
        let result = ready!(polled);
        this.is_over = true;
        Poll::Ready(result)
    }
}

/// The closure is never pinned.
impl<T, F> Unpin for WaitForFuture<'_, T, F> {}

impl<T, F: FnMut(&T) -> bool> FusedFuture for WaitForFuture<'_, T, F> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T, F> Drop for WaitForFuture<'_, T, F> {
    fn drop(&mut self) {
        recording::forget(self);
        self.receiver.cancel_changed(&mut self.waiter);
    }
}

impl<T, F> fmt::Debug for WaitForFuture<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitForFuture")
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

/// Each change, until the channel is closed; [`Receiver::stream`] and [`Receiver::into_stream`] make it.
pub(super) struct ChangedStream<T> {
    receiver: Receiver<T>,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<T> ChangedStream<T> {
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        Self {
            receiver,
            waiter: None,
            is_over: false,
        }
    }
}

impl<T> Stream for ChangedStream<T> {
    type Item = Arc<T>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Arc<T>>> {
        let this = &mut *self;
        let has_waited = this.waiter.is_some();
        let polled = this.receiver.poll_changed(&mut this.waiter, cx);
        let channel = &*this.receiver.shared;
        note_wait(&polled, this, channel, cx, WaitKind::Receive);
        if has_waited {
            note_end(&polled, this);
        }
        let result = ready!(polled);
        this.is_over = result.is_err();
        Poll::Ready(result.ok())
    }
}

impl<T> FusedStream for ChangedStream<T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for ChangedStream<T> {
    fn drop(&mut self) {
        recording::forget(self);
        self.receiver.cancel_changed(&mut self.waiter);
    }
}
