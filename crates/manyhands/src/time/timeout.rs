//! A future with a time limit.
//!
//! Unsafe: both futures are reached through the pinned one.

use crate::runtime::timers;
use crate::time::sleep::Sleep;
use crate::timer::Moment;
use futures_core::future::FusedFuture;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::{fmt, io};

/// Waits for `future`, but for no longer than `duration` from now.
///
/// When the time is over the future is not polled any more; it is dropped with the [`Timeout`]. If the future
/// is ready at its last poll, its output is returned.
///
/// # Errors
/// [`Elapsed`] when the time is over.
///
/// # Examples
/// ```
/// use manyhands::{task, time};
/// use std::time::Duration;
/// task::block_on(async {
///     let soon = time::timeout(Duration::from_secs(3600), async { 1 });
///     assert_eq!(soon.await, Ok(1));
///     let never = time::timeout(Duration::from_millis(2), std::future::pending::<()>());
///     assert!(never.await.is_err());
/// });
/// ```
#[doc(alias = "WaitAsync")]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout::new(timers::now().after(duration), future.into_future())
}

/// Waits for `future`, but no longer than until `deadline`. See [`timeout`].
///
/// If the deadline has passed, the future is still polled, and once more when other tasks had their turn. Its output is
/// returned if it is ready.
///
/// # Errors
/// [`Elapsed`] when the time is over.
///
/// # Examples
/// ```
/// use manyhands::{task, time};
/// let over = time::timeout_at(time::now(), std::future::pending::<()>());
/// assert!(task::block_on(over).is_err());
/// ```
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout::new(Moment::of(deadline), future.into_future())
}

/// The future of [`timeout`] and [`timeout_at`].
///
/// Example: see [`timeout`].
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct Timeout<F> {
    future: F,
    sleep: Sleep,
    is_over: bool,
}

impl<F> Timeout<F> {
    fn new(deadline: Moment, future: F) -> Self {
        Self {
            future,
            sleep: Sleep::until(deadline),
            is_over: false,
        }
    }

    /// The future, without its limit.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{task, time};
    /// let limited = time::timeout(std::time::Duration::from_secs(1), async { 42 });
    /// assert_eq!(task::block_on(limited.into_inner()), 42);
    /// ```
    pub fn into_inner(self) -> F {
        self.future
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of it.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: pinned with the whole: nothing moves it, and there is no `Drop`.
        let future = unsafe { Pin::new_unchecked(&mut this.future) };
        // SAFETY: as above.
        let sleep = unsafe { Pin::new_unchecked(&mut this.sleep) };
        let polled = match future.poll(context) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            // Without the task's budget: a future that is always busy would use it up.
            Poll::Pending => sleep.poll_elapsed(context).map(|()| Err(Elapsed(()))),
        };
        this.is_over = polled.is_ready();
        polled
    }
}

impl<F: Future> FusedFuture for Timeout<F> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

/// The deadline elapsed before the future was ready.
///
/// # Examples
/// ```
/// use manyhands::{task, time};
/// let over = time::timeout_at(time::now(), std::future::pending::<()>());
/// let error: time::Elapsed = task::block_on(over).unwrap_err();
/// assert_eq!(error.to_string(), "deadline has elapsed");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl Error for Elapsed {}

/// Of the kind `TimedOut`.
///
/// # Examples
/// ```
/// use manyhands::{task, time};
/// use std::{future, io, time::Duration};
/// async fn read() -> io::Result<()> {
///     time::timeout(Duration::from_millis(1), future::pending()).await?
/// }
/// assert_eq!(task::block_on(read()).unwrap_err().kind(), io::ErrorKind::TimedOut);
/// ```
impl From<Elapsed> for io::Error {
    fn from(error: Elapsed) -> Self {
        Self::new(io::ErrorKind::TimedOut, error)
    }
}
