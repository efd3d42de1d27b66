//! Waiting for all of several tasks.

use crate::task::{JoinError, JoinHandle};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Waits for all of `handles` and gives their results in the same order, every failure among them.
///
/// Dropping the future detaches the tasks that have not ended.
///
/// # Cost
/// At most one wake for each task. The tasks run on their own, so they are awaited one after another.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let squares = task::when_all((0..4).map(|i| task::spawn(async move { i * i })));
/// let squares: Result<Vec<_>, _> = task::block_on(squares).into_iter().collect();
/// assert_eq!(squares.unwrap(), [0, 1, 4, 9]);
/// ```
#[doc(alias = "join_all")]
#[doc(alias = "Task.WhenAll")]
pub fn when_all<T>(handles: impl IntoIterator<Item = JoinHandle<T>>) -> WhenAll<T> {
    let handles: Vec<_> = handles.into_iter().collect();
    WhenAll {
        results: Vec::with_capacity(handles.len()),
        handles: handles.into_iter(),
        current: None,
    }
}

/// The future of [`when_all`].
///
/// # Panics
/// Never. Polled again after it was ready, it gives no results.
#[derive(Debug)]
#[must_use = "futures do nothing unless awaited"]
pub struct WhenAll<T> {
    handles: std::vec::IntoIter<JoinHandle<T>>,
    current: Option<JoinHandle<T>>,
    results: Vec<Result<T, JoinError>>,
}

impl<T> Unpin for WhenAll<T> {}

impl<T> Future for WhenAll<T> {
    type Output = Vec<Result<T, JoinError>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            if this.current.is_none() {
                this.current = this.handles.next();
            }
            let Some(current) = &mut this.current else {
                return Poll::Ready(std::mem::take(&mut this.results));
            };
            let result = ready!(Pin::new(current).poll(context));
            this.current = None;
            this.results.push(result);
        }
    }
}
