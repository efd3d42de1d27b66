//! Waiting as a thread: the same futures, driven by the thread that asks.
//!
//! Being woken takes tens of microseconds, and what a thread waits for often comes in one. So a thread that
//! finds a channel full or empty first tries again a few times, and lets other threads run in between, so that
//! the other side gets on and not only one item passes for each attempt. Only then it takes a place among
//! those who wait, tells the pool that it is blocked, and sleeps.
//!
//! Not an executor: it polls one future of this module's. A task that waits like this in its poll has nobody to make
//! room for before its item has come, so its budget does not count here: a future that was put off would be polled
//! again at once, for ever.

use crate::runtime::sleep::blocking;
#[cfg(not(loom))]
use crate::runtime::worker::refused_starts::park;
use crate::sync::{Parker, spin_loop, thread};
use crate::task::budget;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
#[cfg(not(loom))]
use {crate::sync::clock, std::time::Duration, std::time::Instant};

/// Tries until there is a result; `None` when it is time to wait properly.
pub(super) fn insist<R>(mut attempt: impl FnMut() -> Option<R>) -> Option<R> {
    (0..SPINS).for_each(|_| spin_loop());
    for _ in 0..ATTEMPTS {
        let result = attempt();
        if result.is_some() {
            return result;
        }
        // Perhaps the other side needs this processor.
        thread::yield_now();
    }
    None
}

/// Polls until ready.
pub(super) fn wait<R>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    let signal = Arc::new(Parker::new());
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(result) = budget::unlimited(|| poll(&mut cx)) {
            return result;
        }
        if !comes_soon(&signal) {
            blocking(|| park(&signal, None));
        }
    }
}

/// Polls until ready or for about `limit`; `None` when the time is over.
#[cfg(not(loom))]
pub(super) fn wait_for<R>(
    limit: Duration,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>,
) -> Option<R> {
    // A time beyond the clock's range never comes.
    let end: Option<Instant> = clock::now().checked_add(limit);
    let signal = Arc::new(Parker::new());
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(result) = budget::unlimited(|| poll(&mut cx)) {
            return Some(result);
        }
        if comes_soon(&signal) {
            continue;
        }
        match end.map(|end| end.saturating_duration_since(clock::now())) {
            Some(Duration::ZERO) => return None,
            left => blocking(|| park(&signal, left)),
        }
    }
}

#[cfg(loom)]
fn park(parker: &Parker, _: Option<std::time::Duration>) {
    parker.park();
}

/// Spins for a while; whether a wake has come.
fn comes_soon(signal: &Parker) -> bool {
    for _ in 0..LOOKS {
        if signal.has_wake() {
            return true;
        }
        (0..SPINS).for_each(|_| spin_loop());
    }
    false
}

/// Wakes the thread that waits.
impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}

/// Spins before a look; in a model each would let the others run first, and hide what happens if they do not.
const SPINS: u32 = if cfg!(loom) { 0 } else { 16 };
/// Attempts before taking a place; other threads may run after each.
const ATTEMPTS: u32 = if cfg!(loom) { 0 } else { 16 };
/// Looks for a wake before sleeping.
const LOOKS: u32 = if cfg!(loom) { 0 } else { 2 };
