//! Waiting for all of several futures.
//!
//! Unsafe: the futures are pinned in one allocation.

use crate::job::contain;
use crate::recording::{self, Awaited, Site, TaskSet};
use crate::task::budget;
use crate::task::ready_set::ReadySet;
use futures_core::future::FusedFuture;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Waits for all of `futures` and returns their results in the same order: for handles the results and failures of
/// their tasks, else the outputs of any other futures of one type.
///
/// The futures make progress side by side, inside the task that awaits them. A future that is not a handle
/// needs no task of its own for that, and runs on one worker at a time with the others.
///
/// Dropping this drops the futures; if they are handles, their tasks continue, detached.
///
/// # Cost
/// A few allocations in all; one of them has all futures and results. Beside that about
/// two bytes for each. Each wake takes constant time, however many futures there are.
///
/// # Panics
/// When it is awaited, if the poll of one of the futures does. A task's panic is its result.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let squares = task::when_all((0..4).map(|i| task::spawn(async move { i * i })));
/// let squares: Result<Vec<_>, _> = task::block_on(squares).into_iter().collect();
/// assert_eq!(squares.unwrap(), [0, 1, 4, 9]);
/// ```
///
/// A thousand sleeps in one task:
/// ```
/// use manyhands::{task, time};
/// use std::time::Duration;
/// let sleeps = (0..1_000).map(|_| time::sleep(Duration::from_millis(1)));
/// assert_eq!(task::block_on(task::when_all(sleeps)).len(), 1_000);
/// ```
#[doc(alias("join_all", "Task.WhenAll", "WaitAll"))]
pub fn when_all<F: Future>(futures: impl IntoIterator<Item = F>) -> WhenAll<F> {
    let futures: Box<[_]> = futures.into_iter().map(Some).collect();
    let count = futures.len();
    WhenAll {
        futures: futures.into(),
        results: std::iter::repeat_with(|| None).take(count).collect(),
        left: count,
        is_over: false,
        ready: ReadySet::new(count),
        set: TaskSet::of_futures(is_handle::<F>),
    }
}

/// The future of [`when_all`].
///
/// Example: see [`when_all`].
///
/// # Panics
/// Never by itself. Polled again after it was ready, it gives no results.
#[must_use = "futures do nothing unless awaited"]
pub struct WhenAll<F: Future> {
    /// Each future exists until its result does.
    futures: Pin<Box<[Option<F>]>>,
    results: Vec<Option<F::Output>>,
    /// Futures without a result.
    left: usize,
    is_over: bool,
    ready: ReadySet,
    /// Of handles: the tasks.
    set: TaskSet,
}

impl<F: Future> WhenAll<F> {
    /// What it waits for: the end of each.
    fn awaited(&self) -> Awaited<'_> {
        Awaited::Each(&self.set)
    }

    /// Polls a future that was woken, on this line.
    fn poll_one(&mut self, index: usize, site: Site) {
        // None at a late wake of a future that has ended.
        let mut place = place_of(&mut self.futures, index);
        let Some(future) = place.as_mut().as_pin_mut() else {
            return;
        };
        let waker = self.ready.waker_of(index);
        let mut context = Context::from_waker(&waker);
        let poll = || self.set.poll(|| future.poll(&mut context));
        let polled = site.around(poll);
        if let Poll::Ready(result) = polled {
            self.results[index] = Some(result);
            self.left -= 1;
            drop_in_place(place);
        }
    }
}

/// Whether these futures are handles of this library. A type that does not tell its name in the way expected here is none.
#[cfg(not(loom))]
fn is_handle<F>() -> bool {
    use crate::task::JoinHandle;
    use std::any::type_name;
    let generic = |name: &'static str| name.split_once('<').map(|(generic, _)| generic);
    let handle = generic(type_name::<JoinHandle<()>>());
    handle.is_some() && generic(type_name::<F>()) == handle
}

/// The models have no handles.
#[cfg(all(test, loom))]
fn is_handle<F>() -> bool {
    false
}

/// The place of one future.
fn place_of<F>(futures: &mut Pin<Box<[Option<F>]>>, index: usize) -> Pin<&mut Option<F>> {
    // SAFETY: the slice is pinned, so its elements are.
    unsafe {
        futures
            .as_mut()
            .map_unchecked_mut(|futures| &mut futures[index])
    }
}

/// Drops a future. If that panics, the other futures are still dropped, and results returned.
fn drop_in_place<F>(mut place: Pin<&mut Option<F>>) {
    contain(|| place.set(None));
}

impl<F: Future> Unpin for WhenAll<F> {}

impl<F: Future> Future for WhenAll<F> {
    type Output = Vec<F::Output>;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let site = Site::here();
        let this = &mut *self;
        this.ready.listen(context.waker());
        while this.left > 0 {
            // Otherwise the rest of the budget would not suffice for the last ones, and each would be polled
            // only to be refused.
            let _ = ready!(budget::poll_proceed(context));
            match this.ready.next() {
                Some(index) => this.poll_one(index, site),
                None => {
                    recording::waits(this, context.waker(), || this.awaited());
                    return Poll::Pending;
                }
            }
        }
        this.is_over = true;
        let results = std::mem::take(&mut this.results);
        Poll::Ready(results.into_iter().flatten().collect())
    }
}

impl<F: Future> FusedFuture for WhenAll<F> {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl<F: Future> Drop for WhenAll<F> {
    fn drop(&mut self) {
        recording::forget_moved(self, || self.awaited());
        for index in 0..self.futures.len() {
            drop_in_place(place_of(&mut self.futures, index));
        }
    }
}

impl<F: Future> fmt::Debug for WhenAll<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WhenAll")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::is_handle;
    use crate::task::JoinHandle;
    use std::pin::Pin;

    #[test]
    fn a_handle_is_known_from_what_only_has_one() {
        struct Wrapper<T>(T);
        assert!(is_handle::<JoinHandle<()>>());
        assert!(is_handle::<JoinHandle<Vec<JoinHandle<&str>>>>());
        assert!(!is_handle::<Wrapper<JoinHandle<()>>>());
        assert!(!is_handle::<Pin<Box<JoinHandle<()>>>>());
        assert!(!is_handle::<()>());
    }
}
