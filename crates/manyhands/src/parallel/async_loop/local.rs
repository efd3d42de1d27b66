//! Async loops that lend a state to each item.
//!
//! Not here: how items run. These are ordinary loops whose body takes a state and gives it back.

use super::options::AsyncOptions;
use super::{AsyncLoop, AsyncResults, AsyncSource};
use crate::engine::Ending;
use crate::job::{InPlace, catch, resume_all};
use crate::parallel::{Failures, LocalOptions};
use crate::sync::{Mutex, get_mut, lock};
use std::mem;
use std::sync::Arc;

/// What a loop and its items share: the states that no item uses at the moment, how to make and finish them, and the body.
struct Lending<L, Init, Finish: Fn(L), F> {
    idle: Mutex<Vec<L>>,
    init: Init,
    finish: Finish,
    body: F,
}

impl<L, Init: Fn() -> L, Finish: Fn(L), F> Lending<L, Init, Finish, F> {
    fn new(init: Init, finish: Finish, body: F) -> Arc<Self> {
        let idle = Mutex::new(Vec::new());
        Arc::new(Self {
            idle,
            init,
            finish,
            body,
        })
    }

    /// Runs the body for an item. `part` gives its result, and the state if it will be used again.
    async fn run<T, Fut: Future, R>(
        self: Arc<Self>,
        item: T,
        part: fn(Fut::Output) -> (R, Option<L>),
    ) -> R
    where
        F: Fn(T, L) -> Fut,
    {
        let kept = lock(&self.idle).pop();
        let state = kept.unwrap_or_else(&self.init);
        let output = InPlace::of((self.body)(item, state)).await;
        let (result, state) = part(output);
        if let Some(state) = state {
            lock(&self.idle).push(state);
        }
        result
    }
}

/// The last item has ended, and the loop, or it was dropped: finishes the states, also if that panics for some.
impl<L, Init, Finish: Fn(L), F> Drop for Lending<L, Init, Finish, F> {
    fn drop(&mut self) {
        let states = mem::take(get_mut(&mut self.idle)).into_iter();
        let finished = states.map(|state| catch(|| (self.finish)(state)));
        resume_all(finished.filter_map(Result::err).collect());
    }
}

/// A result of a body that fails, and its state, which then is lost.
fn part_of_result<R, L, Err>(result: Result<(R, L), Err>) -> (Result<R, Err>, Option<L>) {
    match result {
        Ok((value, state)) => (Ok(value), Some(state)),
        Err(error) => (Err(error), None),
    }
}

