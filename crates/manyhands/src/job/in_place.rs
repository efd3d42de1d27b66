//! A future that is dropped in its place: before its output is returned, and before what it must not outlive.
//!
//! Not here: what a panic carries (`unwind.rs`), and who polls the future.
//!
//! Unsafe: the future is pinned where this is.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A future that `poll` polls. It is dropped before what `poll` returns is passed on: the compiler leaks what is returned if a
/// drop panics after that. And it is dropped before `poll` is, with what that keeps.
///
/// Why not an async block: one around a future that it was given has room for it twice, where it is given, and where it is
/// polled.
pub(crate) struct InPlace<F, P> {
    future: Option<F>,
    /// Last, because it is dropped last.
    poll: P,
}

impl<F: Future> InPlace<F, ()> {
    /// A future that is only polled.
    pub(crate) fn of(future: F) -> impl Future<Output = F::Output> {
        Self::by(future, |future, context| future.poll(context))
    }

    /// A future that is polled by `poll`.
    pub(crate) fn by<P, R>(future: F, poll: P) -> InPlace<F, P>
    where
        P: FnMut(Pin<&mut F>, &mut Context<'_>) -> Poll<R>,
    {
        let future = Some(future);
        InPlace { future, poll }
    }
}

impl<F, P, R> Future for InPlace<F, P>
where
    P: FnMut(Pin<&mut F>, &mut Context<'_>) -> Poll<R>,
{
    type Output = R;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        // SAFETY: the future is not moved below.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: pinned with the whole: nothing moves it, and there is no `Drop`.
        let mut place = unsafe { Pin::new_unchecked(&mut this.future) };
        let future = place.as_mut().as_pin_mut();
        let output = ready!((this.poll)(future.expect("it has not ended"), context));
        place.set(None);
        Poll::Ready(output)
    }
}
