//! How a loop is run: degree of parallelism, cancellation, runtime, state for each runner.
//!
//! Not here: options of async loops (`async_loop/options.rs`).

use crate::cancel::Token;
use crate::engine::{Plan, SharingPlan};
use crate::parallel::{Concurrency, ConcurrencyError};
use crate::recording::Site;
use crate::runtime::Runtime;

/// Options of a parallel call. The loops are methods of them.
///
/// With a [`cancellation`](Self::cancellation) token every call returns a `Result`; without one it returns
/// the plain value.
///
/// # Examples
/// ```
/// use manyhands::{cancel, parallel};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let source = cancel::TokenSource::new();
/// let token = source.token();
/// let options = parallel::Options::new().degree_of_parallelism(2)?.cancellation(&token);
///
/// let total = AtomicU64::new(0);
/// let add = |n| drop(total.fetch_add(n, Ordering::Relaxed));
/// options.for_each(1..=100, add)?;
/// options.for_each(vec![5, 50, 500], add)?;
/// assert_eq!(total.load(Ordering::Relaxed), 5_605);
/// assert_eq!(options.map(["many", "hands"], str::len)?, [4, 5]);
/// assert_eq!(options.invoke((|| 6 * 7, || "other"))?, (42, "other"));
///
/// source.cancel();
/// assert!(options.for_each(1..=100, add).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "ParallelOptions")]
#[derive(Debug, Clone, Copy)]
#[must_use = "options do nothing until a loop is called on them"]
pub struct Options<'a, E = ()> {
    degree: Option<usize>,
    pub(super) runtime: Option<&'a Runtime>,
    /// The line that calls, if it is not the caller of the loop itself.
    site: Option<Site>,
    pub(super) ending: E,
}

/// Options with a state that each runner makes, keeps and finishes; made by [`Options::local`], and by
/// [`AsyncOptions::local`](crate::parallel::AsyncOptions::local).
///
/// Example: see [`Options::local`].
#[derive(Debug)]
#[must_use = "options do nothing until a loop is called on them"]
pub struct LocalOptions<O, Init, Finish> {
    pub(super) options: O,
    pub(super) init: Init,
    pub(super) finish: Finish,
}

impl<E: Copy, Init, Finish> LocalOptions<Options<'_, E>, Init, Finish> {
    /// The same options, for a loop that is called within a closure.
    #[track_caller]
    pub(super) fn called_here(&self) -> LocalOptions<Options<'_, E>, &Init, &Finish> {
        LocalOptions {
            options: self.options.called_here(),
            init: &self.init,
            finish: &self.finish,
        }
    }
}

impl Options<'static> {
    /// Options to begin with: all workers, not cancellable, the current runtime.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let squares = parallel::Options::new().degree_of_parallelism(2)?.map(0..4, |i| i * i);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    pub fn new() -> Self {
        Self {
            degree: None,
            runtime: None,
            site: None,
            ending: (),
        }
    }
}

impl Default for Options<'static> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Options<'a> {
    /// Ends the call early when the token is cancelled; it then returns [`Cancelled`](crate::cancel::Cancelled).
    /// Running bodies are not interrupted.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel, parallel};
    /// let source = cancel::TokenSource::new();
    /// let token = source.token();
    /// let squares = parallel::Options::new().cancellation(&token).map(0..4, |i| i * i);
    /// assert_eq!(squares, Ok(vec![0, 1, 4, 9]));
    /// source.cancel();
    /// assert!(parallel::Options::new().cancellation(&token).map(0..4, |i| i * i).is_err());
    /// ```
    pub fn cancellation<'b>(self, token: &'b Token) -> Options<'b, &'b Token>
    where
        'a: 'b,
    {
        self.ending_as(token)
    }

    /// The same options for calls that end in this way.
    pub(super) fn ending_as<E>(self, ending: E) -> Options<'a, E> {
        Options {
            degree: self.degree,
            runtime: self.runtime,
            site: self.site,
            ending,
        }
    }
}

