//! How an async loop is run: how many items at once, cancellation, runtime, states of items.

use crate::cancel::Token;
use crate::parallel::{Concurrency, ConcurrencyError, LocalOptions};
use crate::runtime::Runtime;

/// Options of an async loop. The loops are methods of them.
///
/// With a [`cancellation`](Self::cancellation) token every loop returns a `Result`; without one it returns the plain value.
///
/// # Examples
/// ```
/// use manyhands::{cancel, parallel, task};
/// let source = cancel::TokenSource::new();
/// let token = source.token();
/// let options = parallel::AsyncOptions::new().degree_of_parallelism(40)?.cancellation(&token);
/// let squares = task::block_on(options.map_async(0..4, |i| async move { i * i }));
/// assert_eq!(squares, Ok(vec![0, 1, 4, 9]));
/// # Ok::<(), parallel::ConcurrencyError>(())
/// ```
#[doc(alias = "ParallelOptions")]
#[derive(Debug, Clone, Copy)]
#[must_use = "options do nothing until a loop is called on them"]
pub struct AsyncOptions<'a, E = ()> {
    pub(super) concurrency: Concurrency,
    pub(super) runtime: Option<&'a Runtime>,
    pub(super) ending: E,
}

impl AsyncOptions<'static> {
    /// Options to begin with: the number of items that run at once is found, not cancellable, the current runtime.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let options = parallel::AsyncOptions::new().degree_of_parallelism(4..=64)?;
    /// let squares = task::block_on(options.map_async(0..100_u64, |i| async move { i * i }));
    /// assert_eq!(squares[99], 9_801);
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    pub fn new() -> Self {
        Self::planned(None, None)
    }
}

impl Default for AsyncOptions<'static> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> AsyncOptions<'a> {
    /// Options of a loop that is part of another call, with a degree that was checked there.
    pub(crate) fn planned(degree: Option<usize>, runtime: Option<&'a Runtime>) -> Self {
        let exactly = degree.and_then(|count| Concurrency::try_from(count).ok());
        AsyncOptions {
            concurrency: exactly.unwrap_or(Concurrency::ADAPTIVE),
            runtime,
            ending: (),
        }
    }
}

impl<'a, E> AsyncOptions<'a, E> {
    /// This number of items runs at once, as long as the source has as many; with 1, one after the other, in order. Given a
    /// range, the loop finds the best number in it.
    ///
    /// # Errors
    /// [`ConcurrencyError`] if the number or the lower limit is 0, or the limits are reversed.
    ///
    /// Example: see [`AsyncOptions::new`].
    #[doc(alias("Semaphore", "SemaphoreSlim"))]
    #[doc(alias("MaxDegreeOfParallelism", "buffer_unordered"))]
    pub fn degree_of_parallelism(
        self,
        at_once: impl TryInto<Concurrency, Error: Into<ConcurrencyError>>,
    ) -> Result<Self, ConcurrencyError> {
        let concurrency = at_once.try_into().map_err(Into::into)?;
        Ok(Self {
            concurrency,
            ..self
        })
    }

    /// Ends the loop early when the token is cancelled; it then returns [`Cancelled`](crate::cancel::Cancelled). Items that
    /// run are dropped at their next suspension.
    ///
    /// Example: see [`AsyncOptions`].
    pub fn cancellation<'b>(self, token: &'b Token) -> AsyncOptions<'b, &'b Token>
    where
        'a: 'b,
    {
        AsyncOptions {
            concurrency: self.concurrency,
            runtime: self.runtime,
            ending: token,
        }
    }

    /// Runs the items on this runtime instead of the current one.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, parallel, task};
    /// let runtime = Runtime::builder().workers(2).build()?;
    /// let options = parallel::AsyncOptions::new().runtime(&runtime);
    /// assert_eq!(task::block_on(options.map_async(0..4, |i| async move { i * i })), [0, 1, 4, 9]);
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "TaskScheduler")]
    pub fn runtime<'b>(self, runtime: &'b Runtime) -> AsyncOptions<'b, E>
    where
        'a: 'b,
    {
        let runtime = Some(runtime);
        AsyncOptions { runtime, ..self }
    }

    /// Gives each item that runs a state, such as a connection: `init` makes it, the body takes it and gives it back for the
    /// next item, `finish` receives it at the loop's end. There are never more states than items run at once.
    ///
    /// Example: see [`LocalOptions::for_each_async`].
    #[doc(alias("localInit", "localFinally"))]
    pub fn local<L, Init, Finish>(
        &self,
        init: Init,
        finish: Finish,
    ) -> LocalOptions<Self, Init, Finish>
    where
        Init: Fn() -> L,
        Finish: Fn(L),
        E: Copy,
    {
        LocalOptions {
            options: *self,
            init,
            finish,
        }
    }
}
