//! Async loops whose items are lent a state each.
//!
//! Not here: how items run; these are loops like any other, with a body that takes a state and gives it back.

use super::{AsyncLoop, AsyncSource};
use crate::job::{Payload, catch, resume_all};
use crate::parallel::consumer::Ending;
use crate::parallel::options::LocalOptions;
use crate::sync::{Mutex, lock};
use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::Poll;

impl<'a, L, Init, Finish, E> LocalOptions<'a, Init, Finish, E>
where
    L: Send + 'static,
    Init: Fn() -> L + Send + Sync + 'static,
    Finish: Fn(L) + Send + Sync + 'static,
    E: Ending<Output<()>: Send> + Send + 'a,
{
    /// As [`for_each_async`](crate::parallel::for_each_async), with a state for each item that runs, such as
    /// a connection: the body takes one and gives it back for the next. There are never more states than
    /// items run at once; those that are there when the loop has ended are finished.
    ///
    /// A state whose item panics, or is cancelled, is dropped with it and not finished.
    ///
    /// # Panics
    /// As [`for_each_async`](crate::parallel::for_each_async), also if the making of a state or its finish
    /// does.
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
    /// let options = parallel::options().degree_of_parallelism(4).local(|| 0_u64, finish);
    /// task::block_on(options.for_each_async(1..=100, |n, sum| async move { sum + n }));
    /// assert_eq!(total.load(Ordering::Relaxed), 5_050);
    /// ```
    pub fn for_each_async<S, Fut>(
        self,
        source: S,
        body: impl Fn(S::Item, L) -> Fut + Send + Sync + 'static,
    ) -> AsyncLoop<'a, E::Output<()>>
    where
        S: AsyncSource<Item: Send + 'static, Items: Send> + Send + 'a,
        Fut: Future<Output = L> + Send + 'static,
    {
        let Self {
            options,
            init,
            finish,
        } = self;
        let idle = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::new((Arc::clone(&idle), init, body));
        let AsyncLoop { mut run, desk } = options.for_each_async(source, move |item| {
            let shared = Arc::clone(&shared);
            async move {
                let (idle, init, body) = &*shared;
                let kept = lock(idle).pop();
                let state = body(item, kept.unwrap_or_else(init)).await;
                lock(idle).push(state);
            }
        });
        let run = Box::pin(async move {
            let ended = poll_fn(|context| match catch(|| run.as_mut().poll(context)) {
                Ok(polled) => polled.map(Ok),
                Err(payload) => Poll::Ready(Err(payload)),
            });
            let mut panics: Vec<Payload> = Vec::new();
            let output = ended.await.map_err(|payload| panics.push(payload));
            let states = mem::take(&mut *lock(&idle));
            let finished = states.into_iter().map(|state| catch(|| finish(state)));
            panics.extend(finished.filter_map(Result::err));
            resume_all(panics);
            output.expect("a loop without an output has panicked")
        });
        AsyncLoop { run, desk }
    }
}
