//! Waiting in a loop for the next step of another thread that does not notify the waiter.
//!
//! The step is a few instructions away, unless its thread has lost its processor. So a waiter spins first, then yields,
//! and then sleeps, longer and longer. Yielding is not enough: it lets only threads of the same priority run, so a
//! real-time thread that waits for a normal one on the same processor would wait for ever.
//!
//! A timed sleep costs the awaited thread nothing: it need not know of the sleeper. The price is that a sleeping waiter
//! continues up to [`SLEEP_MAX`] late.
//!
//! In a child of `fork` the other thread may be one of the parent, whose step never comes. So the child ends after a second.
//!
//! Not for waits that may be long: a thread that waits for work, or for the progress of another one, parks.

use crate::sync::{process, spin_loop, thread};
use std::time::Duration;

/// How long a thread has waited.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    waits: u32,
}

impl Backoff {
    /// Waits a little, longer each time.
    #[cold]
    pub(crate) fn wait(&mut self) {
        let waits = self.waits;
        self.waits = waits.saturating_add(1);
        #[cfg(loom)]
        thread::yield_now();
        #[cfg(not(loom))]
        match waits {
            0..SPINS => spin_loop(),
            SPINS..YIELDS_END => thread::yield_now(),
            _ => sleep(waits - YIELDS_END),
        }
    }

    /// Yields up to `times` times, or sleeps if it has yielded often enough.
    #[cold]
    pub(crate) fn yield_or_sleep(&mut self, times: u32) {
        self.waits = self.waits.max(SPINS);
        let yields_left = YIELDS_END.saturating_sub(self.waits);
        (0..times.min(yields_left).max(1)).for_each(|_| self.wait());
    }

    /// There was progress: the next wait is short again.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.waits = 0;
    }
}

#[cfg(not(loom))]
#[expect(
    clippy::disallowed_methods,
    reason = "nothing rests on its length; it only lets every other thread run"
)]
fn sleep(sleeps: u32) {
    if sleeps > LOST_AFTER && process::is_forked() {
        process::abort(process::FORKED);
    }
    thread::sleep(sleep_after(sleeps));
}

/// How long to sleep after `sleeps` sleeps.
fn sleep_after(sleeps: u32) -> Duration {
    SLEEP_MIN.saturating_mul(1 << sleeps.min(8)).min(SLEEP_MAX)
}

/// Waits that only spin.
const SPINS: u32 = 64;
/// Waits before the first sleep: some 100 µs if no other thread wants the processor.
const YIELDS_END: u32 = SPINS + 256;
const SLEEP_MIN: Duration = Duration::from_micros(50);
const SLEEP_MAX: Duration = Duration::from_millis(1);
/// Sleeps after which a forked child no longer expects the other thread to be there: a second.
const LOST_AFTER: u32 = 1000;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Backoff, SLEEP_MAX, SLEEP_MIN, SPINS, YIELDS_END, sleep_after};
    use crate::sync::clock;

    #[test]
    fn sleeps_grow_to_a_limit() {
        assert_eq!(sleep_after(0), SLEEP_MIN);
        assert_eq!(sleep_after(1), 2 * SLEEP_MIN);
        assert_eq!(sleep_after(5), SLEEP_MAX);
        assert_eq!(sleep_after(u32::MAX), SLEEP_MAX);
    }

    #[test]
    fn a_long_wait_gives_the_processor_away_whatever_the_priority() {
        let mut backoff = Backoff::default();
        (0..YIELDS_END).for_each(|_| backoff.wait());
        let begun = clock::now();
        backoff.wait();
        assert!(clock::now() - begun >= SLEEP_MIN, "a sleep, not a yield");
        backoff.reset();
        assert_eq!(backoff.waits, 0);
        backoff.yield_or_sleep(3);
        assert_eq!(backoff.waits, SPINS + 3);
        backoff.yield_or_sleep(u32::MAX);
        assert_eq!(backoff.waits, YIELDS_END, "it does not sleep yet");
    }
}
