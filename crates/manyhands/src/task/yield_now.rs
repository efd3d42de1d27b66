//! Yielding to other tasks.

use crate::job::wake_by_ref;
use std::fmt;
use std::future::poll_fn;
use std::mem;
use std::task::Poll;

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
#[doc(alias("Task.Yield", "Yield"))]
pub fn yield_now() -> impl Future<Output = ()> + Send + Unpin + fmt::Debug {
    let mut has_yielded = false;
    poll_fn(move |context| {
        if mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        wake_by_ref(context.waker());
        Poll::Pending
    })
}
