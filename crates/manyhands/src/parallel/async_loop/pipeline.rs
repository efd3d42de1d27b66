//! Pipelines: streams of results, each the source of the next.
//!
//! A stage is an async loop over the results of the stage before (`stream.rs`); nothing is added to that.

use super::options::AsyncOptions;
use super::source::{AsyncSource, from_stream};
use super::stream::AsyncResults;

/// The beginning of a pipeline; made by [`pipeline`].
///
/// Example: see [`pipeline`].
#[derive(Debug)]
#[must_use = "a pipeline does nothing until its results are taken"]
pub struct Stages<S>(S);

/// A pipeline: each item goes through the stages one after another, and each stage runs as many of them at once as its number
/// says.
///
/// It runs while its results are taken, and everything in it is bounded: a stage begins no item while twice as many as may
/// run in it wait for the next stage, or for the consumer. Dropping the results cancels all stages. For a limit that several
/// pipelines share, let the bodies take a permit of a semaphore, such as tokio's.
///
/// # Panics
/// As [`stream_async`](AsyncOptions::stream_async): a panic in any stage reaches the consumer of the results, and cancels the
/// rest.
///
/// # Examples
/// Forty downloads at a time, four conversions, and the results in the order of the pages:
/// ```
/// use manyhands::{parallel, task, time};
/// use std::time::Duration;
/// let sizes = parallel::pipeline(1..=100_u64)
///     .stage(40, |page| async move {
///         time::sleep(Duration::from_micros(10 * page)).await;
///         vec![0_u8; page as usize]
///     })
///     .stage(4, |bytes| async move { bytes.len() })
///     .to_vec();
/// assert!(task::block_on(sizes).into_iter().eq(1..=100));
/// ```
///
/// The first failure of any stage ends it:
/// ```
/// use manyhands::{parallel, task};
/// let parsed = parallel::pipeline(["1", "2", "many", "3"])
///     .try_stage(2, |text| async move { text.parse::<i32>() })
///     .try_stage(2, |n| async move { Ok(n * 10) })
///     .try_to_vec();
/// assert!(task::block_on(parsed).is_err());
/// ```
#[doc(alias("TransformBlock", "LinkTo", "Dataflow"))]
pub fn pipeline<S: AsyncSource>(source: S) -> Stages<S> {
    Stages(source)
}

impl<S> Stages<S> {
    /// Runs `body`'s future for each item, up to `at_once` at a time, and gives the results in the order of the items.
    ///
    /// # Panics
    /// If `at_once` is 0.
    ///
    /// Example: see [`pipeline`].
    #[track_caller]
    pub fn stage<'a, Fut>(
        self,
        at_once: usize,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, Fut::Output>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output: Send + 'static> + Send + 'static,
    {
        at_once_only(at_once).stream_async(self.0, body)
    }

    /// As [`stage`](Self::stage), with the results in the order in which they are there.
    ///
    /// # Panics
    /// If `at_once` is 0.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let doubled = parallel::pipeline(1..=4).stage_unordered(2, |n| async move { 2 * n });
    /// let sum: i32 = task::block_on(doubled.to_vec()).into_iter().sum();
    /// assert_eq!(sum, 20);
    /// ```
    #[doc(alias = "EnsureOrdered")]
    #[track_caller]
    pub fn stage_unordered<'a, Fut>(
        self,
        at_once: usize,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, Fut::Output>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output: Send + 'static> + Send + 'static,
    {
        at_once_only(at_once).stream_async_unordered(self.0, body)
    }

    /// As [`stage`](Self::stage), with bodies that can fail: the first error ends the pipeline, as in
    /// [`try_stream_async`](super::AsyncOptions::try_stream_async).
    ///
    /// # Panics
    /// If `at_once` is 0.
    ///
    /// Example: see [`pipeline`].
    #[track_caller]
    pub fn try_stage<'a, Fut, R, E>(
        self,
        at_once: usize,
        body: impl Fn(S::Item) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, Result<R, E>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = Result<R, E>> + Send + 'static,
        R: Send + 'static,
        E: Send + 'static,
    {
        at_once_only(at_once).try_stream_async(self.0, body)
    }
}

impl<'a, T: Send + 'static> AsyncResults<'a, T> {
    /// The next stage of a [`pipeline`]: [`Stages::stage`] over these results.
    ///
    /// # Panics
    /// If `at_once` is 0.
    ///
    /// Example: see [`pipeline`].
    #[track_caller]
    pub fn stage<Fut>(
        self,
        at_once: usize,
        body: impl Fn(T) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, Fut::Output>
    where
        Fut: Future<Output: Send + 'static> + Send + 'static,
    {
        pipeline(from_stream(self)).stage(at_once, body)
    }

    /// The next stage of a [`pipeline`]: [`Stages::stage_unordered`] over these results.
    ///
    /// # Panics
    /// If `at_once` is 0.
    ///
    /// Example: see [`Stages::stage_unordered`].
    #[track_caller]
    pub fn stage_unordered<Fut>(
        self,
        at_once: usize,
        body: impl Fn(T) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, Fut::Output>
    where
        Fut: Future<Output: Send + 'static> + Send + 'static,
    {
        pipeline(from_stream(self)).stage_unordered(at_once, body)
    }

    /// All results, in the order in which they come.
    ///
    /// Example: see [`pipeline`].
    pub async fn to_vec(mut self) -> Vec<T> {
        let mut results = Vec::new();
        while let Some(result) = self.next().await {
            results.push(result);
        }
        // First: the compiler leaks what is returned if a drop panics after that.
        drop(self);
        results
    }
}

impl<'a, T: Send + 'static, E: Send + 'static> AsyncResults<'a, Result<T, E>> {
    /// As [`stage`](Self::stage) for the values. The first error, of this stage or of one before it, ends the pipeline: the
    /// results before it are given, then the error, and all other items are cancelled.
    ///
    /// # Panics
    /// If `at_once` is 0.
    ///
    /// Example: see [`pipeline`].
    #[doc(alias("and_then", "PropagateCompletion"))]
    #[track_caller]
    pub fn try_stage<R, Fut>(
        self,
        at_once: usize,
        body: impl Fn(T) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, Result<R, E>>
    where
        R: Send + 'static,
        Fut: Future<Output = Result<R, E>> + Send + 'static,
    {
        pipeline(from_stream(self)).try_stage(at_once, move |item| {
            let running = item.map(&body);
            async move { running?.await }
        })
    }

    /// All values, or the first error: then the rest is cancelled.
    ///
    /// # Errors
    /// The first that a stage gave, in the order of the results.
    ///
    /// Example: see [`pipeline`].
    pub async fn try_to_vec(mut self) -> Result<Vec<T>, E> {
        let mut values = Vec::new();
        while let Some(result) = self.next().await {
            match result {
                Ok(value) => values.push(value),
                Err(error) => {
                    // First, as in `to_vec`.
                    drop((self, values));
                    return Err(error);
                }
            }
        }
        drop(self);
        Ok(values)
    }
}

/// The options of a stage.
#[track_caller]
fn at_once_only(count: usize) -> AsyncOptions<'static> {
    match AsyncOptions::new().degree_of_parallelism(count) {
        Ok(options) => options,
        Err(error) => panic!("{error}"),
    }
}
