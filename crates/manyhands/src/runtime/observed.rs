//! What a snapshot shows of a runtime.

#[cfg(unix)]
use crate::inspect::ObservedThread;
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
            queued_outside: self.injector.count(QUEUED_MAX) + self.set_aside.count(QUEUED_MAX),
            started_for_declared: started(ThreadChangeReason::BlockingDeclared),
            started_for_detected: started(ThreadChangeReason::BlockingDetected),
            started_for_starved: started(ThreadChangeReason::Starvation),
            workers: self.all_slots().filter_map(worker).collect(),
        }
    }

    #[cfg(unix)]
    fn threads(&self) -> (u32, Vec<ObservedThread>) {
        let thread = |slot: &'static WorkerSlot| {
            Some(ObservedThread {
                state: state(slot)?,
                number: slot.thread_number(),
                worker: slot.worker(),
                task_spawned_at: slot.task(),
            })
        };
        let threads = self.all_slots().filter_map(thread).collect();
        (self.number.get(), threads)
    }
}

/// What the occupant of a slot does, if there is one.
fn state(slot: &WorkerSlot) -> Option<WorkerState> {
    match slot.occupant() {
        SlotState::None => None,
        SlotState::Running => Some(WorkerState::Running),
        SlotState::Idle => Some(WorkerState::Idle),
        SlotState::Waiting => Some(WorkerState::Blocked),
    }
}

/// The occupant of a slot, if there is one.
fn worker(slot: &'static WorkerSlot) -> Option<WorkerSnapshot> {
    Some(WorkerSnapshot {
        index: slot.worker(),
        state: state(slot)?,
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
