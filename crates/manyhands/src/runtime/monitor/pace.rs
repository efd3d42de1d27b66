//! How soon the monitor sweeps again.
//!
//! Pure: what a sweep has found goes in, the time until the next one comes out. While threads run calls alone, and for as long
//! afterwards as most programs pause between two calls, it sweeps often enough to open a call that goes on.
//!
//! Not here: the sweeps (`sweep.rs`), and the thread that makes them (`thread.rs`).

use crate::runtime::monitor::sweep::Sweep;
use crate::runtime::policy::{
    BLOCKED_AFTER, IN_DOUBT, INTERVAL_MAX, INTERVAL_MIN, INTERVAL_SATURATED, LONG,
};
use std::time::Duration;

/// How often the monitor sweeps.
pub(crate) struct Pace {
    /// The time until the next sweep.
    pub(crate) interval: Duration,
    /// How long no thread has taken part.
    inactive_for: Duration,
    /// How long no thread has run a call alone.
    uncalled_for: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            interval: INTERVAL_MIN,
            inactive_for: Duration::ZERO,
            uncalled_for: Duration::MAX,
        }
    }
}

impl Pace {
    /// After a sweep with this result; `are_calls`: threads have run calls alone since the one before.
    pub(crate) fn adapt(&mut self, sweep: Sweep, are_calls: bool) {
        self.uncalled_for = self.uncalled_for.saturating_add(self.interval);
        self.interval = match sweep {
            Sweep::Burst(pause) => pause,
            Sweep::Trouble => (self.interval / 2).max(INTERVAL_MIN),
            Sweep::Watch => (self.interval * 2).clamp(INTERVAL_MIN, LONG),
            Sweep::Saturated => (self.interval * 2).clamp(INTERVAL_MIN, INTERVAL_SATURATED),
            Sweep::Inactive | Sweep::Nothing | Sweep::Busy => {
                (self.interval * 2).clamp(INTERVAL_MIN, INTERVAL_MAX)
            }
        };
        self.inactive_for = if sweep == Sweep::Inactive {
            self.inactive_for + self.interval
        } else {
            Duration::ZERO
        };
        if are_calls {
            self.note_calls();
        } else if self.watches_calls() {
            self.interval = self.interval.min(BLOCKED_AFTER);
        }
    }

    /// Threads run calls alone: one that goes on must be opened soon.
    pub(crate) fn note_calls(&mut self) {
        self.interval = self.interval.min(BLOCKED_AFTER);
        (self.inactive_for, self.uncalled_for) = (Duration::ZERO, Duration::ZERO);
    }

    /// Whether threads have run calls alone lately. If not, the next one wakes the monitor: ten sweeps cost as much as some
    /// wakes.
    pub(crate) fn watches_calls(&self) -> bool {
        self.uncalled_for < BLOCKED_AFTER * 10
    }

    /// Whether nothing has happened for so long that it need not sweep at all.
    pub(crate) fn may_rest(&self) -> bool {
        self.inactive_for >= IN_DOUBT
    }

    /// Whether a thread that brings work may alert the monitor. Not where the running threads make progress:
    /// there each thread that brings work would alert it.
    pub(crate) fn is_slow_after(&self, sweep: Sweep) -> bool {
        self.interval >= LONG && !matches!(sweep, Sweep::Busy | Sweep::Saturated)
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCKED_AFTER, INTERVAL_MAX, INTERVAL_SATURATED, LONG, Pace};
    use crate::runtime::monitor::sweep::Sweep;
    use std::time::Duration;

    /// Time between two sweeps after many with this result, and whether a thread that brings work may alert the monitor.
    fn settled(sweep: Sweep) -> (Duration, bool) {
        let mut pace = Pace::default();
        (0..20).for_each(|_| pace.adapt(sweep, false));
        (pace.interval, pace.is_slow_after(sweep))
    }

    #[test]
    fn sweeps_become_seldom_and_only_those_that_an_alert_could_help_can_be_hastened() {
        assert_eq!(settled(Sweep::Nothing), (INTERVAL_MAX, true));
        assert_eq!(settled(Sweep::Busy), (INTERVAL_MAX, false));
        assert_eq!(settled(Sweep::Watch), (LONG, true));
        assert_eq!(settled(Sweep::Saturated), (INTERVAL_SATURATED, false));
    }

    #[test]
    fn sweeps_stay_close_while_the_next_call_may_come_and_then_become_seldom_or_end() {
        for sweep in [
            Sweep::Inactive,
            Sweep::Nothing,
            Sweep::Busy,
            Sweep::Saturated,
            Sweep::Watch,
        ] {
            let mut pace = Pace::default();
            (0..20).for_each(|_| pace.adapt(sweep, false));
            assert!(!pace.watches_calls(), "{sweep:?}: nobody has called");
            pace.adapt(sweep, true);
            let mut since = Duration::ZERO;
            while pace.watches_calls() {
                assert!(pace.interval <= BLOCKED_AFTER && !pace.may_rest());
                since += pace.interval;
                pace.adapt(sweep, false);
            }
            assert!(
                since >= INTERVAL_SATURATED && since < INTERVAL_MAX,
                "{sweep:?} {since:?}"
            );
            pace.adapt(sweep, false);
            assert!(pace.interval > BLOCKED_AFTER, "{sweep:?}");
        }
    }
}
