//! Async loops that lend a state to each item.
//!
//! Not here: how items run. These are ordinary loops whose body takes a state and gives it back.

use super::options::AsyncOptions;
use super::{AsyncLoop, AsyncSource};
use crate::engine::consumer::Ending;
use crate::job::{Payload, catch, resume_all};
use crate::parallel::failure::Failures;
use crate::parallel::options::LocalOptions;
use crate::sync::{Mutex, lock};
use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::Poll;

/// What the items of a loop share: the states that no item uses at the moment, how to make more, and the body.
struct Lending<L, Init, F> {
    idle: Mutex<Vec<L>>,
    init: Init,
    body: F,
}

impl<L, Init: Fn() -> L, F> Lending<L, Init, F> {
    fn new(init: Init, body: F) -> Arc<Self> {
        let idle = Mutex::new(Vec::new());
        Arc::new(Self { idle, init, body })
    }

    fn take(&self) -> L {
        let kept = lock(&self.idle).pop();
        kept.unwrap_or_else(&self.init)
    }

    fn give_back(&self, state: L) {
        lock(&self.idle).push(state);
    }
}

/// The loop, which finishes its states at the end.
fn finishing<'a, T, L, Init, F>(
    looping: AsyncLoop<'a, T>,
    lending: Arc<Lending<L, Init, F>>,
    finish: impl Fn(L) + Send + 'a,
) -> AsyncLoop<'a, T>
where
    T: Send + 'a,
    Lending<L, Init, F>: Send + Sync + 'a,
{
    let AsyncLoop { mut run, control } = looping;
    let run = Box::pin(async move {
        let ended = poll_fn(|context| match catch(|| run.as_mut().poll(context)) {
            Ok(polled) => polled.map(Ok),
            Err(payload) => Poll::Ready(Err(payload)),
        });
        let mut panics: Vec<Payload> = Vec::new();
        let output = ended.await.map_err(|payload| panics.push(payload));
        let states = mem::take(&mut *lock(&lending.idle));
        let finished = states.into_iter().map(|state| catch(|| finish(state)));
        panics.extend(finished.filter_map(Result::err));
        resume_all(panics);
        output.expect("a loop without an output has panicked")
    });
    AsyncLoop { run, control }
}

impl<'a, L, Init, Finish, E> LocalOptions<AsyncOptions<'a, E>, Init, Finish>
where
    L: Send + 'static,
    Init: Fn() -> L + Send + Sync + 'static,
    Finish: Fn(L) + Send + Sync + 'static,
    E: Ending<Output<()>: Send> + Send + 'a,
{
    /// As [`for_each_async`](crate::parallel::for_each_async), with a state for each item that runs, such as a
    /// connection: the body takes one and gives it back for the next. There are never more states than items run at
    /// once. The loop finishes them at its end.
    ///
    /// A state whose item panics, or is cancelled, is dropped with it and not finished.
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
    /// let options = parallel::async_options().degree_of_parallelism(4)?.local(|| 0_u64, finish);
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
        S: AsyncSource<Item: Send + 'static, Items: Send> + Send + 'a,
        Fut: Future<Output = L> + Send + 'static,
    {
        let lending = Lending::new(self.init, body);
        let lender = Arc::clone(&lending);
        let looping = self.options.for_each_async(source, move |item| {
            let lender = Arc::clone(&lender);
            async move {
                let state = (lender.body)(item, lender.take()).await;
                lender.give_back(state);
            }
        });
        finishing(looping, lending, self.finish)
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
    /// let options = parallel::async_options().local(Vec::new, |seen: Vec<i32>| assert!(seen.len() < 3));
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
        S: AsyncSource<Item: Send + 'static, Items: Send> + Send + 'a,
        Fut: Future<Output = Result<L, Err>> + Send + 'static,
        Err: Send + 'static,
    {
        let lending = Lending::new(self.init, body);
        let lender = Arc::clone(&lending);
        let looping = self.options.try_for_each_async(source, move |item| {
            let lender = Arc::clone(&lender);
            async move {
                let state = (lender.body)(item, lender.take()).await?;
                lender.give_back(state);
                Ok(())
            }
        });
        finishing(looping, lending, self.finish)
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
    /// let options = parallel::async_options().local(|| String::with_capacity(64), drop);
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
        E: Ending<Output<Vec<R>>: Send>,
        S: AsyncSource<Item: Send + 'static, Items: Send> + Send + 'a,
        Fut: Future<Output = (R, L)> + Send + 'static,
        R: Send + 'static,
    {
        let lending = Lending::new(self.init, body);
        let lender = Arc::clone(&lending);
        let looping = self.options.map_async(source, move |item| {
            let lender = Arc::clone(&lender);
            async move {
                let (value, state) = (lender.body)(item, lender.take()).await;
                lender.give_back(state);
                value
            }
        });
        finishing(looping, lending, self.finish)
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
    /// let options = parallel::async_options().local(String::new, drop);
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
        S: AsyncSource<Item: Send + 'static, Items: Send> + Send + 'a,
        Fut: Future<Output = Result<(R, L), Err>> + Send + 'static,
        R: Send + 'static,
        Err: Send + 'static,
    {
        let lending = Lending::new(self.init, body);
        let lender = Arc::clone(&lending);
        let looping = self.options.try_map_async(source, move |item| {
            let lender = Arc::clone(&lender);
            async move {
                let (value, state) = (lender.body)(item, lender.take()).await?;
                lender.give_back(state);
                Ok(value)
            }
        });
        finishing(looping, lending, self.finish)
    }
}
