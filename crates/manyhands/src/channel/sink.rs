//! Sending as a `Sink` of `futures`; only with the feature `futures`.

use crate::channel::{End, SendError, Sender, Sending, note_wait};
use crate::recording::{self, WaitKind};
use crate::task::budget;
use futures_sink::Sink;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A sender as a [`Sink`]; made by [`Sender::into_sink`].
///
/// It is a sender of its own, and holds at most one item.
pub(super) struct SendSink<T> {
    /// `None` when this sink is closed.
    sender: Option<Sender<T>>,
    sending: Sending<T>,
}

impl<T> SendSink<T> {
    pub(super) fn new(sender: Sender<T>) -> Self {
        Self {
            sender: Some(sender),
            sending: Sending::new(None),
        }
    }

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_sent(&mut self, cx: &Context<'_>) -> Poll<Result<(), SendError<T>>> {
        match &self.sender {
            Some(sender) if self.sending.is_some() => {
                let permit = ready!(budget::poll_proceed(cx));
                let has_waited = self.sending.key.is_some();
                let polled = sender.shared.poll_send(&mut self.sending, cx);
                note_wait(&polled, self, sender.shared.channel(), cx, WaitKind::Send);
                let result = ready!(polled);
                if has_waited {
                    // It can wait again, and does not go on with that wait.
                    recording::forget(self);
                }
                permit.charge();
                Poll::Ready(result)
            }
            _ => Poll::Ready(Ok(())),
        }
    }
}

impl<T> Sink<T> for SendSink<T> {
    type Error = SendError<T>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.poll_sent(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, item: T) -> Result<(), Self::Error> {
        assert!(
            !self.sending.is_some(),
            "`start_send` called without a successful `poll_ready`"
        );
        if self.sender.is_none() {
            return Err(SendError(item));
        }
        self.sending.item = Some(item);
        Ok(())
    }

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.poll_sent(cx)
    }

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.poll_sent(cx).map(|result| {
            self.sender = None;
            result
        })
    }
}

impl<T> Drop for SendSink<T> {
    fn drop(&mut self) {
        recording::forget(self);
        if let Some(sender) = &self.sender {
            drop(sender.shared.cancel_send(&mut self.sending));
        }
    }
}

/// The item is never pinned.
impl<T> Unpin for SendSink<T> {}

impl<T> fmt::Debug for SendSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendSink")
            .field("sender", &self.sender)
            .finish_non_exhaustive()
    }
}
