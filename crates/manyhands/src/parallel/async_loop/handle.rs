//! A handle to an async loop while it runs, which can change its limits.

use crate::inspect;
use crate::job::wake;
use crate::parallel::limits::{Limits, LimitsError, or_panic};
use crate::sync::{Mutex, lock};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::task::Waker;

/// Reports the progress of an async loop, and changes how many of its items may run at once.
///
/// Made by [`AsyncLoop::handle`](super::AsyncLoop::handle) and [`AsyncResults::handle`](super::AsyncResults::handle);
/// copies belong to the same loop.
///
/// # Cost
/// A short lock for each call; a new limit also wakes the loop. None of the calls blocks.
///
/// # Examples
/// ```
/// use manyhands::{parallel, task};
/// let looping = parallel::for_each_async(0..100, |_| async {});
/// let handle = looping.handle();
/// assert_eq!((handle.begun(), handle.concurrency()), (0, 0)); // it has not been polled
///
/// handle.set_concurrency_between(1..=8);
/// assert!(handle.try_set_concurrency(0).unwrap_err().is_zero());
/// assert!(handle.try_set_concurrency_between(8..=1).unwrap_err().is_reversed());
/// task::block_on(looping);
/// assert_eq!((handle.begun(), handle.running()), (100, 0));
/// assert!((1..=8).contains(&handle.concurrency()));
/// ```
#[derive(Debug, Clone)]
pub struct LoopHandle {
    control: Arc<LoopControl>,
}

/// What a loop and its handles share.
#[derive(Debug, Default)]
pub(super) struct LoopControl(Mutex<LoopControlState>);

#[derive(Debug, Default)]
struct LoopControlState {
    /// New limits that the loop has not taken over yet.
    new_limits: Option<Limits>,
    waker: Option<Waker>,
    shown: Progress,
}

/// The numbers that a loop shows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    pub(super) concurrency: usize,
    pub(super) running: usize,
    pub(super) begun: u64,
}

impl LoopHandle {
    pub(super) fn new(control: &Arc<LoopControl>) -> Self {
        Self {
            control: Arc::clone(control),
        }
    }

    /// From now on exactly `count` items run at once, if the source has as many. If more are running, they continue,
    /// and no new ones begin.
    ///
    /// # Panics
    /// If `count` is 0. [`try_set_concurrency`](Self::try_set_concurrency) returns an error instead.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let looping = parallel::for_each_async(0..100, |_| async {});
    /// let handle = looping.handle();
    /// handle.set_concurrency(2);
    /// task::block_on(looping);
    /// assert_eq!((handle.begun(), handle.running(), handle.concurrency()), (100, 0, 2));
    /// ```
    #[track_caller]
    pub fn set_concurrency(&self, count: usize) {
        or_panic(self.try_set_concurrency(count));
    }

    /// As [`set_concurrency`](Self::set_concurrency), for a number that comes from elsewhere.
    ///
    /// Example: see [`LoopHandle`].
    ///
    /// # Errors
    /// [`LimitsError`] if `count` is 0; then nothing changes.
    pub fn try_set_concurrency(&self, count: usize) -> Result<(), LimitsError> {
        self.control.change(Limits::exactly(count)?);
        Ok(())
    }

    /// From now on the loop chooses the number of items that run at once between these limits.
    ///
    /// Example: see [`LoopHandle`].
    ///
    /// # Panics
    /// If the lower one is 0 or above the higher one.
    /// [`try_set_concurrency_between`](Self::try_set_concurrency_between) returns an error instead.
    #[track_caller]
    pub fn set_concurrency_between(&self, limits: RangeInclusive<usize>) {
        or_panic(self.try_set_concurrency_between(limits));
    }

    /// As [`set_concurrency_between`](Self::set_concurrency_between), for limits that come from elsewhere.
    ///
    /// Example: see [`LoopHandle`].
    ///
    /// # Errors
    /// [`LimitsError`] if the lower one is 0 or above the higher one; then nothing changes.
    pub fn try_set_concurrency_between(
        &self,
        limits: RangeInclusive<usize>,
    ) -> Result<(), LimitsError> {
        self.control.change(Limits::between(limits)?);
        Ok(())
    }

    /// How many items may run at once, by the loop's last decision; 0 before it is first polled.
    ///
    /// Example: see [`LoopHandle`].
    #[must_use]
    pub fn concurrency(&self) -> usize {
        lock(&self.control.0).shown.concurrency
    }

    /// How many items were running when the loop last counted.
    ///
    /// Example: see [`LoopHandle`].
    #[must_use]
    pub fn running(&self) -> usize {
        lock(&self.control.0).shown.running
    }

    /// How many items have begun.
    ///
    /// Example: see [`LoopHandle`].
    #[must_use]
    pub fn begun(&self) -> u64 {
        lock(&self.control.0).shown.begun
    }
}

impl LoopControl {
    fn change(&self, limits: Limits) {
        let waker = {
            let mut state = lock(&self.0);
            state.new_limits = Some(limits);
            state.waker.take()
        };
        if let Some(waker) = waker {
            wake(waker);
        }
    }

    /// The loop takes over new limits; the next change wakes `waker`.
    pub(super) fn take_limits(&self, waker: &Waker) -> Option<Limits> {
        let mut state = lock(&self.0);
        let is_known = state
            .waker
            .as_ref()
            .is_some_and(|known| known.will_wake(waker));
        let mut before = None;
        if !is_known {
            // Cloned without the lock, because that may run code of the user.
            drop(state);
            let waker = waker.clone();
            state = lock(&self.0);
            before = state.waker.replace(waker);
        }
        let limits = state.new_limits.take();
        drop(state);
        drop(before);
        inspect::keeps(waker);
        limits
    }

    /// The loop is over, and wants no limits any more.
    pub(super) fn end(&self) {
        let waker = lock(&self.0).waker.take();
        drop(waker);
    }

    pub(super) fn show(&self, progress: Progress) {
        lock(&self.0).shown = progress;
    }
}
