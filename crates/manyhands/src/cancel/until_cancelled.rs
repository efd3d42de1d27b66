//! Waiting for a cancellation without a thread.

use crate::cancel::registration::Key;
use crate::cancel::{Cancelled, Token};
use crate::job::InPlace;
use crate::recording::{self, Awaited, Site, WaitKind};
use crate::task::budget;
use futures_core::future::FusedFuture;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Is ready when the token's source is cancelled.
#[derive(Debug)]
pub(crate) struct UntilCancelled {
    token: Token,
    key: Option<Key>,
    /// Whether it was ready.
    is_over: bool,
}

impl Token {
    /// Waits until the source is cancelled.
    ///
    /// # Cost
    /// A short lock to register and one to unregister, for a time that grows with the logarithm of how many futures wait.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel, task};
    /// let source = cancel::TokenSource::new();
    /// let token = source.token();
    /// let waiting = task::spawn(async move { token.cancelled().await });
    /// source.cancel();
    /// waiting.join().unwrap();
    /// ```
    #[doc(alias = "WaitHandle")]
    pub fn cancelled(&self) -> impl FusedFuture<Output = ()> + Unpin + fmt::Debug + use<> {
        self.until_cancelled()
    }

    pub(crate) fn until_cancelled(&self) -> UntilCancelled {
        UntilCancelled {
            token: self.clone(),
            key: None,
            is_over: false,
        }
    }

    /// Runs `future` until it is ready or the source is cancelled, whichever comes first. If the source is
    /// cancelled already, `future` is not polled. A cancelled future is dropped.
    ///
    /// # Errors
    /// [`Cancelled`] with this token.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel, task};
    /// let source = cancel::TokenSource::new();
    /// let token = source.token();
    /// let handle = task::spawn(async move {
    ///     token.run_until_cancelled(std::future::pending::<()>()).await
    /// });
    /// source.cancel();
    /// assert!(handle.join().unwrap().is_err());
    /// ```
    #[doc(alias = "WaitAsync")]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn run_until_cancelled<F: Future>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<F::Output, Cancelled>> {
        let site = Site::here();
        let mut cancelled = None;
        InPlace::by(future, move |future, context| {
            let waiting = cancelled.get_or_insert_with(|| self.until_cancelled());
            let ended = if site.poll(|| waiting.poll_cancelled(context)).is_ready() {
                let token = self.clone();
                Poll::Ready(Err(Cancelled { token }))
            } else {
                site.around(|| future.poll(context)).map(Ok)
            };
            if ended.is_ready() {
                // Whoever keeps this is not woken any more.
                cancelled = None;
            }
            ended
        })
    }
}

impl Future for UntilCancelled {
    type Output = ();

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let permit = ready!(budget::poll_proceed(context));
        ready!(self.poll_cancelled(context));
        permit.charge();
        self.is_over = true;
        Poll::Ready(())
    }
}

impl FusedFuture for UntilCancelled {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl UntilCancelled {
    /// As `poll`, but ignores the task's budget, which a future polled beside this one may use up each time.
    #[cfg_attr(feature = "inspect", track_caller)]
    pub(crate) fn poll_cancelled(&mut self, context: &Context<'_>) -> Poll<()> {
        if !self.token.is_cancelled() {
            self.key = self.token.callbacks.add_waker(context.waker(), self.key);
        }
        // If it could not register, the source has just been cancelled.
        if self.token.is_cancelled() {
            return Poll::Ready(());
        }
        let resource = Arc::as_ptr(&self.token.callbacks).addr();
        let awaited = || Awaited::Thing(WaitKind::Cancellation, resource);
        recording::waits(self, context.waker(), awaited);
        Poll::Pending
    }
}

impl Drop for UntilCancelled {
    fn drop(&mut self) {
        recording::forget(self);
        if let Some(key) = self.key {
            self.token.callbacks.remove_waker(key);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::cancel::TokenSource;
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake, Waker};

    struct Nobody;

    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn what_has_ended_before_a_cancellation_keeps_no_waker() {
        let (source, woken) = (TokenSource::new(), Arc::new(Nobody));
        let token = source.token();
        let mut ended = pin!(token.run_until_cancelled(std::future::ready(7)));
        let waker = Waker::from(Arc::clone(&woken));
        let polled = ended.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(matches!(polled, Poll::Ready(Ok(7))));
        drop(waker);
        assert_eq!(Arc::strong_count(&woken), 1);
    }
}
