//! A handle to an async loop while it runs, which can change its limits.

use crate::parallel::{Concurrency, ConcurrencyError};
use crate::sync::{Mutex, lock};
use crate::task::GroupWaker;
use std::sync::Arc;

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
/// assert_eq!((handle.begun(), handle.degree_of_parallelism()), (0, 0)); // it has not been polled
///
/// handle.set_degree_of_parallelism(1..=8)?;
/// assert!(handle.set_degree_of_parallelism(0).unwrap_err().is_zero());
/// assert!(handle.set_degree_of_parallelism(8..=1).unwrap_err().is_reversed());
/// task::block_on(looping);
/// assert_eq!((handle.begun(), handle.running()), (100, 0));
/// assert!((1..=8).contains(&handle.degree_of_parallelism()));
/// # Ok::<(), parallel::ConcurrencyError>(())
/// ```
#[derive(Debug, Clone)]
pub struct LoopHandle {
    shared: Arc<Mutex<Shared>>,
    /// Wakes the loop where it waits for the end of an item. While none runs, the limits decide nothing.
    loop_waker: GroupWaker,
}

/// What a loop and its handles share.
#[derive(Debug, Default)]
struct Shared {
    /// New limits that the loop has not taken over yet.
    new_limits: Option<Concurrency>,
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
    /// To a loop that begins, whose items are in the group that this wakes.
    pub(super) fn new(loop_waker: GroupWaker) -> Self {
        let shared = Arc::default();
        Self { shared, loop_waker }
    }

    /// From now on this number of items runs at once, if the source has as many; of a range the loop finds the best number. If more are
    /// running, they continue, and no new ones begin.
    ///
    /// # Errors
    /// [`ConcurrencyError`] if the number or the lower limit is 0, or the limits are reversed; then nothing changes.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, task};
    /// let looping = parallel::for_each_async(0..100, |_| async {});
    /// let handle = looping.handle();
    /// handle.set_degree_of_parallelism(2)?;
    /// task::block_on(looping);
    /// assert_eq!((handle.begun(), handle.running(), handle.degree_of_parallelism()), (100, 0, 2));
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    pub fn set_degree_of_parallelism(
        &self,
        at_once: impl TryInto<Concurrency, Error: Into<ConcurrencyError>>,
    ) -> Result<(), ConcurrencyError> {
        let limits = at_once.try_into().map_err(Into::into)?;
        lock(&self.shared).new_limits = Some(limits);
        self.loop_waker.wake();
        Ok(())
    }

    /// How many items may run at once, by the loop's last decision; 0 before it is first polled.
    ///
    /// Example: see [`LoopHandle`].
    #[must_use]
    pub fn degree_of_parallelism(&self) -> usize {
        lock(&self.shared).shown.concurrency
    }

    /// How many items were running when the loop last counted.
    ///
    /// Example: see [`LoopHandle`].
    #[must_use]
    pub fn running(&self) -> usize {
        lock(&self.shared).shown.running
    }

    /// How many items have begun.
    ///
    /// Example: see [`LoopHandle`].
    #[must_use]
    pub fn begun(&self) -> u64 {
        lock(&self.shared).shown.begun
    }

    /// The loop takes over new limits.
    pub(super) fn take_limits(&self) -> Option<Concurrency> {
        lock(&self.shared).new_limits.take()
    }

    /// The loop shows its numbers. Returns whether there are new limits.
    pub(super) fn show(&self, progress: Progress) -> bool {
        let mut shared = lock(&self.shared);
        shared.shown = progress;
        shared.new_limits.is_some()
    }
}
