//! The record of changes of the number of threads: the latest changes, and how often each reason occurred.
//!
//! Not here: starting and ending threads (`threads.rs`), and the decisions (`sweep.rs`, `policy.rs`).

use crate::probe::{Ring, SharedCounter};
use crate::sync::clock;
use std::time::Instant;

/// One change of the number of a runtime's threads, or a reason why there was none; see
/// [`Runtime::thread_changes`](crate::Runtime::thread_changes).
///
/// Example: see [`Runtime::thread_changes`](crate::Runtime::thread_changes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadChange {
    /// When.
    pub at: Instant,
    /// Worker threads afterwards.
    pub threads: usize,
    /// Why.
    pub reason: ThreadChangeReason,
}

/// Why the number of threads changed, or did not.
///
/// Example: see [`Runtime::thread_changes`](crate::Runtime::thread_changes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ThreadChangeReason {
    /// There was work, and fewer threads than may run.
    Warmup,
    /// A thread declared that it blocks: another one started in its place.
    BlockingDeclared,
    /// The monitor detected that a thread is blocked: another one started in its place.
    BlockingDetected,
    /// Long computations occupied every worker: another thread started for the short tasks that waited. Or for other work,
    /// after half a second, or after five seconds where other threads of the system wanted the processors too.
    Starvation,
    /// Hill climbing: more threads raised throughput, or fewer kept it. `threads` says how many may run.
    HillClimbing,
    /// Hill climbing tries another number of threads. `threads` says how many may run.
    HillClimbingProbe,
    /// A thread beyond the number of workers had nothing to do for a while, and ended.
    TimedOut,
    /// Work waits, every thread is blocked, and no more may be started: the limit is reached.
    LimitReached,
    /// Work waits, every thread is blocked, and the system starts no more.
    NotStarted,
}

/// The record of one runtime.
#[derive(Default)]
pub(crate) struct Changes {
    /// The latest, the oldest of them first.
    pub(crate) latest: Ring<ThreadChange, KEPT_MAX>,
    counts: [SharedCounter; ThreadChangeReason::NotStarted as usize + 1],
}

impl Changes {
    /// Notes a change, after which there are `threads` threads.
    pub(crate) fn note(&self, threads: usize, reason: ThreadChangeReason) {
        self.counts[reason as usize].bump();
        self.latest.push(ThreadChange {
            at: clock::now(),
            threads,
            reason,
        });
    }

    /// How often this reason occurred.
    pub(crate) fn count(&self, reason: ThreadChangeReason) -> u64 {
        self.counts[reason as usize].read()
    }
}

/// Changes that are remembered.
const KEPT_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::{Changes, KEPT_MAX, ThreadChangeReason};

    #[test]
    fn the_latest_changes_are_kept_and_all_are_counted() {
        let changes = Changes::default();
        for threads in 0..KEPT_MAX + 5 {
            changes.note(threads, ThreadChangeReason::Warmup);
        }
        changes.note(7, ThreadChangeReason::NotStarted);
        let latest = changes.latest.to_vec();
        assert_eq!(latest.len(), KEPT_MAX);
        assert_eq!(latest[0].threads, 6);
        let last = latest[KEPT_MAX - 1];
        assert_eq!(
            (last.threads, last.reason),
            (7, ThreadChangeReason::NotStarted)
        );
        assert!(latest.is_sorted_by_key(|change| change.at));
        assert_eq!(
            changes.count(ThreadChangeReason::Warmup),
            KEPT_MAX as u64 + 5
        );
        assert_eq!(changes.count(ThreadChangeReason::TimedOut), 0);
    }
}
