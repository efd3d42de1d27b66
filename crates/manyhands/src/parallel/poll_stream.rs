//! A stream made of a closure that is polled; `std::future::poll_fn` for streams.

use futures_core::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Gives what the closure gives.
pub(crate) struct PollStream<F>(pub(crate) F);

impl<F> Unpin for PollStream<F> {}

impl<T, F: FnMut(&mut Context<'_>) -> Poll<Option<T>>> Stream for PollStream<F> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        (self.0)(context)
    }
}
