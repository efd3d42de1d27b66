//! A future whose output outlives a panic of its drop.
//!
//! Not here: what a panic carries (`unwind.rs`), and who polls the future.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The future in a place, `pin!(Some(future))`. It is dropped there before its output is returned: the compiler leaks what is
/// returned if a drop panics after that.
pub(crate) struct InPlace<'place, F>(pub(crate) Pin<&'place mut Option<F>>);

impl<F: Future> Future for InPlace<'_, F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let future = self.0.as_mut().as_pin_mut();
        let output = ready!(future.expect("it has not ended").poll(context));
        self.0.set(None);
        Poll::Ready(output)
    }
}
