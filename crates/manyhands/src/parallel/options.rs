//! How a call is run: degree of parallelism, cancellation, runtime, state for each runner, grouping.

use crate::cancel::Token;
use crate::engine::consumer::{Cancellable, Ending, Grouping, Uncancellable};
use crate::engine::{HelperPolicy, Plan, SharingPlan};
use crate::inspect::LoopSite;
use crate::parallel::limits::{Limits, LimitsError, or_panic};
use crate::runtime::Runtime;
use std::ops::RangeInclusive;

/// Options of a parallel call; made by [`options`]. The loops are methods of them.
///
/// With a [`cancellation`](Self::cancellation) token every call returns a `Result`; without one it returns
/// the plain value.
///
/// # Examples
/// ```
/// use manyhands::{cancel, parallel};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let source = cancel::Source::new();
/// let token = source.token();
/// let options = parallel::options().degree_of_parallelism(2).cancellation(&token);
///
/// let total = AtomicU64::new(0);
/// let add = |n| drop(total.fetch_add(n, Ordering::Relaxed));
/// options.for_each(1..=100, add)?;
/// options.for_each(vec![5, 50, 500], add)?;
/// assert_eq!(total.load(Ordering::Relaxed), 5_605);
/// assert_eq!(options.map(["many", "hands"], str::len)?, [4, 5]);
/// assert_eq!(options.find_first(1..1000, |n| n % 7 == 0)?, Some(7));
/// assert!(options.find_any(1..1000, |n| n % 7 == 0)?.is_some());
/// assert_eq!(options.invoke((|| 6 * 7, || "other"))?, (42, "other"));
///
/// source.cancel();
/// assert!(options.for_each(1..=100, add).is_err());
/// # Ok::<(), cancel::Cancelled>(())
/// ```
#[doc(alias = "ParallelOptions")]
#[derive(Debug, Clone, Copy)]
#[must_use = "options do nothing until a loop is called on them"]
pub struct Options<'a, E = Uncancellable> {
    degree: Option<Limits>,
    runtime: Option<&'a Runtime>,
    grouping: Grouping,
    found: Limits,
    /// The line that calls, if it is not the caller of the loop itself.
    site: Option<LoopSite>,
    ending: E,
}

/// Options with a state that each runner makes, keeps and finishes; made by [`Options::local`].
///
/// Example: see [`Options::local`].
#[derive(Debug)]
#[must_use = "options do nothing until a loop is called on them"]
pub struct LocalOptions<'a, Init, Finish, E = Uncancellable> {
    pub(super) options: Options<'a, E>,
    pub(super) init: Init,
    pub(super) finish: Finish,
}

/// Options to begin with: all workers, not cancellable, the current runtime.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let squares = parallel::options().degree_of_parallelism(2).map(0..4, |i| i * i);
/// assert_eq!(squares, [0, 1, 4, 9]);
/// ```
#[doc(alias = "ParallelOptions")]
pub fn options() -> Options<'static> {
    Options {
        degree: None,
        runtime: None,
        grouping: Grouping::Any,
        found: Limits::ADAPTIVE,
        site: None,
        ending: Uncancellable,
    }
}

impl<'a, E> Options<'a, E> {
    /// Options of an operation that runs as part of another call, with this plan.
    pub(crate) fn planned(plan: &Plan<'a>, ending: E) -> Self {
        Self {
            degree: plan.sharing.degree.map(|count| Limits {
                min: count,
                max: count,
            }),
            runtime: plan.sharing.runtime,
            grouping: Grouping::Any,
            found: Limits::ADAPTIVE,
            site: Some(plan.site),
            ending,
        }
    }

    /// At most `count` bodies run at once. With 1 they run one after the other, in order, on the caller.
    ///
    /// In an async loop exactly this number of items run at once as long as the source has as many; with 1, one after
    /// the other, in order.
    ///
    /// # Panics
    /// If `count` is 0. [`try_degree_of_parallelism`](Self::try_degree_of_parallelism) returns an error instead.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let order = std::sync::Mutex::new(Vec::new());
    /// parallel::options().degree_of_parallelism(1).for_each(0..100, |i| order.lock().unwrap().push(i));
    /// assert!(order.into_inner().unwrap().is_sorted());
    /// ```
    #[doc(alias = "MaxDegreeOfParallelism")]
    #[doc(alias = "num_threads")]
    #[track_caller]
    pub fn degree_of_parallelism(self, count: usize) -> Self {
        or_panic(self.try_degree_of_parallelism(count))
    }

    /// As [`degree_of_parallelism`](Self::degree_of_parallelism), for a number that comes from elsewhere.
    ///
    /// Example: see [`LimitsError`].
    ///
    /// # Errors
    /// [`LimitsError`] if `count` is 0.
    pub fn try_degree_of_parallelism(self, count: usize) -> Result<Self, LimitsError> {
        let degree = Some(Limits::exactly(count)?);
        Ok(Self { degree, ..self })
    }

    /// An async loop chooses the number of items that run at once between these limits. Other loops ignore it.
    ///
    /// # Panics
    /// If the lower limit is 0 or above the higher one. [`try_concurrency_between`](Self::try_concurrency_between)
    /// returns an error instead.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let options = parallel::options().concurrency_between(4..=64);
    /// let squares = task::block_on(options.map_async(0..100_u64, |i| async move { i * i }));
    /// assert_eq!(squares[99], 9_801);
    /// ```
    #[track_caller]
    pub fn concurrency_between(self, limits: RangeInclusive<usize>) -> Self {
        or_panic(self.try_concurrency_between(limits))
    }

