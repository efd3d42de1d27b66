//! Burst mode: how closely sweeps follow each other while one thread after the other is detected as blocked.
//!
//! Jobs that block often come in crowds, and each thread that is added then blocks in the same way. When a sweep
//! detects threads that were just added, burst mode begins: sweeps follow each other closely, a thread counts as blocked sooner,
//! and two threads more may run than otherwise (`policy.rs`). So a crowd of 64 is detected four at a time. Burst mode
//! ends when sweeps detect no more threads. The longer it lasts, the longer the pauses between its sweeps become, up to a limit: a
//! thread that runs again counts as blocked until the next sweep, and hill climbing has no sample without one.
//!
//! Not here: which threads are blocked (`blocked.rs`).

use crate::runtime::policy::{
    BLOCKED_AFTER, BLOCKED_AFTER_IN_BURST, BURST_PAUSE_SHARE, INTERVAL_SATURATED, STALLED_AFTER,
};
use std::time::{Duration, Instant};

/// Burst mode, on or off.
#[derive(Debug, Default)]
pub(super) struct BurstMode(Option<Burst>);

#[derive(Debug, Clone, Copy)]
struct Burst {
    since: Instant,
    last_detected: Instant,
    sweeps_that_detected: u32,
}

impl BurstMode {
    /// A sweep has detected this number of threads that did not count as blocked before.
    pub(super) fn note(&mut self, now: Instant, newly_blocked: usize) {
        if newly_blocked > 0 {
            let burst = self.0.get_or_insert(Burst {
                since: now,
                last_detected: now,
                sweeps_that_detected: 0,
            });
            burst.last_detected = now;
            burst.sweeps_that_detected += 1;
        } else {
            let since = |burst: &mut Burst| now.saturating_duration_since(burst.last_detected);
            self.0.take_if(|burst| since(burst) >= INTERVAL_SATURATED);
        }
    }

    /// Ends: frequent sweeps and threads ahead are of no use.
    pub(super) fn end(&mut self) {
        self.0 = None;
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// How many sweeps of it have detected blocked threads.
    pub(super) fn sweeps_that_detected(&self) -> u32 {
        self.0.map_or(0, |burst| burst.sweeps_that_detected)
    }

    /// After what time the next sweep must follow; `None` while it is off.
    pub(super) fn pause(&self, now: Instant) -> Option<Duration> {
        let lasted = now.saturating_duration_since(self.0?.since);
        Some((lasted / BURST_PAUSE_SHARE).clamp(BLOCKED_AFTER_IN_BURST, STALLED_AFTER))
    }

    /// How long a thread must be off the processor inside a job to be blocked.
    pub(super) fn blocked_after(&self) -> Duration {
        if self.is_on() {
            BLOCKED_AFTER_IN_BURST
        } else {
            BLOCKED_AFTER
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        BLOCKED_AFTER, BLOCKED_AFTER_IN_BURST, BURST_PAUSE_SHARE, BurstMode, INTERVAL_SATURATED,
        STALLED_AFTER,
    };
    use crate::runtime::monitor::hill_climbing::SAMPLE_MAX;
    use crate::sync::clock;
    use std::time::Duration;

    #[test]
    fn it_lasts_while_threads_are_detected_and_its_pauses_grow() {
        let (mut mode, begun) = (BurstMode::default(), clock::now());
        mode.note(begun, 0);
        assert_eq!(
            (mode.pause(begun), mode.blocked_after()),
            (None, BLOCKED_AFTER)
        );
        mode.note(begun, 1);
        assert_eq!(mode.pause(begun), Some(BLOCKED_AFTER_IN_BURST));
        assert_eq!(mode.blocked_after(), BLOCKED_AFTER_IN_BURST);
        let mut at = begun;
        for sweeps in 2..100 {
            at += INTERVAL_SATURATED;
            mode.note(at, 3);
            assert_eq!(mode.sweeps_that_detected(), sweeps);
        }
        assert_eq!(mode.pause(at), Some((at - begun) / BURST_PAUSE_SHARE));
        let in_an_hour = at + Duration::from_secs(3_600);
        assert_eq!(mode.pause(in_an_hour), Some(STALLED_AFTER));
        assert!(mode.pause(in_an_hour) <= Some(SAMPLE_MAX));
        mode.note(at + INTERVAL_SATURATED / 2, 0);
        assert!(mode.is_on());
        mode.note(at + INTERVAL_SATURATED, 0);
        assert!(!mode.is_on());
    }
}
