//! Reads why a runtime stalls: why it adds no thread, which threads wait, and for what.
//!
//! Not here: the report (`stall.rs`), and when there is one (`stalled.rs`, `refused_starts.rs`).

use crate::runtime::{
    Idle, RuntimeInner, SlotState, Stall, StalledThread, ThreadChangeReason, Wait, WorkerSlot,
};

impl Stall {
    /// Called when no thread runs, and none could be woken or started for the work that waits.
    pub(crate) fn of(shared: &RuntimeInner) -> Self {
        Self {
            reason: reason(&shared.idle),
            threads: shared.idle.threads(),
            blocked: shared.all_slots().filter_map(StalledThread::on).collect(),
        }
    }
}

/// Why no thread could be started, where none sleeps.
fn reason(idle: &Idle) -> ThreadChangeReason {
    if idle.may_grow() {
        // Nothing of the pool's keeps a thread away, so the system does.
        ThreadChangeReason::NotStarted
    } else {
        ThreadChangeReason::LimitReached
    }
}

impl StalledThread {
    fn on(slot: &'static WorkerSlot) -> Option<Self> {
        let waits = match slot.occupant() {
            SlotState::Waiting => {
                let runner = slot.awaiting().slot().and_then(WorkerSlot::by_number);
                let worker = runner.and_then(WorkerSlot::worker);
                worker.map_or(Wait::Declared, Wait::Worker)
            }
            SlotState::Running | SlotState::Starting if slot.detected_blocked.is_set() => {
                Wait::Unknown
            }
            _ => return None,
        };
        Some(Self {
            worker: slot.worker(),
            task: slot.task(),
            waits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::reason;
    use crate::runtime::ThreadChangeReason::{self, LimitReached, NotStarted};
    use crate::runtime::sleep::idle::{Activity, Idle};

    /// The reason where one worker may run, of at most `max` threads, and this many exist, all of them blocked.
    #[track_caller]
    fn check(max: usize, threads: usize, expected: ThreadChangeReason) {
        let idle = Idle::new(1, max);
        while idle.threads() < threads {
            assert!(idle.claim().is_some());
            idle.begin(Activity::Blocked);
        }
        assert_eq!(reason(&idle), expected);
    }

    #[test]
    fn what_is_said_to_keep_threads_away_is_what_does() {
        check(3, 3, LimitReached);
        check(1, 1, LimitReached);
        check(3, 2, NotStarted);
        check(3, 0, NotStarted);
    }
}
