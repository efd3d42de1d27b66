//! Blocking operations: the calling thread drives the same futures.
//!
//! Waking a thread takes tens of microseconds, and an item or room often comes within one. So a thread that finds a
//! channel full or empty first retries: a few times at growing distances, then it yields in between, so that the other
//! side can move more than one item per attempt. Only then it joins the wait list, declares that it blocks, and sleeps.
//!
//! Not an executor: it polls one future of this module. It ignores the cooperative budget of a task that blocks like
//! this in its poll: an exhausted budget would make the future pending and wake it at once, without end.

use crate::recording::{self, Site};
use crate::runtime::sleep::blocking;
#[cfg(not(loom))]
use crate::runtime::worker::refused_starts;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Parker, spin_loop, thread};
use crate::task::budget;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;
#[cfg(not(loom))]
use {crate::sync::clock, std::time::Duration};

/// How often one side of a channel retries: more often after that was enough, less often after it was not.
pub(super) struct Retries {
    /// Attempts with a yield after each.
    yields: AtomicU32,
}

impl Retries {
    pub(super) fn new() -> Self {
        let yields = AtomicU32::new(YIELDS_MIN);
        Self { yields }
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

/// Polls until ready or `end`; `None` when the time is over.
///
/// # Panics
/// Where it waits without end, and the runtime's threads are refused for so long that nobody may ever come.
#[cfg_attr(feature = "inspect", track_caller)]
pub(super) fn wait_until<R>(
    end: Option<Instant>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>,
) -> Option<R> {
    let signal = Arc::new(Parker::default());
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    let recorded = recording::thread_polls(&waker, Some(Site::here()));
    loop {
        if let Poll::Ready(result) = recorded.poll(|| budget::unlimited(|| poll(&mut cx))) {
            return Some(result);
        }
        if !spin_for_wake(&signal) && !sleep(&signal, end) {
            return None;
        }
    }
}

/// Parks until `end` at most, and says whether that is still to come. While threads are refused it returns early, and tries
/// to start them.
#[cfg(not(loom))]
fn sleep(parker: &Parker, end: Option<Instant>) -> bool {
    let left = end.map(|end| end.saturating_duration_since(clock::now()));
    match left {
        None => refused_starts::panic_if_given_up(),
        Some(Duration::ZERO) => return false,
        Some(_) => {}
    }
    blocking(|| {
        match left.into_iter().chain(refused_starts::retry_pause()).min() {
            None => parker.park(),
            Some(limit) => parker.park_timeout(limit),
        }
        refused_starts::try_again();
    });
    true
}

#[cfg(all(test, loom))]
fn sleep(parker: &Parker, _end: Option<Instant>) -> bool {
    blocking(|| parker.park());
    true
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
