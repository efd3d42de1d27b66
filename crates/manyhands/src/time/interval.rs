//! Periodic ticks.

use crate::recording::Site;
use crate::runtime::timers;
use crate::task::budget;
use crate::time::sleep::Sleep;
use crate::timer::Moment;
use futures_core::stream::{FusedStream, Stream};
use std::future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Ticks at once, and then every `period`.
///
/// # Panics
/// If the period is zero.
///
/// # Examples
/// ```
/// use manyhands::{task, time};
/// use std::time::Duration;
/// task::block_on(async {
///     let mut interval = time::interval(Duration::from_millis(2));
///     let first = interval.tick().await;
///     let second = interval.tick().await;
///     assert_eq!(second - first, Duration::from_millis(2));
/// });
/// ```
#[doc(alias = "PeriodicTimer")]
pub fn interval(period: Duration) -> Interval {
    Interval::new(timers::now(), period)
}

/// Ticks at `start`, and then every `period`. See [`interval`].
///
/// If `start` has passed, the first tick comes at once; [`MissedTickBehavior`] decides about the ticks missed since
/// then.
///
/// # Panics
/// If the period is zero.
///
/// # Examples
/// A first tick after one period:
/// ```
/// use manyhands::{task, time};
/// use std::time::Duration;
/// let period = Duration::from_millis(2);
/// let start = time::now();
/// let mut interval = time::interval_at(start + period, period);
/// assert_eq!(task::block_on(interval.tick()) - start, period);
/// ```
#[doc(alias = "PeriodicTimer")]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    Interval::new(Moment::of(start), period)
}

/// What an [`Interval`] does about ticks that were not awaited in time.
///
/// A tick counts as taken in time within 5 ms.
///
/// # Examples
/// Three and a half seconds late, on the clock of a [simulation](crate::simulation):
/// ```
/// use manyhands::simulation::Simulation;
/// use manyhands::time::{self, MissedTickBehavior};
/// use std::time::Duration;
///
/// let second_tick = |behavior| {
///     let ticks = async move {
///         let start = time::now();
///         let mut interval = time::interval(Duration::from_secs(1));
///         interval.set_missed_tick_behavior(behavior);
///         time::sleep(Duration::from_millis(3_500)).await;
///         interval.tick().await; // the one that was due at the start
///         interval.tick().await - start
///     };
///     Simulation::new(0).run(ticks).unwrap().as_secs_f64()
/// };
/// assert_eq!(second_tick(MissedTickBehavior::Burst), 1.0);
/// assert_eq!(second_tick(MissedTickBehavior::Delay), 4.5);
/// assert_eq!(second_tick(MissedTickBehavior::Skip), 4.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MissedTickBehavior {
    /// Catches up: missed ticks come one right after the other, until the schedule is met again.
    #[default]
    Burst,
    /// Continues from the time when the late tick was awaited: the next one comes a period after that.
    Delay,
    /// Leaves missed ticks out: the next tick is the next one on schedule.
    Skip,
}

impl MissedTickBehavior {
    /// The tick after the one that was due at `due` and was awaited at `now`.
    fn next(self, due: Moment, now: Moment, period: Duration) -> Moment {
        let late = now.since(due);
        if late <= LATE_MIN {
            return due.after(period);
        }
        match self {
            Self::Burst => due.after(period),
            Self::Delay => now.after(period),
            Self::Skip => {
                let since_last = late.as_nanos() % period.as_nanos();
                now.after(period - Duration::from_nanos_u128(since_last))
            }
        }
    }
}

/// Ticks, one after the other; made by [`interval`]. Also an endless [`Stream`] of them.
///
/// # Examples
/// ```
/// use manyhands::simulation::Simulation;
/// use manyhands::time::{self, MissedTickBehavior};
/// use std::future::poll_fn;
/// use std::time::Duration;
///
/// let ticks = Simulation::new(0).run(async {
///     let mut interval = time::interval(Duration::from_secs(60));
///     assert_eq!(interval.period(), Duration::from_secs(60));
///     assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Burst);
///     let first = interval.tick().await;
///     let second = poll_fn(|context| interval.poll_tick(context)).await; // in a future written by hand
///     second - first
/// });
/// assert_eq!(ticks, Ok(Duration::from_secs(60)));
/// ```
#[doc(alias("PeriodicTimer", "Timer"))]
#[derive(Debug)]
#[must_use = "an interval does nothing unless its ticks are waited for"]
pub struct Interval {
    sleep: Pin<Box<Sleep>>,
    period: Duration,
    behavior: MissedTickBehavior,
}

