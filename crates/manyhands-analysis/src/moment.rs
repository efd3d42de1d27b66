//! A moment by the counter of ticks by which the library records.

use std::time::Duration;

/// A reading of the library's counter of ticks, and how long ticks are.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The reading.
    pub ticks: u64,
    /// The length of this many ticks in nanoseconds.
    pub nanos_in: fn(u64) -> u64,
}

impl Moment {
    /// The length of this many ticks.
    #[must_use]
    pub fn length(self, ticks: u64) -> Duration {
        Duration::from_nanos((self.nanos_in)(ticks))
    }

    /// The length of this many ticks in microseconds.
    #[must_use]
    pub fn micros(self, ticks: u64) -> u64 {
        (self.nanos_in)(ticks) / 1_000
    }

    /// How many microseconds before this moment that reading of the counter was; 0 if it was later.
    #[must_use]
    pub fn micros_since(self, earlier: u64) -> u64 {
        self.micros(self.ticks.saturating_sub(earlier))
    }
}
