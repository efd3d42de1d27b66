//! The results of several tasks, as they end.

use crate::job::{discard, wake};
use crate::recording::{self, Awaited, Site, TaskSet};
use crate::sync::{Mutex, lock};
use crate::task::{JoinError, JoinHandle, PollWaker, budget};
use futures_core::stream::{FusedStream, Stream};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};

/// Returns the results of `handles` in the order in which the tasks end, each with its index in `handles`. Those of tasks that
/// have ended before come first, in the order of `handles`.
///
/// Dropping the stream detaches the tasks that have not ended.
///
/// # Cost
/// An allocation for each task; each that ends costs a constant time, however many there are.
///
/// # Examples
/// ```
/// use manyhands::task;
/// task::block_on(async {
///     let mut results = task::when_each((0..3).map(|i| task::spawn(async move { i * 10 })));
///     let mut sum = 0;
///     while let Some((index, result)) = results.next().await {
///         assert_eq!(result.unwrap(), index * 10);
///         sum += index;
///     }
///     assert_eq!(sum, 3);
/// });
/// ```
#[doc(alias("FuturesUnordered", "Task.WhenEach"))]
pub fn when_each<T>(handles: impl IntoIterator<Item = JoinHandle<T>>) -> WhenEach<T> {
    let mut each = WhenEach::default();
    handles.into_iter().for_each(|handle| each.push(handle));
    each
}

/// The stream of [`when_each`].
///
/// Example: see [`when_each`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct WhenEach<T> {
    /// Each at its place, with its index; a place whose result has been returned is free.
    handles: Vec<Option<(usize, JoinHandle<T>)>>,
    free: Vec<usize>,
    /// Tasks that were ever added.
    added: usize,
    ended: Arc<Mutex<Ended>>,
    /// The tasks whose results have not been returned, and others that have ended.
    set: TaskSet,
}

/// The places of tasks to poll, and the waker to wake for new ones.
#[derive(Debug, Default)]
struct Ended {
    places: VecDeque<usize>,
    waker: Option<Waker>,
}

/// The waker of the task at this place. If it comes late, another task is there, and is polled once more than needed.
struct Notice {
    place: usize,
    ended: Arc<Mutex<Ended>>,
}

impl Wake for Notice {
    fn wake(self: Arc<Self>) {
        let waker = {
            let mut ended = lock(&self.ended);
            ended.places.push_back(self.place);
            ended.waker.take()
        };
        if let Some(waker) = waker {
            wake(waker);
        }
    }
}

/// Wakes who waits for the next of the tasks.
#[derive(Debug, Clone)]
pub(crate) struct GroupWaker(Arc<Mutex<Ended>>);

impl GroupWaker {
    pub(crate) fn wake(&self) {
        let waker = lock(&self.0).waker.take();
        waker.into_iter().for_each(wake);
    }
}

impl<T> WhenEach<T> {
    /// Of a group with this name.
    pub(super) fn named(name: String) -> Self {
        let mut group = Self::default();
        group.set = TaskSet::named(name);
        group
    }

    /// Adds a task.
    pub(super) fn push(&mut self, handle: JoinHandle<T>) {
        self.set.add(handle.record());
        let task = Some((self.added, handle));
        self.added += 1;
        let place = if let Some(free) = self.free.pop() {
            self.handles[free] = task;
            free
        } else {
            self.handles.push(task);
            self.handles.len() - 1
        };
        // Polled once, so that it registers its waker.
        lock(&self.ended).places.push_back(place);
    }

    /// What wakes who waits for the next of the tasks.
    pub(super) fn waker(&self) -> GroupWaker {
        GroupWaker(Arc::clone(&self.ended))
    }

    /// Tasks whose results have not been returned.
    pub(super) fn waiting(&self) -> usize {
        self.handles.len() - self.free.len()
    }