impl<'a, L, Init, Finish, E> LocalOptions<AsyncOptions<'a, E>, Init, Finish>
where
    L: Send + 'static,
    Init: Fn() -> L + Send + Sync + 'static,
    Finish: Fn(L) + Send + Sync + 'static,
    E: Ending + Send + 'a,
{
    /// As [`for_each_async`](crate::parallel::for_each_async), with a state for each item that runs, such as a
    /// connection: the body takes one and gives it back for the next. There are never more states than items run at
    /// once. The loop finishes them at its end.
    ///
    /// A state whose item panics, or is cancelled, is dropped with it and not finished. If the loop is dropped before its
    /// end, the other states are finished when the last of its items is gone, where that happens; a panic there is lost.
    ///
    /// # Panics
    /// As [`for_each_async`](crate::parallel::for_each_async), also if making or finishing a state panics.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let total = Arc::new(AtomicU64::new(0));
    /// let adding = Arc::clone(&total);
    /// let finish = move |sum| { adding.fetch_add(sum, Ordering::Relaxed); };
    /// let options = parallel::AsyncOptions::new().degree_of_parallelism(4)?.local(|| 0_u64, finish);
    /// task::block_on(options.for_each_async(1..=100, |n, sum| async move { sum + n }));
    /// assert_eq!(total.load(Ordering::Relaxed), 5_050);
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    #[track_caller]
    pub fn for_each_async<S, Fut>(
        self,
        source: S,
        body: impl Fn(S::Item, L) -> Fut + Send + Sync + 'static,
    ) -> AsyncLoop<'a, E::Output<()>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = L> + Send + 'static,
    {
        let lending = Lending::new(self.init, self.finish, body);
        self.options.for_each_async(source, move |item| {
            Arc::clone(&lending).run(item, |state| ((), Some(state)))
        })
    }

    /// As [`try_for_each_async`](crate::parallel::try_for_each_async), with a state for each item that runs,
    /// as in [`for_each_async`](Self::for_each_async). A state whose item fails is dropped with it: a
    /// connection that broke is not used again.
    ///
    /// # Errors
    /// When it is awaited: every error that a body returned and every panic, by position; a cancellation.
    ///
    /// # Panics
    /// If finishing a state does.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let options = parallel::AsyncOptions::new().local(Vec::new, |seen: Vec<i32>| assert!(seen.len() < 3));
    /// let reading = options.try_for_each_async(["1", "x", "3"], |text, mut seen| async move {
    ///     seen.push(text.parse::<i32>()?);
    ///     Ok::<_, std::num::ParseIntError>(seen)
    /// });
    /// assert_eq!(task::block_on(reading).unwrap_err().errors().next().unwrap().0, 1);
    /// ```
    #[track_caller]
    pub fn try_for_each_async<S, Fut, Err>(
        self,
        source: S,
        body: impl Fn(S::Item, L) -> Fut + Send + Sync + 'static,
    ) -> AsyncLoop<'a, Result<(), Failures<Err>>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = Result<L, Err>> + Send + 'static,
        Err: Send + 'static,
    {
        let lending = Lending::new(self.init, self.finish, body);
        self.options.try_for_each_async(source, move |item| {
            Arc::clone(&lending).run(item, |ended| part_of_result(ended.map(|state| ((), state))))
        })
    }

    /// As [`map_async`](crate::parallel::map_async), with a state for each item that runs, as in
    /// [`for_each_async`](Self::for_each_async): the body returns its result and the state.
    ///
    /// # Panics
    /// As [`for_each_async`](Self::for_each_async). Finished results are dropped.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let options = parallel::AsyncOptions::new().local(|| String::with_capacity(64), drop);
    /// let lengths = options.map_async(["one", "three"], |word, mut text| async move {
    ///     text.clear();
    ///     text.extend(word.chars().rev());
    ///     (text.len(), text)
    /// });
    /// assert_eq!(task::block_on(lengths), [3, 5]);
    /// ```
    #[track_caller]
    pub fn map_async<S, Fut, R>(
        self,
        source: S,
        body: impl Fn(S::Item, L) -> Fut + Send + Sync + 'static,
    ) -> AsyncLoop<'a, E::Output<Vec<R>>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = (R, L)> + Send + 'static,
        R: Send + 'static,
    {
        let lending = Lending::new(self.init, self.finish, body);
        self.options.map_async(source, move |item| {
            Arc::clone(&lending).run(item, |(value, state)| (value, Some(state)))
        })
    }

    /// As [`try_map_async`](crate::parallel::try_map_async), with a state for each item that runs, as in
    /// [`try_for_each_async`](Self::try_for_each_async): the body returns its result and the state.
    ///
    /// # Errors
    /// As [`try_for_each_async`](Self::try_for_each_async). Finished results are dropped.
    ///
    /// # Panics
    /// If finishing a state does.
    ///
    /// # Examples
    /// Each item that runs has a buffer of its own, which the next one uses again:
    /// ```
    /// use manyhands::{parallel, task};
    /// let options = parallel::AsyncOptions::new().local(String::new, drop);
    /// let doubled = options.try_map_async(["1", "2"], |text, mut buffer: String| async move {
    ///     buffer.clear();
    ///     buffer.push_str(text);
    ///     buffer.push_str(text);
    ///     Ok::<_, std::num::ParseIntError>((buffer.parse::<u32>()?, buffer))
    /// });
    /// assert_eq!(task::block_on(doubled).unwrap(), [11, 22]);
    /// ```
    #[track_caller]
    pub fn try_map_async<S, Fut, R, Err>(
        self,
        source: S,
        body: impl Fn(S::Item, L) -> Fut + Send + Sync + 'static,
    ) -> AsyncLoop<'a, Result<Vec<R>, Failures<Err>>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = Result<(R, L), Err>> + Send + 'static,
        R: Send + 'static,
        Err: Send + 'static,
    {
        let lending = Lending::new(self.init, self.finish, body);
        self.options.try_map_async(source, move |item| {
            Arc::clone(&lending).run(item, part_of_result)
        })
    }

    /// As [`stream_async`](AsyncOptions::stream_async), with a state for each item that runs, as in
    /// [`for_each_async`](Self::for_each_async): the body returns its result and the state. The states are finished before
    /// the stream gives `None`, or, if it is dropped earlier, when the last of its items is gone.
    ///
    /// # Panics
    /// As [`stream_async`](AsyncOptions::stream_async), also if making or finishing a state panics.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let counting = parallel::AsyncOptions::new().degree_of_parallelism(1)?.local(|| 0, |count| assert_eq!(count, 3));
    /// let numbered = counting.stream_async(["a", "b", "c"], |word, count| async move {
    ///     (format!("{word}{count}"), count + 1)
    /// });
    /// assert_eq!(task::block_on(numbered.to_vec()), ["a0", "b1", "c2"]);
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    #[doc(alias = "TransformBlock")]
    #[track_caller]
    pub fn stream_async<S, Fut, R>(
        self,
        source: S,
        body: impl Fn(S::Item, L) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, E::Output<R>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = (R, L)> + Send + 'static,
        R: Send + 'static,
    {
        let lending = Lending::new(self.init, self.finish, body);
        self.options.stream_async(source, move |item| {
            Arc::clone(&lending).run(item, |(value, state)| (value, Some(state)))
        })
    }

    /// As [`stream_async_unordered`](AsyncOptions::stream_async_unordered), with states as in
    /// [`stream_async`](Self::stream_async).
    ///
    /// # Panics
    /// As [`stream_async`](Self::stream_async).
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let options = parallel::AsyncOptions::new().local(String::new, drop);
    /// let lengths = options.stream_async_unordered(["one", "three"], |word, mut text| async move {
    ///     text.clear();
    ///     text.extend(word.chars().rev());
    ///     (text.len(), text)
    /// });
    /// assert_eq!(task::block_on(lengths.to_vec()).iter().sum::<usize>(), 8);
    /// ```
    #[track_caller]
    pub fn stream_async_unordered<S, Fut, R>(
        self,
        source: S,
        body: impl Fn(S::Item, L) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, E::Output<R>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = (R, L)> + Send + 'static,
        R: Send + 'static,
    {
        let lending = Lending::new(self.init, self.finish, body);
        self.options.stream_async_unordered(source, move |item| {
            Arc::clone(&lending).run(item, |(value, state)| (value, Some(state)))
        })
    }

    /// As [`try_stream_async`](AsyncOptions::try_stream_async), with states as in [`stream_async`](Self::stream_async).
    /// A state whose item fails is dropped with it.
    ///
    /// # Panics
    /// As [`stream_async`](Self::stream_async).
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let options = parallel::AsyncOptions::new().local(|| (), drop);
    /// let parsed = options.try_stream_async(["1", "x"], |text, state| async move {
    ///     Ok::<_, std::num::ParseIntError>((text.parse::<i32>()?, state))
    /// });
    /// assert!(task::block_on(parsed.try_to_vec()).is_err());
    /// ```
    #[track_caller]
    pub fn try_stream_async<S, Fut, R, Err>(
        self,
        source: S,
        body: impl Fn(S::Item, L) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, E::Output<Result<R, Err>>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = Result<(R, L), Err>> + Send + 'static,
        R: Send + 'static,
        Err: Send + 'static,
    {
        let lending = Lending::new(self.init, self.finish, body);
        self.options.try_stream_async(source, move |item| {
            Arc::clone(&lending).run(item, part_of_result)
        })
    }

    /// As [`try_stream_async_unordered`](AsyncOptions::try_stream_async_unordered), with states as in
    /// [`stream_async`](Self::stream_async). A state whose item fails is dropped with it.
    ///
    /// # Panics
    /// As [`stream_async`](Self::stream_async).
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let options = parallel::AsyncOptions::new().local(|| (), drop);
    /// let parsed = options.try_stream_async_unordered(["1", "2"], |text, state| async move {
    ///     Ok::<_, std::num::ParseIntError>((text.parse::<i32>()?, state))
    /// });
    /// let parsed = task::block_on(parsed.try_to_vec());
    /// assert_eq!(parsed.map(|numbers| numbers.iter().sum()), Ok(3));
    /// ```
    #[track_caller]
    pub fn try_stream_async_unordered<S, Fut, R, Err>(
        self,
        source: S,
        body: impl Fn(S::Item, L) -> Fut + Send + Sync + 'static,
    ) -> AsyncResults<'a, E::Output<Result<R, Err>>>
    where
        S: AsyncSource + 'a,
        Fut: Future<Output = Result<(R, L), Err>> + Send + 'static,
        R: Send + 'static,
        Err: Send + 'static,
    {
        let lending = Lending::new(self.init, self.finish, body);
        self.options
            .try_stream_async_unordered(source, move |item| {
                Arc::clone(&lending).run(item, part_of_result)
            })
    }
}
