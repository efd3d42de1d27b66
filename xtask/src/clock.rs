//! The only file of this crate that reads the clock.

use std::time::{Duration, Instant, SystemTime};

/// The date, as a number that was never seen before.
pub(crate) fn seconds_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Time since it was started.
#[derive(Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the clock file: how long a step took is for people, nothing depends on it"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