impl Interval {
    fn new(start: Moment, period: Duration) -> Self {
        refuse_zero(period);
        Self {
            sleep: Box::pin(Sleep::until(start)),
            period,
            behavior: MissedTickBehavior::default(),
        }
    }

    /// Waits for the next tick, and returns when it was due.
    ///
    /// # Cancellation
    /// Dropping the future loses no tick.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{task, time};
    /// use std::time::Duration;
    /// task::block_on(async {
    ///     let mut interval = time::interval(Duration::from_millis(1));
    ///     for _ in 0..3 {
    ///         interval.tick().await;
    ///     }
    /// });
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn tick(&mut self) -> impl Future<Output = Instant> {
        let site = Site::here();
        future::poll_fn(move |context| site.poll(|| self.poll_tick(context)))
    }

    /// Polls for the next tick; registers the task's waker if it has not come.
    ///
    /// Example: see [`Interval`].
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Instant> {
        let permit = ready!(budget::poll_proceed(context));
        let due = self.sleep.moment();
        if due > timers::now() {
            ready!(self.sleep.as_mut().poll_elapsed(context));
        }
        permit.charge();
        let next = self.behavior.next(due, timers::now(), self.period);
        // Another wait: who waited for this tick is not woken by the next one.
        self.sleep.set(Sleep::until(next));
        Poll::Ready(due.to_instant())
    }

    /// Lets the next tick come a period from now.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{task, time};
    /// use std::time::Duration;
    /// let mut interval = time::interval(Duration::from_millis(2));
    /// let start = time::now();
    /// interval.reset();                                            // no tick at once
    /// assert!(task::block_on(interval.tick()) - start >= Duration::from_millis(2));
    /// ```
    pub fn reset(&mut self) {
        let next = timers::now().after(self.period);
        self.sleep.as_mut().reset_to(next);
    }

    /// The time between two ticks.
    ///
    /// Example: see [`Interval`].
    #[must_use]
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Ticks every `period` from now on. The next tick comes a new period from now, also for a task that
    /// waits already.
    ///
    /// # Panics
    /// If the period is zero.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{task, time};
    /// use std::time::Duration;
    /// task::block_on(async {
    ///     let mut interval = time::interval(Duration::from_secs(3600));
    ///     interval.tick().await;
    ///     interval.set_period(Duration::from_millis(2));
    ///     interval.tick().await;
    /// });
    /// ```
    pub fn set_period(&mut self, period: Duration) {
        refuse_zero(period);
        self.period = period;
        self.reset();
    }

    /// What this interval does about missed ticks.
    ///
    /// Example: see [`Interval`].
    #[must_use]
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.behavior
    }

    /// Sets what this interval does about missed ticks.
    ///
    /// # Examples
    /// ```
    /// use manyhands::time::{self, MissedTickBehavior};
    /// use std::time::Duration;
    /// let mut interval = time::interval(Duration::from_millis(2));
    /// interval.set_missed_tick_behavior(MissedTickBehavior::Skip);
    /// assert_eq!(interval.missed_tick_behavior(), MissedTickBehavior::Skip);
    /// ```
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.behavior = behavior;
    }
}

impl Stream for Interval {
    type Item = Instant;

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.get_mut().poll_tick(context).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

/// It has no end.
impl FusedStream for Interval {
    fn is_terminated(&self) -> bool {
        false
    }
}

fn refuse_zero(period: Duration) {
    assert!(!period.is_zero(), "`period` must be non-zero");
}

/// A tick that is later than this counts as missed; less is normal for a timer.
const LATE_MIN: Duration = Duration::from_millis(5);
