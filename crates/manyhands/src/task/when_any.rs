//! Waiting for the first of several tasks.

use crate::recording::Site;
use crate::task::{JoinError, JoinHandle, budget};
use futures_core::future::FusedFuture;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Waits for the first of `handles` to end, with or without a result. If several have ended already, the first
/// in order is chosen.
///
/// The other tasks continue; their handles are returned. Dropping the future detaches them all.
///
/// # Cost
/// Each poll asks every handle, and outside a task each handle allocates to keep a waker. A loop that waits for one task after
/// the other is cheaper with [`when_each`](super::when_each()).
///
/// # Panics
/// When there are no handles.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let tasks = [task::spawn(std::future::pending()), task::spawn(async { 7 })];
/// let first = task::block_on(task::when_any(tasks));
/// assert_eq!((first.index, first.result.unwrap()), (1, 7));
/// ```
#[doc(alias("select_all", "Task.WhenAny", "WaitAny"))]
pub fn when_any<T>(handles: impl IntoIterator<Item = JoinHandle<T>>) -> WhenAny<T> {
    let handles: Vec<_> = handles.into_iter().collect();
    assert!(!handles.is_empty(), "`when_any` needs at least one task");
    WhenAny { handles }
}

/// The future of [`when_any`].
///
/// Example: see [`when_any`].
///
/// # Panics
/// When it is polled again after it was ready.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct WhenAny<T> {
    handles: Vec<JoinHandle<T>>,
}

/// The first of several tasks that ended.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let tasks = [task::spawn(std::future::pending()), task::spawn(async { 7 })];
/// let first = task::block_on(task::when_any(tasks));
/// assert_eq!((first.index, first.result.unwrap()), (1, 7));
/// first.others.iter().for_each(task::JoinHandle::abort);
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct FirstEnded<T> {
    /// Its index among the handles.
    pub index: usize,
    /// How it ended.
    pub result: Result<T, JoinError>,
    /// The others, in their order.
    pub others: Vec<JoinHandle<T>>,
}

impl<T> Unpin for WhenAny<T> {}

impl<T> Future for WhenAny<T> {
    type Output = FirstEnded<T>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(
            !self.handles.is_empty(),
            "`when_any` polled after completion"
        );
        // If the first handle were refused an operation, a later one could be chosen.
        let _ = ready!(budget::poll_proceed(context));
        let ended = Site::here().around(|| {
            (0..self.handles.len()).find_map(|index| {
                match Pin::new(&mut self.handles[index]).poll(context) {
                    Poll::Ready(result) => Some((index, result)),
                    Poll::Pending => None,
                }
            })
        });
        let Some((index, result)) = ended else {
            return Poll::Pending;
        };
        let mut others = std::mem::take(&mut self.handles);
        others.remove(index);
        Poll::Ready(FirstEnded {
            index,
            result,
            others,
        })
    }
}

impl<T> FusedFuture for WhenAny<T> {
    fn is_terminated(&self) -> bool {
        self.handles.is_empty()
    }
}
