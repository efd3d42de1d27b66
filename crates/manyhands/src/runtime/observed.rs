//! What a snapshot shows of a runtime.

use crate::inspect::{Observed, RuntimeSnapshot, WorkerSnapshot, WorkerState};
use crate::runtime::worker::slot::{SlotState, WorkerSlot};
use crate::runtime::{RuntimeInner, ThreadChangeReason};

impl Observed for RuntimeInner {
    fn observe(&self) -> RuntimeSnapshot {
        let started = |reason| self.changes.count(reason);
        RuntimeSnapshot {
            number: self.number.get(),
            name: self.settings.name.clone(),
            limit: self.idle.limit(),
            queued_outside: self.injector.count(QUEUED_MAX),
            started_for_declared: started(ThreadChangeReason::BlockingDeclared),
            started_for_detected: started(ThreadChangeReason::BlockingDetected),
            started_for_starved: started(ThreadChangeReason::Starvation),
            workers: self.all_slots().filter_map(worker).collect(),
        }
    }
}

/// The occupant of a slot, if there is one.
fn worker(slot: &'static WorkerSlot) -> Option<WorkerSnapshot> {
    let state = match slot.occupant() {
        SlotState::None => return None,
        SlotState::Running => WorkerState::Running,
        SlotState::Idle => WorkerState::Idle,
        SlotState::Waiting => WorkerState::Blocked,
    };
    Some(WorkerSnapshot {
        index: slot.worker(),
        state,
        task_spawned_at: slot.task(),
        queued: slot.tasks.count(QUEUED_MAX) + slot.local.count(QUEUED_MAX),
        forks: slot.deque.len(),
        completed: slot.counters.finished.read(),
        steals: slot.counters.stolen.read(),
        parks: slot.counters.parked.read(),
    })
}

/// No more tasks of one queue are counted, because counting keeps other threads from taking.
const QUEUED_MAX: usize = 10_000;
