//! Receiving as a stream of `futures`.

use crate::channel::broadcast::{Receiver, RecvError};
use crate::channel::future::{note_end, note_wait};
use crate::channel::wait_list::WaiterKey;
use crate::recording::{self, WaitKind};
use futures_core::stream::{FusedStream, Stream};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The items of a broadcast channel as a stream; made by [`Receiver::stream`] and [`Receiver::into_stream`].
pub(super) struct RecvStream<T> {
    receiver: Receiver<T>,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<T> RecvStream<T> {
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        Self {
            receiver,
            waiter: None,
            is_over: false,
        }
    }
}

impl<T: Clone> Stream for RecvStream<T> {
    type Item = Result<T, RecvError>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let has_waited = this.waiter.is_some();
        let polled = this.receiver.poll_recv_async(&mut this.waiter, cx);
        let channel = &*this.receiver.shared;
        note_wait(&polled, this, channel, cx, WaitKind::Receive);
        if has_waited {
            note_end(&polled, this);
        }
        let result = ready!(polled);
        Poll::Ready(match result {
            Err(RecvError::Closed(_)) => {
                this.is_over = true;
                None
            }
            received => Some(received),
        })
    }
}

impl<T: Clone> FusedStream for RecvStream<T> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<T> Drop for RecvStream<T> {
    fn drop(&mut self) {
        recording::forget(self);
        self.receiver.cancel_recv(&mut self.waiter);
    }
}
