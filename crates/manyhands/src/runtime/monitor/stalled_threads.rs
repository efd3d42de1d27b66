//! Reads which threads of a runtime are stalled, and what they wait for.
//!
//! Not here: the report (`stall.rs`).

use crate::runtime::worker::slot::{SlotState, WorkerSlot};
use crate::runtime::{RuntimeInner, Stall, StalledThread, ThreadChangeReason, Wait};

impl Stall {
    /// Reads which threads wait now.
    pub(crate) fn of(shared: &RuntimeInner, reason: ThreadChangeReason) -> Self {
        Self {
            reason,
            threads: shared.idle.threads(),
            blocked: shared.all_slots().filter_map(StalledThread::on).collect(),
        }
    }
}

impl StalledThread {
    fn on(slot: &'static WorkerSlot) -> Option<Self> {
        let waits = match slot.occupant() {
            SlotState::Waiting => {
                let runner = slot.awaiting().slot().and_then(WorkerSlot::by_number);
                runner
                    .and_then(WorkerSlot::worker)
                    .map_or(Wait::Declared, Wait::Worker)
            }
            SlotState::Running if slot.detected_blocked.is_set() => Wait::Unknown,
            _ => return None,
        };
        Some(Self {
            worker: slot.worker(),
            task: slot.task(),
            waits,
        })
    }
}
