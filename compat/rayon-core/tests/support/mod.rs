//! How tests wait for one another's threads: they spin, with a limit.

use std::thread;
use std::time::{Duration, Instant};

/// The end of one test's patience.
#[derive(Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn new() -> Self {
        Self(now() + Duration::from_secs(60))
    }

    /// Lets other threads run until `condition` holds. Neither sleeps nor waits in the pool.
    pub(crate) fn spin_until(self, condition: impl Fn() -> bool) {
        while !condition() {
            assert!(now() < self.0, "no thread has come to help");
            thread::yield_now();
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a test that hangs ends")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
