//! Yielding to other tasks.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Lets the other tasks of this worker's queue run before the calling task continues.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let handle = task::spawn(async {
///     for _ in 0..3 {
///         task::yield_now().await;
///     }
///     "done"
/// });
/// assert_eq!(handle.join().unwrap(), "done");
/// ```
#[doc(alias = "Task.Yield")]
pub fn yield_now() -> impl Future<Output = ()> + Send + Unpin + fmt::Debug {
    YieldNow { has_yielded: false }
}

#[derive(Debug)]
struct YieldNow {
    has_yielded: bool,
}

impl Future for YieldNow {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.has_yielded {
            return Poll::Ready(());
        }
        self.has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
