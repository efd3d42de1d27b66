//! The next thing that every receiver of a channel sees, as a future's operation and as a stream: of broadcast and watch
//! channels.
//!
//! Not here: the future (`future.rs`), and the wait for a certain value (`watch/wait_for.rs`).

use crate::channel::future::{End, Operation, note_end, note_wait};
use crate::channel::subscribers::HasSubscribers;
use crate::channel::wait_list::WaiterKey;
use crate::recording::{self, WaitKind};
use crate::sync::ShortLock;
use crate::task::budget;
use futures_core::stream::{FusedStream, Stream};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

/// A receiver that sees all that is sent.
pub(super) trait Subscriber: End {
    type State: HasSubscribers;
    /// What it receives, or why it cannot.
    type Received;
    /// What its stream gives.
    type Item;

    fn shared(&self) -> &ShortLock<Self::State>;

    /// One attempt.
    fn poll_next(&mut self, waiter: &mut Option<WaiterKey>, waker: &Waker) -> Poll<Self::Received>;

    /// For the stream; `None` at its end.
    fn item(received: Self::Received) -> Option<Self::Item>;

    /// Gives a wait up.
    fn leave(&self, waiter: &mut Option<WaiterKey>) {
        if waiter.is_some() {
            let wakers = self.shared().lock().subscribers().leave(waiter);
            wakers.wake();
        }
    }
}

/// Waits for what comes next.
#[derive(Default)]
pub(super) struct Next {
    waiter: Option<WaiterKey>,
}

impl<S: Subscriber> Operation<&mut S> for Next {
    type Output = S::Received;

    fn kind(&self) -> WaitKind {
        WaitKind::Receive
    }

    fn poll(&mut self, end: &mut &mut S, cx: &Context<'_>) -> Poll<S::Received> {
        end.poll_next(&mut self.waiter, cx.waker())
    }

    fn cancel(&mut self, end: &mut &mut S) {
        end.leave(&mut self.waiter);
    }
}

/// All that comes, as a stream of `futures`.
pub(super) struct NextStream<S: Subscriber> {
    receiver: S,
    waiter: Option<WaiterKey>,
    is_over: bool,
}

impl<S: Subscriber> NextStream<S> {
    pub(super) fn new(receiver: S) -> Self {
        Self {
            receiver,
            waiter: None,
            is_over: false,
        }
    }
}

impl<S: Subscriber + Unpin> Stream for NextStream<S> {
    type Item = S::Item;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let permit = ready!(budget::poll_proceed(cx));
        let this = &mut *self;
        let has_waited = this.waiter.is_some();
        let polled = this.receiver.poll_next(&mut this.waiter, cx.waker());
        let channel = this.receiver.channel();
        note_wait(&polled, this, channel, cx, WaitKind::Receive);
        if has_waited {
            note_end(&polled, this);
        }
        let item = S::item(ready!(polled));
        permit.charge();
        this.is_over = item.is_none();
        Poll::Ready(item)
    }
}

impl<S: Subscriber + Unpin> FusedStream for NextStream<S> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<S: Subscriber> Drop for NextStream<S> {
    fn drop(&mut self) {
        recording::forget(self);
        self.receiver.leave(&mut self.waiter);
    }
}
