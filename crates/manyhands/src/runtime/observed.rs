//! What a snapshot shows of a runtime.

use crate::job::Job;
use crate::queue::TaskQueue;
use crate::recording::{NoMoreThreads, Observed, RuntimeSnapshot, WorkerSnapshot, WorkerState};
use crate::runtime::metrics::QUEUED_MAX;
use crate::runtime::{RuntimeInner, SlotState, ThreadChangeReason, WorkerSlot};
use crate::sync::thread_state;

impl Observed for RuntimeInner {
    fn observe(&self) -> RuntimeSnapshot {
        let started = |reason| self.changes.count(reason);
        let count = |queue: &TaskQueue<Job>| queue.count(QUEUED_MAX);
        RuntimeSnapshot {
            number: self.number.0,
            name: self.settings.name.clone(),
            limit: self.idle.limit,
            threads: self.idle.threads(),
            threads_max: self.settings.threads_max,
            no_more_threads: no_more_threads(self),
            queued_outside: self.usual_queues_outside().map(count).sum(),
            queued_with_priority: self.priority_queues.all().map(count).sum(),
            started_for_declared: started(ThreadChangeReason::BlockingDeclared),
            started_for_detected: started(ThreadChangeReason::BlockingDetected),
            started_for_starved: started(ThreadChangeReason::Starvation),
            workers: self.all_slots().filter_map(worker).collect(),
        }
    }
}

/// Why no thread can be added now.
fn no_more_threads(shared: &RuntimeInner) -> Option<NoMoreThreads> {
    if shared.idle.is_at_threads_max() {
        Some(NoMoreThreads::Limit)
    } else if !shared.idle.may_grow() {
        Some(NoMoreThreads::Memory)
    } else {
        let is_refused = shared.refusal.is_refused();
        is_refused.then_some(NoMoreThreads::Refused)
    }
}

/// The occupant of a slot, if there is one.
fn worker(slot: &'static WorkerSlot) -> Option<WorkerSnapshot> {
    let state = match slot.occupant() {
        SlotState::None => return None,
        SlotState::Running | SlotState::Starting => WorkerState::Running,
        SlotState::Idle => WorkerState::Idle,
        SlotState::Waiting => WorkerState::Blocked,
    };
    Some(WorkerSnapshot {
        index: slot.worker(),
        state,
        sleeps_in_kernel: slot.detected_blocked.is_set(),
        task_spawned_at: slot.task(),
        queued: slot.tasks.count(QUEUED_MAX) + slot.local.count(QUEUED_MAX),
        forks: slot.deque.len(),
        completed: slot.counters.finished.read(),
        steals: slot.counters.stolen.read(),
        parks: slot.counters.parked.read(),
        thread: thread_state::number(slot.thread()),
    })
}
