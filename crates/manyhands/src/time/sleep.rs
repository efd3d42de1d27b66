//! The future that is ready at a deadline.
//!
//! Unsafe: the timer is reached through the pinned future.

use crate::job::wake_by_ref;
use crate::recording::{self, Awaited, WaitKind};
use crate::runtime::timers;
use crate::task::budget;
use crate::timer::{Entry, EntryState, Moment};
use futures_core::future::FusedFuture;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// Waits until `duration` has passed from now. [`sleep_blocking`](super::sleep_blocking) waits on the thread.
///
/// A duration beyond the clock's range never ends. A deadline that has passed already yields to other tasks
/// once, and is ready then.
///
/// # Cost
/// No allocation. Of making, setting and cancelling a timer, reading the clock twice takes the most.
///
/// # Cancellation
/// Dropping it cancels the timer, in constant time, from any thread.
///
/// # Examples
/// ```
/// use manyhands::{task, time};
/// use std::time::Duration;
/// let waited = task::spawn(async {
///     let start = time::now();
///     time::sleep(Duration::from_millis(5)).await;
///     time::now() - start
/// });
/// assert!(waited.join().unwrap() >= Duration::from_millis(5));
/// ```
#[doc(alias = "Task.Delay")]
#[must_use = "a future does nothing unless awaited; await it, or call `sleep_blocking`"]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep::until(timers::now().after(duration))
}

/// Waits until `deadline`. See [`sleep`].
///
/// # Examples
/// ```
/// use manyhands::{task, time};
/// use std::time::Duration;
/// let deadline = time::now() + Duration::from_millis(5);
/// task::block_on(time::sleep_until(deadline));
/// assert!(time::now() >= deadline);
/// ```
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::until(Moment::of(deadline))
}

/// The future of [`sleep`] and [`sleep_until`].
///
/// # Examples
/// ```
/// use manyhands::simulation::Simulation;
/// use manyhands::time;
/// use std::pin::pin;
/// use std::time::Duration;
///
/// Simulation::new(0).run(async {
///     let mut sleep = pin!(time::sleep(Duration::from_secs(3_600)));
///     assert!(!sleep.is_elapsed());
///     sleep.as_mut().await;
///     assert!(sleep.is_elapsed());
/// }).unwrap();
/// ```
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep {
    entry: Entry,
    /// Whether it was ready, since the deadline was set.
    is_over: bool,
}

impl Sleep {
    pub(super) fn until(deadline: Moment) -> Self {
        Self {
            entry: Entry::new(deadline),
            is_over: false,
        }
    }

    /// When it is due.
    ///
    /// # Examples
    /// ```
    /// use manyhands::time;
    /// let deadline = time::now() + std::time::Duration::from_secs(1);
    /// let sleep = time::sleep_until(deadline);
    /// assert!(sleep.deadline() == deadline && !sleep.is_elapsed());
    /// ```
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.moment().to_instant()
    }

    /// Whether the deadline has passed. Reads the clock.
    ///
    /// Example: see [`Sleep`].
    #[must_use]
    pub fn is_elapsed(&self) -> bool {
        self.entry.is_fired() || self.moment() <= timers::now()
    }

    /// Sets another deadline, whether the old one has passed or not. A task that awaits this is woken at the new
    /// deadline instead.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{task, time};
    /// use std::pin::pin;
    /// use std::time::Duration;
    /// let mut sleep = pin!(time::sleep(Duration::from_secs(3600)));
    /// sleep.as_mut().reset(time::now() + Duration::from_millis(2));
    /// task::block_on(sleep);
    /// ```
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.reset_to(Moment::of(deadline));
    }

    pub(super) fn reset_to(mut self: Pin<&mut Self>, deadline: Moment) {
        *self.as_mut().is_over_mut() = false;
        let mut entry = self.entry();
        let waker = entry.as_mut().cancel();
        entry.as_mut().set_deadline(deadline);
        if let Some(waker) = waker {
            timers::link(entry, timers::now(), waker);
        }
    }

    pub(super) fn moment(&self) -> Moment {
        self.entry.deadline()
    }

    /// As `poll`, but ignores the task's budget.
    #[cfg_attr(feature = "inspect", track_caller)]
    pub(super) fn poll_elapsed(mut self: Pin<&mut Self>, context: &Context<'_>) -> Poll<()> {
        let polled = self.as_mut().poll_entry(context);
        if polled.is_pending() {
            let awaited = || Awaited::Thing(WaitKind::Timer, 0);
            recording::waits(&*self, context.waker(), awaited);
        }
        polled
    }

    fn poll_entry(self: Pin<&mut Self>, context: &Context<'_>) -> Poll<()> {
        let mut entry = self.entry();
        match entry.as_mut().poll(context.waker()) {
            EntryState::Fired => return Poll::Ready(()),
            EntryState::Waiting => return Poll::Pending,
            EntryState::Idle => {}
        }
        let now = timers::now();
        if entry.deadline() <= now {
            entry.set_fired();
            wake_by_ref(context.waker());
        } else {
            timers::link(entry, now, context.waker().clone());
        }
        Poll::Pending
    }

    fn entry(self: Pin<&mut Self>) -> Pin<&mut Entry> {
        // SAFETY: the entry is pinned with the future: nothing moves it, not even the future's own `Drop`.
        unsafe { self.map_unchecked_mut(|sleep| &mut sleep.entry) }
    }

    fn is_over_mut(self: Pin<&mut Self>) -> &mut bool {
        // SAFETY: nothing is moved; a plain value is not pinned.
        unsafe { &mut self.get_unchecked_mut().is_over }
    }
}

impl Future for Sleep {
    type Output = ();

    #[cfg_attr(feature = "inspect", track_caller)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let permit = ready!(budget::poll_proceed(context));
        ready!(self.as_mut().poll_elapsed(context));
        permit.charge();
        *self.is_over_mut() = true;
        Poll::Ready(())
    }
}

/// Terminated once it was ready, until [`reset`](Sleep::reset).
impl FusedFuture for Sleep {
    fn is_terminated(&self) -> bool {
        self.is_over
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        recording::forget(self);
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("deadline", &self.deadline())
            .finish_non_exhaustive()
    }
}
