//! Async loops as futures: for their effects, or with all results at the end.

use super::AsyncSource;
use super::driver::Driver;
use super::handle::LoopHandle;
use super::options::AsyncOptions;
use crate::engine::Ending;
use crate::job::{Payload, resume_all};
use crate::parallel::{Failures, Gathered};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An async loop. It begins items while it is awaited; they also run between polls.
///
/// To block a thread until it has ended, pass it to [`task::block_on`](crate::task::block_on).
///
/// Example: see [`AsyncLoop::handle`].
///
/// # Panics
/// As the function that made it, and when it is polled again after it was ready.
#[must_use = "an async loop does nothing unless awaited"]
pub struct AsyncLoop<'a, T> {
    pub(super) run: Pin<Box<dyn Future<Output = T> + Send + 'a>>,
    pub(super) handle: LoopHandle,
}

impl<T> AsyncLoop<'_, T> {
    /// A handle that observes the loop, and changes how many items run at once, from any thread.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let looping = parallel::for_each_async(0..1000, |_| async {});
    /// let handle = looping.handle();
    /// handle.set_degree_of_parallelism(4)?;
    /// task::block_on(looping);
    /// assert_eq!((handle.begun(), handle.degree_of_parallelism()), (1000, 4));
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> LoopHandle {
        self.handle.clone()
    }
}

impl<T> Future for AsyncLoop<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.run.as_mut().poll(context)
    }
}

impl<T> fmt::Debug for AsyncLoop<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsyncLoop")
            .field("concurrency", &self.handle().degree_of_parallelism())
            .field("running", &self.handle().running())
            .field("begun", &self.handle().begun())
            .finish_non_exhaustive()
    }
}

impl<'a, E: Ending + Send + 'a> AsyncOptions<'a, E> {
    /// As [`for_each_async`](crate::parallel::for_each_async), with these options.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let four_at_once = parallel::AsyncOptions::new().degree_of_parallelism(4)?;
    /// task::block_on(async {
    ///     four_at_once.for_each_async(["a", "b"], |_url| async {}).await;
    ///     let squares = four_at_once.map_async(1..=3, |n| async move { n * n }).await;
    ///     assert_eq!(squares, [1, 4, 9]);
    ///
    ///     let parse = |text: &'static str| async move { text.parse::<u8>() };
    ///     let parsed = four_at_once.try_map_async(["1", "2"], parse).await;
    ///     assert_eq!(parsed.unwrap(), [1, 2]);
    ///     let check = move |text| async move { parse(text).await.map(drop) };
    ///     let failures = four_at_once.try_for_each_async(["300"], check).await.unwrap_err();
    ///     assert_eq!(failures.errors().count(), 1);
    /// });
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    #[doc(alias = "Parallel.ForEachAsync")]
    #[track_caller]
    pub fn for_each_async<S, Fut>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncLoop<'a, E::Output<()>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let (driver, handle) = Driver::new(source, body, self);
        let ending = self.ending;
        let run = Box::pin(async move {
            driver.gather(|_, ()| ()).await;
            ending.conclude(Some(()))
        });
        AsyncLoop { run, handle }
    }

    /// As [`try_for_each_async`](crate::parallel::try_for_each_async), with these options.
    ///
    /// Example: see [`AsyncOptions::for_each_async`].
    ///
    /// # Errors
    /// When it is awaited: every error that a body returned and every panic, by position; a cancellation.
    #[track_caller]
    pub fn try_for_each_async<S, Fut, Err>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncLoop<'a, Result<(), Failures<Err>>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = Result<(), Err>> + Send + 'static,
        Err: Send + 'static,
    {
        let (driver, handle) = Driver::new(source, body, self);
        let ending = self.ending;
        let run = Box::pin(async move { driver.try_gather(ending, |_, ()| ()).await });
        AsyncLoop { run, handle }
    }

    /// As [`map_async`](crate::parallel::map_async), with these options.
    ///
    /// Example: see [`AsyncOptions::for_each_async`].
    #[track_caller]
    pub fn map_async<S, Fut>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncLoop<'a, E::Output<Vec<Fut::Output>>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output: Send + 'static> + Send + 'static,
    {
        let (driver, handle) = Driver::new(source, body, self);
        let ending = self.ending;
        let run = Box::pin(async move {
            let mut values = Vec::new();
            let keep = |position, value| values.push((position, value));
            driver.gather(keep).await;
            ending.conclude(Some(in_order(values)))
        });
        AsyncLoop { run, handle }
    }

    /// As [`try_map_async`](crate::parallel::try_map_async), with these options.
    ///
    /// Example: see [`AsyncOptions::for_each_async`].
    ///
    /// # Errors
    /// When it is awaited: every error that a body returned and every panic, by position; a cancellation.
    #[track_caller]
    pub fn try_map_async<S, Fut, R, Err>(
        &self,
        source: S,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncLoop<'a, Result<Vec<R>, Failures<Err>>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = Result<R, Err>> + Send + 'static,
        R: Send + 'static,
        Err: Send + 'static,
    {
        let (driver, handle) = Driver::new(source, body, self);
        let ending = self.ending;
        let run = Box::pin(async move {
            let mut values = Vec::new();
            let keep = |position, value| values.push((position, value));
            let ended = driver.try_gather(ending, keep).await;
            if let Err(failures) = ended {
                // First: the compiler leaks what is returned if a drop panics after that.
                drop(values);
                return Err(failures);
            }
            Ok(in_order(values))
        });
        AsyncLoop { run, handle }
    }
}

impl<S, F, Fut> Driver<'_, S, F, Fut::Output>
where
    S: AsyncSource,
    F: Fn(S::Item) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send + 'static> + Send + 'static,
{
    /// Runs all items, unless the loop is cancelled. Panics resume.
    async fn gather(mut self, mut keep: impl FnMut(u64, Fut::Output)) {
        let mut panics: Vec<Payload> = Vec::new();
        while let Some((position, outcome)) = self.next().await {
            match outcome {
                Ok(value) => keep(position, value),
                Err(payload) => panics.push(payload),
            }
        }
        panics.extend(self.end());
        resume_all(panics);
    }

    /// Runs all items until one fails.
    async fn try_gather<R, Err>(
        mut self,
        ending: impl Ending,
        mut keep: impl FnMut(u64, R),
    ) -> Result<(), Failures<Err>>
    where
        Fut: Future<Output = Result<R, Err>>,
    {
        let gathered = Gathered::new();
        while let Some((position, outcome)) = self.next().await {
            match gathered.sort_out(position, outcome) {
                Some(value) => keep(position, value),
                None => self.stop(),
            }
        }
        // First: the compiler leaks what is returned if a drop panics after that.
        gathered.resume_beside(self.end());
        gathered.conclude(Some(()), ending.cancelled())
    }
}

fn in_order<T>(mut values: Vec<(u64, T)>) -> Vec<T> {
    values.sort_unstable_by_key(|(position, _)| *position);
    values.into_iter().map(|(_, value)| value).collect()
}