    /// What it waits for: the end of one of these.
    fn awaited(&self) -> Awaited<'_> {
        let tasks = u32::try_from(self.waiting()).unwrap_or(u32::MAX);
        Awaited::OneOf(&self.set, tasks)
    }

    /// The handles of the tasks whose results have not been returned, in no order.
    pub(super) fn handles(&self) -> impl Iterator<Item = &(usize, JoinHandle<T>)> {
        self.handles.iter().flatten()
    }

    /// The next result, with the index of its task; `None` when all have been returned.
    ///
    /// Example: see [`when_each`].
    ///
    /// # Cancellation
    /// Dropping the future loses no result.
    #[expect(
        clippy::should_implement_trait,
        reason = "it returns a future, and no iterator has that"
    )]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn next(&mut self) -> impl Future<Output = Option<(usize, Result<T, JoinError>)>> {
        self.next_on(Site::here())
    }

    /// As [`next`](Self::next), shown with this line.
    pub(super) fn next_on(&mut self, site: Site) -> Next<'_, T> {
        Next { each: self, site }
    }
}

/// A wait for the next result: it is shown no longer when this is dropped.
pub(super) struct Next<'a, T> {
    each: &'a mut WhenEach<T>,
    site: Site,
}

impl<T> Future for Next<'_, T> {
    type Output = Option<(usize, Result<T, JoinError>)>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.site
            .poll(|| Pin::new(&mut *this.each).poll_next(context))
    }
}

impl<T> Drop for Next<'_, T> {
    fn drop(&mut self) {
        recording::forget_moved(&*self.each, || self.each.awaited());
    }
}

impl<T> Default for WhenEach<T> {
    fn default() -> Self {
        Self {
            handles: Vec::new(),
            free: Vec::new(),
            added: 0,
            ended: Arc::default(),
            set: TaskSet::of_futures(|| true),
        }
    }
}

impl<T> Unpin for WhenEach<T> {}

impl<T> Drop for WhenEach<T> {
    fn drop(&mut self) {
        recording::forget_moved(self, || self.awaited());
        let waker = lock(&self.ended).waker.take();
        discard(waker);
    }
}

impl<T> Stream for WhenEach<T> {
    type Item = (usize, Result<T, JoinError>);

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        while this.waiting() > 0 {
            // A handle without budget would wake its own waker, and be polled again and again.
            let _ = ready!(budget::poll_proceed(context));
            let Some(place) = next_or_register(&this.ended, context) else {
                recording::waits(this, context.waker(), || this.awaited());
                return Poll::Pending;
            };
            let notice = Waker::from(Arc::new(Notice {
                place,
                ended: Arc::clone(&this.ended),
            }));
            let Some((index, handle)) = &mut this.handles[place] else {
                continue;
            };
            let index = *index;
            let polled = Pin::new(handle).poll(&mut Context::from_waker(&notice));
            if let Poll::Ready(result) = polled {
                this.handles[place] = None;
                this.free.push(place);
                // The next task is another wait.
                recording::forget(this);
                return Poll::Ready(Some((index, result)));
            }
        }
        Poll::Ready(None)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.waiting(), Some(self.waiting()))
    }
}

impl<T> FusedStream for WhenEach<T> {
    fn is_terminated(&self) -> bool {
        self.waiting() == 0
    }
}

/// The next task to poll; if there is none, the next notice wakes the waker of this poll.
fn next_or_register(ended: &Mutex<Ended>, context: &Context<'_>) -> Option<usize> {
    let next = lock(ended).places.pop_front();
    if next.is_some() {
        return next;
    }
    // Cloned and dropped without the lock, because that may run code of the user.
    let mut by = PollWaker::of(context);
    let mut ended = lock(ended);
    let next = ended.places.pop_front();
    let stale = next.is_none().then(|| ended.waker.replace(by.keep()));
    drop(ended);
    discard(stale.flatten());
    next
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::WhenEach;
    use crate::sync::lock;
    use crate::task;

    #[test]
    fn tasks_behind_one_that_lasts_leave_no_place_behind() {
        let mut each = WhenEach::default();
        let (completer, completion) = task::completion::<()>();
        each.push(task::spawn(async move { completion.await.is_ok() }));
        for index in 1..1_000 {
            // As late wakes do, of the tasks that had these places before.
            lock(&each.ended).places.extend(0..each.handles.len());
            each.push(task::spawn(async { true }));
            let (next, result) = task::block_on(each.next()).expect("two tasks are there");
            assert_eq!((next, result.ok()), (index, Some(true)));
        }
        assert_eq!((each.handles.len(), each.waiting()), (2, 1));
        completer.complete(());
        let (first, result) = task::block_on(each.next()).expect("a task is left");
        assert_eq!((first, result.ok()), (0, Some(true)));
        assert!(task::block_on(each.next()).is_none());
    }
}
