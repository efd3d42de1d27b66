//! What is shown of a runtime.

use crate::recording::Observed;
use crate::runtime::metrics::QUEUED_MAX;
use crate::runtime::{RuntimeInner, SlotState, ThreadChangeReason, WorkerSlot};
use crate::sync::thread_state;
use manyhands_wire::{self as wire, Worker, place, printable};

impl Observed for RuntimeInner {
    fn observe(&self) -> wire::Runtime {
        let started = |reason| self.changes.count(reason);
        wire::Runtime {
            number: self.number.0,
            name: printable(&self.settings.name),
            limit: self.idle.limit,
            threads: self.idle.threads(),
            threads_max: self.settings.threads_max,
            no_more_threads: no_more_threads(self).map(str::to_owned),
            queued_outside: self.queued_outside(),
            started_for_declared: started(ThreadChangeReason::BlockingDeclared),
            started_for_detected: started(ThreadChangeReason::BlockingDetected),
            started_for_starved: started(ThreadChangeReason::Starvation),
            workers: self.all_slots().filter_map(worker).collect(),
        }
    }
}

/// Why no thread can be added now.
fn no_more_threads(shared: &RuntimeInner) -> Option<&'static str> {
    if !shared.idle.may_grow() {
        Some("limit")
    } else {
        let is_refused = shared.refusal.is_refused();
        is_refused.then_some("refused")
    }
}

/// The occupant of a slot, if there is one.
fn worker(slot: &'static WorkerSlot) -> Option<Worker> {
    let state = match slot.occupant() {
        SlotState::None => return None,
        SlotState::Running | SlotState::Starting => "running",
        SlotState::Idle => "idle",
        SlotState::Waiting => "blocked",
    };
    Some(Worker {
        index: slot.worker(),
        state: state.to_owned(),
        sleeps_in_kernel: slot.detected_blocked.is_set(),
        task_spawned_at: slot.task().map(place),
        queued: slot.tasks.count(QUEUED_MAX) + slot.local.count(QUEUED_MAX),
        forks: slot.deque.len(),
        completed: slot.counters.finished.read(),
        steals: slot.counters.stolen.read(),
        parks: slot.counters.parked.read(),
        thread: thread_state::number(slot.thread()),
    })
}
