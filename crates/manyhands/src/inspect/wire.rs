//! A snapshot as lines of JSON, for the socket. Their fields are described in `docs/inspect-protocol.md`.

use crate::inspect::deadlock::Deadlock;
use crate::inspect::printable::Printable;
use crate::inspect::snapshot::{
    RuntimeSnapshot, TaskSnapshot, WaitSnapshot, WorkerSnapshot, WorkerState,
};
use crate::inspect::task_state::{TaskKind, TaskState};
use serde_json::{Value, json};
use std::panic::Location;
use std::time::Duration;

/// The first line of each connection.
pub(super) fn hello() -> Value {
    json!({
        "manyhands_inspect": PROTOCOL,
        "process": std::process::id(),
        "library": env!("CARGO_PKG_VERSION"),
    })
}

/// A runtime.
pub(super) fn runtime(runtime: &RuntimeSnapshot) -> Value {
    json!({ "runtime": {
        "number": runtime.number,
        "name": text(&runtime.name),
        "limit": runtime.limit,
        "queued_outside": runtime.queued_outside,
        "started_for_declared": runtime.started_for_declared,
        "started_for_detected": runtime.started_for_detected,
        "started_for_starved": runtime.started_for_starved,
        "workers": runtime.workers.iter().map(worker).collect::<Value>(),
    }})
}

fn worker(worker: &WorkerSnapshot) -> Value {
    json!({
        "index": worker.index,
        "state": match worker.state {
            WorkerState::Running => "running",
            WorkerState::Idle => "idle",
            WorkerState::Blocked => "blocked",
        },
        "task_spawned_at": worker.task_spawned_at.map(line),
        "queued": worker.queued,
        "forks": worker.forks,
        "completed": worker.completed,
        "steals": worker.steals,
        "parks": worker.parks,
    })
}

/// A task.
pub(super) fn task(task: &TaskSnapshot) -> Value {
    json!({ "task": task_fields(task) })
}

fn task_fields(task: &TaskSnapshot) -> Value {
    json!({
        "number": task.number.to_string(),
        "kind": match task.kind {
            TaskKind::Future => "future",
            TaskKind::Closure => "closure",
            TaskKind::Thread => "thread",
        },
        "id": format!("{:x}", task.id),
        "name": task.name.as_deref().map(text),
        "type": text(task.type_name),
        "spawned_at": task.spawned_at.map(line),
        "parent": task.parent.map(|parent| parent.to_string()),
        "runtime": task.ran_on.map(|(runtime, _)| runtime),
        "worker": task.ran_on.map(|(_, worker)| worker),
        "state": match task.state {
            TaskState::Queued => "queued",
            TaskState::Running => "running",
            TaskState::Waiting => "waiting",
            TaskState::Blocked => "blocked",
        },
        "in_state_us": micros(task.in_state),
        "age_us": micros(task.age),
        "busy_us": micros(task.busy),
        "polls": task.polls,
        "wakes": task.wakes,
        "waits": task.waits.iter().map(wait).collect::<Value>(),
        "waits_left_out": task.waits_left_out,
        "may_wait_for_more": task.may_wait_for_more,
        "changes": task.changes,
    })
}

fn wait(wait: &WaitSnapshot) -> Value {
    json!({
        "kind": wait.kind.name(),
        "resource": format!("{:x}", wait.resource),
        "owner": wait.owner.map(|owner| owner.to_string()),
        "at": line(wait.at),
        "waiting_us": micros(wait.waiting_for),
        "direct": wait.is_direct,
    })
}

/// A deadlock.
pub(super) fn deadlock(deadlock: &Deadlock) -> Value {
    json!({ "deadlock": {
        "certain": deadlock.is_certain,
        "behind": deadlock.behind,
        "tasks": deadlock.tasks.iter().map(task_fields).collect::<Value>(),
        "text": deadlock.to_string(),
    }})
}

/// The last line of a snapshot.
pub(super) fn end_of_snapshot(sent: usize, left_out: usize) -> Value {
    json!({ "end": "snapshot", "tasks": sent, "tasks_left_out": left_out })
}

/// The last line of a list of deadlocks.
pub(super) fn end_of_deadlocks(sent: usize) -> Value {
    json!({ "end": "deadlocks", "deadlocks": sent })
}

/// What is wrong with a request, or with who makes it.
pub(super) fn error(code: &str, message: &str) -> Value {
    json!({ "error": { "code": code, "message": message } })
}

fn line(at: &Location<'_>) -> String {
    text(&at.to_string())
}

fn text(text: &str) -> String {
    Printable(text).to_string()
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Raised by each change that a reader of the version before would misunderstand. New fields are no such change.
const PROTOCOL: u32 = 1;
