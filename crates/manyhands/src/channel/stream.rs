//! Receiving as a stream of `futures`, and as an iterator that blocks.

use crate::channel::{Receiver, Receives, RecvError, WaiterKey, note_wait};
use crate::recording::{self, WaitKind};
use crate::task::budget;
use futures_core::stream::{FusedStream, Stream};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The items of a channel as a stream, which ends when the channel is closed and drained.
pub(crate) type RecvStream<T> = NextStream<Receiver<T>, fn(Result<T, RecvError>) -> Option<T>>;

/// All that comes, as a stream.
pub(crate) struct NextStream<E: Receives, F> {
    receiver: E,
    waiter: Option<WaiterKey>,
    /// Makes an item of what comes; `None` at the end.
    item: F,
    is_over: bool,
}

impl<E: Receives, F> NextStream<E, F> {
    pub(crate) fn new(receiver: E, item: F) -> Self {
        Self {
            receiver,
            waiter: None,
            item,
            is_over: false,
        }
    }
}

impl<E: Receives + Unpin, F: Fn(E::Received) -> Option<I> + Unpin, I> Stream for NextStream<E, F> {
    type Item = I;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<I>> {
        let permit = ready!(budget::poll_proceed(cx));
        let this = &mut *self;
        let has_waited = this.waiter.is_some();
        let polled = this.receiver.poll_next(&mut this.waiter, cx);
        let channel = this.receiver.channel();
        note_wait(&polled, this, channel, cx, WaitKind::Receive);
        let received = ready!(polled);
        if has_waited {
            // It can wait again, and does not go on with that wait.
            recording::forget(this);
        }
        E::charge(permit);
        let item = (this.item)(received);
        this.is_over = item.is_none();
        Poll::Ready(item)
    }
}

impl<E: Receives + Unpin, F: Fn(E::Received) -> Option<I> + Unpin, I> FusedStream
    for NextStream<E, F>
{
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<E: Receives, F> Drop for NextStream<E, F> {
    fn drop(&mut self) {
        recording::forget(self);
        self.receiver.leave(&mut self.waiter);
    }
}

/// Receives until the channel is closed and drained, blocking in between; made by [`Receiver::iter`].
#[derive(Debug)]
#[expect(unnameable_types, reason = "it is the iterator of `IntoIterator`")]
pub struct Iter<'a, T> {
    receiver: &'a Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv_blocking().ok()
    }
}

/// As [`Iter`], and owns its receiver; made by `Receiver::into_iter`.
#[derive(Debug)]
#[expect(unnameable_types, reason = "as above")]
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv_blocking().ok()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    /// As [`iter`](Self::iter), and owns the receiver.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// (1..=3).try_for_each(|n| sender.send_blocking(n))?;
    /// drop(sender);
    /// let mut sum = 0;
    /// for n in receiver {
    ///     sum += n;
    /// }
    /// assert_eq!(sum, 6);
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    fn into_iter(self) -> IntoIter<T> {
        IntoIter { receiver: self }
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        Iter { receiver: self }
    }
}
