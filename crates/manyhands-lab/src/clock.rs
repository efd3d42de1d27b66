//! The one file that reads the clock, and what a reading costs.
//!
//! Everything else is given durations, so that tests replace time.

use serde::{Deserialize, Serialize};
use std::{
    thread,
    time::{Duration, Instant},
};

/// What the clock can do in this process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClockCard {
    /// What one reading costs, in nanoseconds.
    pub cost_nanos: f64,
    /// Smallest step the clock was seen to make, in nanoseconds.
    pub grain_nanos: f64,
}

impl ClockCard {
    /// Reads the clock some ten thousand times.
    ///
    /// Example: see [`Stopwatch`].
    ///
    /// # Cost
    /// Less than a millisecond on common systems.
    #[must_use]
    pub fn here() -> Self {
        let start = Stopwatch::start();
        let readings: Vec<Duration> = (0..READINGS).map(|_| start.elapsed()).collect();
        Self::from_readings(&readings)
    }

    fn from_readings(readings: &[Duration]) -> Self {
        let span = match readings {
            [first, .., last] => last.saturating_sub(*first),
            _ => Duration::ZERO,
        };
        let steps = readings
            .windows(2)
            .map(|pair| pair[1].saturating_sub(pair[0]));
        let smallest = steps.filter(|step| !step.is_zero()).min();
        Self {
            cost_nanos: span.as_nanos() as f64 / readings.len().saturating_sub(1).max(1) as f64,
            // A clock that never moved is as coarse as the whole series at best.
            grain_nanos: smallest.unwrap_or(Duration::MAX).as_nanos() as f64,
        }
    }
}

/// Now, UTC, RFC 3339, to the second.
pub(crate) fn utc() -> String {
    let now = jiff::Timestamp::now();
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A running stopwatch.
///
/// # Examples
/// ```
/// use manyhands_lab::{ClockCard, clock::Stopwatch};
///
/// assert!(ClockCard::here().grain_nanos > 0.0);
/// let watch = Stopwatch::start();
/// assert!(watch.nanos() <= watch.elapsed().as_secs_f64() * 1e9);
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the laboratory's one door to the clock"
    )]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub fn nanos(self) -> f64 {
        self.elapsed().as_secs_f64() * 1e9
    }
}

/// Does nothing for a while, because doing nothing is the purpose.
#[expect(
    clippy::disallowed_methods,
    reason = "the machine is watched at rest; no other thread is waited for"
)]
pub(crate) fn rest(duration: Duration) {
    thread::sleep(duration);
}

const READINGS: usize = 10_000;
/// Steps of the clock in a sample of which one step is a per cent.
pub(crate) const GRAINS_MIN: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn card(nanos: &[u64]) -> ClockCard {
        let readings: Vec<_> = nanos.iter().copied().map(Duration::from_nanos).collect();
        ClockCard::from_readings(&readings)
    }

    #[test]
    fn the_grain_is_the_smallest_step_and_the_cost_is_the_mean() {
        let card = card(&[0, 0, 100, 100, 140, 240]);
        assert_eq!(card.grain_nanos, 40.0);
        assert_eq!(card.cost_nanos, 48.0);
    }

    #[test]
    fn a_clock_that_stands_still_is_too_coarse_for_everything() {
        assert!(card(&[7, 7, 7]).grain_nanos > u64::MAX as f64);
    }

    #[test]
    fn the_clock_of_this_system_moves() {
        let card = ClockCard::here();
        assert!(card.grain_nanos > 0.0 && card.cost_nanos > 0.0);
        assert!(card.grain_nanos * GRAINS_MIN < 1e10, "{card:?}");
    }
}
