//! Blocking operations: the calling thread drives the same futures.
//!
//! Waking a thread takes tens of microseconds, and an item or room often comes within one. So a thread that finds a
//! channel full or empty first retries: a few times at growing distances, then it yields in between, so that the other
//! side can move more than one item per attempt. Only then it joins the wait list, declares that it blocks, and sleeps.
//!
//! Not an executor: it polls one future of this module. It ignores the cooperative budget of a task that blocks like
//! this in its poll: an exhausted budget would make the future pending and wake it at once, without end.

use crate::recording;
use crate::runtime::sleep::blocking;
#[cfg(not(loom))]
use crate::runtime::worker::refused_starts;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Parker, spin_loop, thread};
use crate::task::budget;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
#[cfg(not(loom))]
use {crate::sync::clock, std::time::Duration, std::time::Instant};

/// How often one side of a channel retries: more often after that was enough, less often after it was not.
#[derive(Debug)]
pub(super) struct Retries {
    /// Attempts with a yield after each.
    yields: AtomicU32,
}

impl Retries {
    pub(super) fn new() -> Self {
        Self {
            yields: AtomicU32::new(YIELDS_MIN),
        }
    }

    /// Retries until there is a result; `None` when the caller should wait.
    pub(super) fn retry<R>(&self, mut attempt: impl FnMut() -> Option<R>) -> Option<R> {
        // Relaxed: a hint.
        let yields = self.yields.load(Ordering::Relaxed);
        let spun = (0..SPINS_DOUBLED).find_map(|doublings| {
            (0..1 << doublings).for_each(|_| spin_loop());
            attempt()
        });
        let result = spun.or_else(|| {
            (0..yields).find_map(|_| {
                // The other side may need this processor.
                thread::yield_now();
                attempt()
            })
        });
        let next = match result {
            Some(_) => YIELDS_MAX.min(2 * yields),
            None => YIELDS_MIN.max(yields / 2),
        };
        if next != yields {
            // Relaxed: a hint.
            self.yields.store(next, Ordering::Relaxed);
        }
        result
    }
}

/// Polls until ready.
///
/// # Panics
/// Where the runtime's threads are refused for so long that nobody may ever come.
#[cfg_attr(feature = "inspect", track_caller)]
pub(super) fn wait<R>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    let signal = Arc::new(Parker::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    let recorded = recording::thread_polls_one(&waker);
    loop {
        if let Poll::Ready(result) = recorded.poll(|| budget::unlimited(|| poll(&mut cx))) {
            return result;
        }
        #[cfg(not(loom))]
        refused_starts::panic_if_given_up();
        if !spin_for_wake(&signal) {
            blocking(|| park(&signal, None));
        }
    }
}

/// Polls until ready or for about `limit`; `None` when the time is over.
#[cfg(not(loom))]
#[cfg_attr(feature = "inspect", track_caller)]
pub(super) fn wait_for<R>(
    limit: Duration,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>,
) -> Option<R> {
    // A time beyond the clock's range never comes.
    let end: Option<Instant> = clock::now().checked_add(limit);
    let signal = Arc::new(Parker::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    let recorded = recording::thread_polls_one(&waker);
    loop {
        if let Poll::Ready(result) = recorded.poll(|| budget::unlimited(|| poll(&mut cx))) {
            return Some(result);
        }
        if spin_for_wake(&signal) {
            continue;
        }
        match end.map(|end| end.saturating_duration_since(clock::now())) {
            Some(Duration::ZERO) => return None,
            left => blocking(|| park(&signal, left)),
        }
    }
}

/// Parks for `limit` at most. While threads are refused it returns early, and tries to start them.
#[cfg(not(loom))]
fn park(parker: &Parker, limit: Option<Duration>) {
    match limit.into_iter().chain(refused_starts::retry_pause()).min() {
        None => parker.park(),
        Some(limit) => parker.park_timeout(limit),
    }
    refused_starts::try_again();
}

#[cfg(loom)]
fn park(parker: &Parker, _: Option<std::time::Duration>) {
    parker.park();
}

/// Spins for a while; returns whether a wake has come.
fn spin_for_wake(signal: &Parker) -> bool {
    for _ in 0..LOOKS {
        if signal.has_wake() {
            return true;
        }
        (0..SPINS).for_each(|_| spin_loop());
    }
    false
}

/// Wakes the waiting thread.
impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}

/// Spins before each check for a wake; none in a model, where each spin would let the other threads run first and hide
/// what happens if they do not.
const SPINS: u32 = if cfg!(loom) { 0 } else { 16 };
/// Attempts before the first yield: after 1, 2, 4, 8 and 16 spins.
const SPINS_DOUBLED: u32 = if cfg!(loom) { 0 } else { 5 };
/// Attempts before joining the wait list, with a yield each: where retrying was of no use,
const YIELDS_MIN: u32 = if cfg!(loom) { 0 } else { 16 };
/// and where it mostly was. All of them take as long as waking one thread.
const YIELDS_MAX: u32 = if cfg!(loom) { 0 } else { 128 };
/// Checks for a wake before sleeping.
const LOOKS: u32 = if cfg!(loom) { 0 } else { 2 };
