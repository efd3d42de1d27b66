//! Moments and ticks: how timers count time.
//!
//! A moment is a number of nanoseconds. One of them, [`Moment::FIRST_READING`], is when the process first read the clock,
//! or, in a simulation, its start; users may have instants from before it. A tick is a millisecond. A deadline is due at the first tick that is not before it, and a tick has come when it has
//! passed altogether; so no timer fires early.
//!
//! Not here: the system's clock itself (`clock` of `manyhands-system`).

use crate::sync::clock;
use std::time::{Duration, Instant};

/// A point in time, to the nanosecond. The last one, some centuries ahead, stands for all later ones, and the earliest one
/// for all earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// When the process first read the clock; more than a century has room before it. It is a multiple of what a wheel
    /// spans, so that a simulation begins at an edge of the coarsest slots.
    pub(crate) const FIRST_READING: Self = Self((1 << 42) * NANOS_PER_TICK);

    /// Some centuries ahead; what is due then or later never is.
    pub(crate) const LAST: Self = Self(u64::MAX);

    /// The current moment, by the system's clock.
    pub(crate) fn now() -> Self {
        Self::of(clock::now())
    }

    /// The moment of an instant.
    pub(crate) fn of(instant: Instant) -> Self {
        let first = clock::first();
        match instant.checked_duration_since(first) {
            Some(later) => Self::FIRST_READING.after(later),
            None => Self::FIRST_READING.before(first.duration_since(instant)),
        }
    }

    /// The instant of this moment.
    pub(crate) fn to_instant(self) -> Instant {
        let first = clock::first();
        let instant = first.checked_add(self.since(Self::FIRST_READING));
        instant
            .and_then(|instant| instant.checked_sub(Self::FIRST_READING.since(self)))
            .expect("the system's clock has some centuries, and an earlier moment was an instant")
    }

    /// The moment that is later by `duration`.
    pub(crate) fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos_in(duration)))
    }

    /// The moment that is earlier by `duration`.
    fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos_in(duration)))
    }

    /// The time from `earlier` until this; zero if that is not earlier.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The moment at which a tick has come.
    pub(crate) fn at_tick(tick: u64) -> Self {
        Self(tick.saturating_mul(NANOS_PER_TICK))
    }

    /// The last tick that has come.
    pub(crate) fn tick(self) -> u64 {
        self.0 / NANOS_PER_TICK
    }

    /// The first tick that comes no earlier.
    pub(crate) fn tick_due(self) -> u64 {
        self.0.div_ceil(NANOS_PER_TICK)
    }

    /// The moment as a number, for an atomic.
    pub(crate) fn to_nanos(self) -> u64 {
        self.0
    }

    /// From [`to_nanos`](Self::to_nanos).
    pub(crate) fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }
}

fn nanos_in(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// One millisecond.
const NANOS_PER_TICK: u64 = 1_000_000;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Moment;
    use crate::sync::clock;
    use std::time::Duration;

    #[test]
    fn a_deadline_is_due_at_the_first_tick_that_is_not_earlier() {
        for (nanos, due) in [(0, 0), (1, 1), (999_999, 1), (1_000_000, 1), (1_000_001, 2)] {
            let deadline = Moment::from_nanos(nanos);
            assert_eq!(deadline.tick_due(), due, "{nanos}");
            assert!(Moment::at_tick(due) >= deadline);
        }
        assert_eq!(Moment::from_nanos(1_999_999).tick(), 1);
    }

    #[test]
    fn what_is_too_far_ahead_is_the_last_moment() {
        let last = Moment::now().after(Duration::MAX);
        assert_eq!(last, Moment::from_nanos(u64::MAX));
        assert_eq!(last.after(Duration::from_secs(1)), last);
        assert!(last.to_instant() > Moment::now().to_instant());
    }

    #[test]
    fn an_instant_goes_there_and_back() {
        let now = Moment::now();
        assert_eq!(Moment::of(now.to_instant()), now);
        let first = clock::first();
        assert_eq!(Moment::of(first), Moment::FIRST_READING);
        for back in [1, 999_999, 3_600_000_000_000].map(Duration::from_nanos) {
            let before = first.checked_sub(back).expect("the clock goes back");
            let moment = Moment::of(before);
            assert_eq!(moment.to_instant(), before);
            assert_eq!(Moment::FIRST_READING.since(moment), back);
        }
    }
}
