//! Blocking operations: the calling thread drives the same futures.
//!
//! Waking a thread takes tens of microseconds, and an item or room often comes within one. So a thread that finds a
//! channel full or empty first retries a few times. It yields in between, so that the other side can move more than one
//! item per attempt. Only then it joins the wait list, declares that it blocks, and sleeps.
//!
//! Not an executor: it polls one future of this module. It ignores the cooperative budget of a task that blocks like
//! this in its poll: an exhausted budget would make the future pending and wake it at once, without end.

use crate::inspect;
use crate::runtime::sleep::blocking;
#[cfg(not(loom))]
use crate::runtime::worker::refused_starts::{panic_if_given_up, park};
use crate::sync::{Parker, spin_loop, thread};
use crate::task::budget;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
#[cfg(not(loom))]
use {crate::sync::clock, std::time::Duration, std::time::Instant};

/// Retries until there is a result; `None` when the caller should wait.
pub(super) fn retry<R>(mut attempt: impl FnMut() -> Option<R>) -> Option<R> {
    (0..SPINS).for_each(|_| spin_loop());
    for _ in 0..ATTEMPTS {
        let result = attempt();
        if result.is_some() {
            return result;
        }
        // The other side may need this processor.
        thread::yield_now();
    }
    None
}

/// Polls until ready.
///
/// # Panics
/// Where the runtime's threads are refused for so long that nobody may ever come.
#[cfg_attr(feature = "inspect", track_caller)]
pub(super) fn wait<R>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    let signal = Arc::new(Parker::new());
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    let recorded = inspect::thread_polls_one(&waker);
    loop {
        if let Poll::Ready(result) = recorded.poll(|| budget::unlimited(|| poll(&mut cx))) {
            return result;
        }
        #[cfg(not(loom))]
        panic_if_given_up();
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
    let signal = Arc::new(Parker::new());
    let waker = Waker::from(Arc::clone(&signal));
    let mut cx = Context::from_waker(&waker);
    let recorded = inspect::thread_polls_one(&waker);
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

/// Spins before each check; none in a model, where each spin would let the other threads run first and hide what
/// happens if they do not.
const SPINS: u32 = if cfg!(loom) { 0 } else { 16 };
/// Attempts before joining the wait list; other threads may run after each.
const ATTEMPTS: u32 = if cfg!(loom) { 0 } else { 16 };
/// Checks for a wake before sleeping.
const LOOKS: u32 = if cfg!(loom) { 0 } else { 2 };
