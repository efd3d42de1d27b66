//! A handle to an async loop while it runs, which can change its limits.

use crate::job::{discard, wake};
use crate::parallel::{Concurrency, ConcurrencyError};
use crate::recording;
use crate::sync::{Mutex, lock};
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
}

/// What a loop and its handles share.
#[derive(Debug, Default)]
struct Shared {
    /// New limits that the loop has not taken over yet.
    new_limits: Option<Concurrency>,
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
    /// To a loop that begins.
    pub(super) fn new() -> Self {
        let shared = Arc::default();
        Self { shared }
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
        let mut shared = lock(&self.shared);
        shared.new_limits = Some(limits);
        let waker = shared.waker.take();
        drop(shared);
        waker.into_iter().for_each(wake);
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

    /// The loop takes over new limits; the next change wakes `waker`.
    pub(super) fn take_limits(&self, waker: &Waker) -> Option<Concurrency> {
        let mut shared = lock(&self.shared);
        let known = shared.waker.as_ref();
        let is_known = known.is_some_and(|known| known.will_wake(waker));
        let mut before = None;
        if !is_known {
            // Cloned without the lock, because that may run code of the user.
            drop(shared);
            let waker = waker.clone();
            shared = lock(&self.shared);
            before = shared.waker.replace(waker);
        }
        let limits = shared.new_limits.take();
        drop(shared);
        discard(before);
        recording::keeps(waker);
        limits
    }

    /// The loop is over, or dropped before its end, and wants no limits any more.
    pub(super) fn end(&self) {
        let waker = lock(&self.shared).waker.take();
        discard(waker);
    }

    pub(super) fn show(&self, progress: Progress) {
        lock(&self.shared).shown = progress;
    }
}