    /// As [`concurrency_between`](Self::concurrency_between), for limits that come from elsewhere.
    ///
    /// Example: see [`LimitsError`].
    ///
    /// # Errors
    /// [`LimitsError`] if the lower limit is 0 or above the higher one.
    pub fn try_concurrency_between(
        self,
        limits: RangeInclusive<usize>,
    ) -> Result<Self, LimitsError> {
        let found = Limits::between(limits)?;
        Ok(Self { found, ..self })
    }

    /// Ends the call early when the token is cancelled; it then returns [`Cancelled`](crate::cancel::Cancelled).
    /// Running bodies are not interrupted, but items of async loops are dropped at their next suspension.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{cancel, parallel};
    /// let source = cancel::Source::new();
    /// let token = source.token();
    /// let squares = parallel::options().cancellation(&token).map(0..4, |i| i * i);
    /// assert_eq!(squares, Ok(vec![0, 1, 4, 9]));
    /// source.cancel();
    /// assert!(parallel::options().cancellation(&token).map(0..4, |i| i * i).is_err());
    /// ```
    pub fn cancellation<'b>(self, token: &'b Token) -> Options<'b, Cancellable<'b>>
    where
        'a: 'b,
    {
        Options {
            degree: self.degree,
            runtime: self.runtime,
            grouping: self.grouping,
            found: self.found,
            site: self.site,
            ending: Cancellable(token),
        }
    }

    /// Runs on this runtime instead of the current one.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, parallel};
    /// let runtime = Runtime::builder().workers(2).build()?;
    /// let sum: u32 = parallel::options().runtime(&runtime).sum(0..100);
    /// assert_eq!(sum, 4950);
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "TaskScheduler")]
    pub fn runtime<'b>(self, runtime: &'b Runtime) -> Options<'b, E>
    where
        'a: 'b,
    {
        Options {
            degree: self.degree,
            runtime: Some(runtime),
            grouping: self.grouping,
            found: self.found,
            site: self.site,
            ending: self.ending,
        }
    }

    /// Makes reductions group their values by the source's length alone, so that floating-point results
    /// repeat bit for bit, whatever the number of workers.
    ///
    /// Fixed blocks instead of the loop's usual ones, a few percent; and a partial result for each block that ends before
    /// an earlier one, of at most 1,024 where the number of items is known.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let roots = parallel::map(0..100_000_u32, |n| f64::from(n).sqrt());
    /// let sum = |degree| -> f64 {
    ///     parallel::options().deterministic().degree_of_parallelism(degree).sum(&roots)
    /// };
    /// assert_eq!(sum(1).to_bits(), sum(4).to_bits());
    /// ```
    pub fn deterministic(self) -> Self {
        Self {
            grouping: Grouping::Fixed,
            ..self
        }
    }

    /// Gives each runner a state of its own: `init` makes it before the runner's first body, `finish` receives it
    /// after the last, also when a body panicked. A helper that leaves the loop for a while, for tasks that wait or
    /// because it slows the others down, finishes its state, and makes another when it comes back.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// let total = AtomicU64::new(0);
    /// let outcome = parallel::options()
    ///     .local(|| 0, |sum| { total.fetch_add(sum, Ordering::Relaxed); })
    ///     .for_each(0..1000_u64, |i, _control, sum| *sum += i);
    /// assert!(outcome.is_completed());
    /// assert_eq!(total.into_inner(), 499_500);
    /// ```
    #[doc(alias = "for_each_with")]
    #[doc(alias = "map_init")]
    #[doc(alias = "ThreadLocal")]
    #[doc(alias = "localInit")]
    #[doc(alias = "localFinally")]
    #[doc(alias = "for_each_init")]
    pub fn local<L, Init, Finish>(
        &self,
        init: Init,
        finish: Finish,
    ) -> LocalOptions<'a, Init, Finish, E>
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
    pub(super) fn site(&self) -> LoopSite {
        match self.site {
            Some(site) => site,
            None => LoopSite::here(),
        }
    }

    #[track_caller]
    pub(super) fn plan(&self) -> Plan<'_> {
        Plan {
            sharing: SharingPlan {
                degree: self.degree.map(|exactly| exactly.max),
                runtime: self.runtime,
                helpers: HelperPolicy::WhenItPays,
                share_nanos_min: 0,
            },
            site: self.site(),
        }
    }

    /// How many items of an async loop may run at once.
    pub(super) fn limits(&self) -> Limits {
        self.degree.unwrap_or(self.found)
    }

    /// Whether more than one runner is allowed.
    pub(super) fn may_share(&self) -> bool {
        self.degree.is_none_or(|exactly| exactly.max > 1)
    }

    /// The number of runners to divide work among: at most the number of workers.
    pub(super) fn runners(&self, workers: usize) -> usize {
        self.degree
            .map_or(workers, |exactly| exactly.max.min(workers))
    }

    pub(super) fn chosen_runtime(&self) -> Option<&'a Runtime> {
        self.runtime
    }

    pub(super) fn grouping(&self) -> Grouping {
        self.grouping
    }
}

impl<E: Ending> Options<'_, E> {
    pub(crate) fn ending(&self) -> E {
        self.ending
    }
}
