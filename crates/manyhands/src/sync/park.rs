//! One thread sleeps here until another wakes it; a wake that comes first is kept.
//!
//! Not a queue: one sleeper at a time. Wakes merge, so a sleeper must re-check its condition.
//!
//! The sleeper may also sleep in something that polls futures; then a waker wakes it there. What is polled there may itself
//! park, and so consume a wake that is meant for the sleeper below. So a park ends by waking that too.
//!
//! # States
//! - `EMPTY`: no wake is pending.
//! - `PARKED`: the sleeper sleeps or is about to.
//! - `POLLED`: the same, in something that polls futures, with a waker.
//! - `NOTIFIED`: a wake is pending.
//!
//! # Threads
//! One thread at a time calls `park`, or `poll_park` and finally `end_polls`, and `park` between two polls; any thread calls
//! `unpark`.

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Condvar, Mutex, lock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A place for one thread to sleep.
#[derive(Debug, Default)]
pub(crate) struct Parker {
    state: AtomicU32,
    /// The waker of a sleeper that polls.
    lock: Mutex<Option<Waker>>,
    wakeup: Condvar,
}

impl Parker {
    /// Sleeps until a wake comes; returns at once when one is pending. May return early for no reason.
    pub(crate) fn park(&self) {
        self.sleep(None);
    }

    /// Like [`park`](Self::park), for at most `limit`, if there is one.
    pub(crate) fn park_timeout(&self, limit: impl Into<Option<Duration>>) {
        self.sleep(limit.into());
    }

    /// Sleeper: whether the next `park` would return at once. For spinning before it.
    pub(crate) fn has_wake(&self) -> bool {
        // Relaxed: a hint; what the waking thread did becomes visible by `park`, or by what the sleeper reads next.
        self.state.load(Ordering::Relaxed) == NOTIFIED
    }

    /// Whether the sleeper sleeps, or is about to without looking at anything before.
    #[cfg(all(test, not(loom), not(shuttle)))]
    pub(crate) fn is_parked(&self) -> bool {
        // Relaxed: the state stands alone.
        self.state.load(Ordering::Relaxed) == PARKED
    }

    /// Wakes the sleeper, now or at its next `park`.
    pub(crate) fn unpark(&self) {
        // AcqRel: Release publishes what the waking thread did before; pairs with the Acquire in `sleep`.
        match self.state.swap(NOTIFIED, Ordering::AcqRel) {
            PARKED => {
                // Taking the lock orders this wake after the sleeper's check and before its wait ends.
                drop(lock(&self.lock));
                self.wakeup.notify_one();
            }
            // Set before the state was.
            POLLED => self.wake_polled(),
            _ => {}
        }
    }

    /// Sleeper: ready when a wake has come, or may have come since the last poll; until then the next one wakes through
    /// `context`.
    pub(crate) fn poll_park(&self, context: &Context<'_>) -> Poll<()> {
        let mut waker = lock(&self.lock);
        let is_first = waker.is_none();
        match &mut *waker {
            Some(known) => known.clone_from(context.waker()),
            unknown => *unknown = Some(context.waker().clone()),
        }
        // Release: a thread that reads the state also sees the waker, under the lock. Acquire on failure: as in
        // `sleep`.
        let polled =
            self.state
                .compare_exchange(EMPTY, POLLED, Ordering::Release, Ordering::Acquire);
        match polled {
            Err(POLLED) => Poll::Pending,
            Ok(_) if is_first => Poll::Pending,
            // A wake has come; or something has parked here, and may have consumed one.
            _ => Poll::Ready(()),
        }
    }

    /// Sleeper: stops polling; consumes a wake.
    pub(crate) fn end_polls(&self) {
        // Acquire: sees what the waking thread did.
        self.state.swap(EMPTY, Ordering::Acquire);
        *lock(&self.lock) = None;
    }

    fn sleep(&self, limit: Option<Duration>) {
        // Acquire: pairs with `unpark`, so the sleeper sees what the waking thread did.
        if self.state.swap(EMPTY, Ordering::Acquire) == NOTIFIED {
            return;
        }
        let guard = lock(&self.lock);
        // Relaxed on success: nothing is published by going to sleep. Acquire on failure: as above.
        let parked =
            self.state
                .compare_exchange(EMPTY, PARKED, Ordering::Relaxed, Ordering::Acquire);
        match limit {
            _ if parked.is_err() => drop(guard),
            None => drop(self.wakeup.wait(guard)),
            Some(limit) => drop(self.wakeup.wait_timeout(guard, limit)),
        }
        // Acquire: consumes a wake and sees what its sender did.
        self.state.swap(EMPTY, Ordering::Acquire);
        self.wake_polled();
    }

    /// Makes the sleeper poll again, if it polls.
    fn wake_polled(&self) {
        let waker = lock(&self.lock).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;
const POLLED: u32 = 3;