impl<'a, E> Options<'a, E> {
    /// Options of an operation that runs as part of another call, with this plan.
    pub(crate) fn planned(plan: &Plan<'a>, ending: E) -> Self {
        Self {
            degree: plan.sharing.degree,
            runtime: plan.sharing.runtime,
            site: Some(plan.site),
            ending,
        }
    }

    /// At most `count` bodies run at once. With 1 they run one after the other, in order, on the caller.
    ///
    /// # Errors
    /// [`ConcurrencyError`] if `count` is 0.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let order = std::sync::Mutex::new(Vec::new());
    /// parallel::Options::new().degree_of_parallelism(1)?.for_each(0..100, |i| order.lock().unwrap().push(i));
    /// assert!(order.into_inner().unwrap().is_sorted());
    /// assert!(parallel::Options::new().degree_of_parallelism(0).is_err());
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    #[doc(alias("MaxDegreeOfParallelism", "num_threads", "with_min_len"))]
    pub fn degree_of_parallelism(self, count: usize) -> Result<Self, ConcurrencyError> {
        let degree = Some(Concurrency::try_from(count)?.max());
        Ok(Self { degree, ..self })
    }

    /// Runs on this runtime instead of the current one.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, parallel};
    /// let runtime = Runtime::builder().workers(2).build()?;
    /// let squares = parallel::Options::new().runtime(&runtime).map(0..4, |i| i * i);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "TaskScheduler")]
    pub fn runtime<'b>(self, runtime: &'b Runtime) -> Options<'b, E>
    where
        'a: 'b,
    {
        let runtime = Some(runtime);
        Options { runtime, ..self }
    }

    /// Gives each runner, a thread that takes part in the loop, a state of its own: `init` makes it before the runner's
    /// first body, `finish` receives it after the last, also when a body panicked. A runner that leaves the loop for a
    /// while, for tasks that wait or because it slows the others down, finishes its state, and makes another when it comes
    /// back.
    ///
    /// The bodies of `for_each` and `try_for_each` get the item, a [`Control`](crate::parallel::Control) and the state,
    /// those of `map` and `try_map` the item and the state.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let total = AtomicU64::new(0);
    /// let outcome = parallel::Options::new()
    ///     .local(|| 0, |sum| { total.fetch_add(sum, Ordering::Relaxed); })
    ///     .for_each(0..1000_u64, |i, _control, sum| *sum += i);
    /// assert!(outcome.is_completed());
    /// assert_eq!(total.into_inner(), 499_500);
    /// ```
    #[doc(alias("for_each_with", "map_init", "ThreadLocal", "localInit"))]
    #[doc(alias("localFinally", "for_each_init"))]
    pub fn local<L, Init, Finish>(
        &self,
        init: Init,
        finish: Finish,
    ) -> LocalOptions<Self, Init, Finish>
    where
        Init: Fn() -> L + Sync,
        Finish: Fn(L) + Sync,
        E: Copy,
    {
        LocalOptions {
            options: *self,
            init,
            finish,
        }
    }

    /// The same options, for all loops of an operation that is called here.
    #[track_caller]
    pub(super) fn called_here(&self) -> Self
    where
        E: Copy,
    {
        Self {
            site: Some(self.site()),
            ..*self
        }
    }

    /// The line that calls.
    #[inline]
    #[track_caller]
    pub(super) fn site(&self) -> Site {
        match self.site {
            Some(site) => site,
            None => Site::here(),
        }
    }

    #[track_caller]
    pub(super) fn plan(&self) -> Plan<'_> {
        let sharing = SharingPlan {
            runtime: self.runtime,
            ..SharingPlan::when_it_pays(self.degree)
        };
        let site = self.site();
        Plan { sharing, site }
    }

    /// Whether more than one runner is allowed.
    pub(super) fn may_share(&self) -> bool {
        self.degree.is_none_or(|count| count > 1)
    }

    /// The number of runners to divide work among: at most the number of workers.
    pub(super) fn runners(&self, workers: usize) -> usize {
        self.degree.map_or(workers, |count| count.min(workers))
    }
}
