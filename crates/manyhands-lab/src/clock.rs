//! The one file that reads the clock.
//!
//! Everything else is given durations, so that tests replace time.

use std::time::{Duration, Instant};

/// A running stopwatch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the laboratory's one door to the clock"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
