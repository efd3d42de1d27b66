//! A snapshot as lines of JSON, for the socket. Their fields are described in `docs/inspect-protocol.md`.
//!
//! Not written by `serde_json`: in every program that contains that crate a number can also be compared with its values,
//! so a line like `assert_eq!(6, numbers.iter().sum())` no longer has one meaning, and does not compile.

use crate::inspect::analysis::deadlock::Deadlock;
use crate::inspect::analysis::starvation::Starvation;
use crate::inspect::printable::Printable;
use crate::inspect::tasks::snapshot::{FrameSnapshot, TaskSnapshot, WaitSnapshot};
use crate::priority::Priority;
use crate::recording::WaitKind;
use crate::recording::enabled::channel_snapshot::ChannelSnapshot;
use crate::recording::enabled::loops::snapshot::LoopSnapshot;
use crate::recording::enabled::no_more_threads::NoMoreThreads;
use crate::recording::enabled::runtime_snapshot::{RuntimeSnapshot, WorkerSnapshot, WorkerState};
use crate::recording::enabled::tasks::last_waker::LastWaker;
use crate::recording::enabled::tasks::task_number::TaskNumber;
use crate::recording::enabled::tasks::task_state::{TaskKind, TaskState};
use miniserde::{Deserialize, Serialize, json};
use std::panic::Location;
use std::time::Duration;

/// What a client asks for. Fields that are not known are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    pub(super) get: Option<String>,
    pub(super) tasks_max: Option<u64>,
    /// The number of the task that is to be polled.
    pub(super) poll: Option<String>,
    /// The number of the task that is to be frozen.
    pub(super) freeze: Option<String>,
    /// The number of the task that is to be thawed.
    pub(super) thaw: Option<String>,
}

impl Request {
    /// Reads a line; `None` if it is no object of JSON, or if a field has a value of another kind.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        json::from_str(str::from_utf8(line).ok()?).ok()
    }
}

#[derive(Serialize)]
struct Hello {
    manyhands_inspect: u32,
    process: u32,
    library: &'static str,
}

#[derive(Serialize)]
struct Runtime {
    number: u32,
    name: String,
    limit: usize,
    threads: usize,
    threads_max: usize,
    no_more_threads: Option<&'static str>,
    queued_outside: usize,
    queued_with_priority: usize,
    started_for_declared: u64,
    started_for_detected: u64,
    started_for_starved: u64,
    workers: Vec<Worker>,
}

#[derive(Serialize)]
struct Worker {
    index: Option<usize>,
    state: &'static str,
    sleeps_in_kernel: bool,
    task_spawned_at: Option<String>,
    queued: usize,
    forks: usize,
    completed: u64,
    steals: u64,
    parks: u64,
}

#[derive(Serialize)]
struct Task {
    number: String,
    kind: &'static str,
    id: String,
    name: Option<String>,
    #[serde(rename = "type")]
    type_name: String,
    priority: Option<&'static str>,
    spawned_at: Option<String>,
    parent: Option<String>,
    runtime: Option<u32>,
    worker: Option<usize>,
    state: &'static str,
    frozen: bool,
    in_state_us: u64,
    age_us: u64,
    busy_us: u64,
    polls: u64,
    wakes: u64,
    last_waker: Option<&'static str>,
    waits: Vec<Wait>,
    waits_left_out: u32,
    frames: Vec<Frame>,
    frames_left_out: u32,
    may_wait_for_more: bool,
    changes: u64,
}

#[derive(Serialize)]
struct Wait {
    kind: &'static str,
    name: Option<String>,
    resource: String,
    owner: Option<String>,
    at: String,
    waiting_us: u64,
    direct: bool,
    frame: Option<usize>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
    at: String,
    outer: Option<usize>,
}

#[derive(Serialize)]
struct Ring {
    certain: bool,
    behind: usize,
    tasks: Vec<Task>,
    text: String,
}

#[derive(Serialize)]
struct Starved {
    runtime: u32,
    name: String,
    queued: usize,
    because: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Loop {
    body: String,
    called_at: String,
    items: Option<u64>,
    done: u64,
    runners: usize,
    threads: usize,
    task: Option<String>,
    age_us: u64,
}

#[derive(Serialize)]
struct Channel {
    number: u64,
    name: Option<String>,
    item_type: String,
    made_at: String,
    capacity: Option<usize>,
    resource: String,
    age_us: u64,
    load: Option<Load>,
}

#[derive(Serialize)]
struct Load {
    len: usize,
    senders: usize,
    receivers: usize,
    senders_waiting: usize,
    receivers_waiting: usize,
    closed: bool,
}

#[derive(Serialize)]
struct Gone {
    tasks: Vec<String>,
    channels: Vec<u64>,
}

#[derive(Serialize)]
struct EndOfSnapshot {
    end: &'static str,
    tasks: usize,
    tasks_left_out: usize,
    channels_left_out: usize,
}

#[derive(Serialize)]
struct EndOfDeadlocks {
    end: &'static str,
    deadlocks: usize,
    starvations: usize,
}

#[derive(Serialize)]
struct EndOfStacks {
    end: &'static str,
    threads: usize,
}

#[derive(Serialize)]
struct EndOfPoll {
    end: &'static str,
    ended: bool,
}

#[derive(Serialize)]
struct EndOfFreeze {
    end: &'static str,
    running: bool,
}

#[derive(Serialize)]
struct EndOfThaw {
    end: &'static str,
}

#[derive(Serialize)]
struct EndOfGroups {
    end: &'static str,
    groups: usize,
    groups_left_out: usize,
}

#[derive(Serialize)]
struct EndOfReports {
    end: &'static str,
    reports: usize,
}

#[derive(Serialize)]
struct Refusal<'a> {
    code: &'a str,
    message: &'a str,
}

/// The first line of each connection.
pub(super) fn hello() -> String {
    json::to_string(&Hello {
        manyhands_inspect: PROTOCOL,
        process: std::process::id(),
        library: env!("CARGO_PKG_VERSION"),
    })
}

/// A runtime.
pub(super) fn runtime(runtime: &RuntimeSnapshot) -> String {
    let runtime = Runtime {
        number: runtime.number,
        name: text(&runtime.name),
        limit: runtime.limit,
        threads: runtime.threads,
        threads_max: runtime.threads_max,
        no_more_threads: runtime.no_more_threads.map(no_more_threads),
        queued_outside: runtime.queued_outside,
        queued_with_priority: runtime.queued_with_priority,
        started_for_declared: runtime.started_for_declared,
        started_for_detected: runtime.started_for_detected,
        started_for_starved: runtime.started_for_starved,
        workers: runtime.workers.iter().map(worker).collect(),
    };
    line_of("runtime", &runtime)
}

fn worker(worker: &WorkerSnapshot) -> Worker {
    Worker {
        index: worker.index,
        state: worker_state(worker.state),
        sleeps_in_kernel: worker.sleeps_in_kernel,
        task_spawned_at: worker.task_spawned_at.map(place),
        queued: worker.queued,
        forks: worker.forks,
        completed: worker.completed,
        steals: worker.steals,
        parks: worker.parks,
    }
}

/// What a worker does, in a word.
pub(super) fn worker_state(state: WorkerState) -> &'static str {
    match state {
        WorkerState::Running => "running",
        WorkerState::Idle => "idle",
        WorkerState::Blocked => "blocked",
    }
}

/// A task.
pub(super) fn task(task: &TaskSnapshot) -> String {
    line_of("task", &task_fields(task))
}

fn task_fields(task: &TaskSnapshot) -> Task {
    Task {
        number: task.number.to_string(),
        kind: task_kind(task.kind),
        id: format!("{:x}", task.id),
        name: task.name.as_deref().map(text),
        type_name: text(task.type_name),
        priority: task.priority.map(priority),
        spawned_at: task.spawned_at.map(place),
        parent: task.parent.map(|parent| parent.to_string()),
        runtime: task.ran_on.map(|(runtime, _)| runtime),
        worker: task.ran_on.map(|(_, worker)| worker),
        state: task_state(task.state),
        frozen: task.is_frozen,
        in_state_us: micros(task.in_state),
        age_us: micros(task.age),
        busy_us: micros(task.busy),
        polls: task.polls,
        wakes: task.wakes,
        last_waker: task.last_waker.map(last_waker),
        waits: task.waits.iter().map(wait).collect(),
        waits_left_out: task.waits_left_out,
        frames: task.frames.iter().map(frame).collect(),
        frames_left_out: task.frames_left_out,
        may_wait_for_more: task.may_wait_for_more,
        changes: task.changes,
    }
}

/// What a task is, in a word.
pub(super) fn task_kind(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::Future => "future",
        TaskKind::Closure => "closure",
        TaskKind::Thread => "thread",
    }
}

/// What a task does, in a word.
pub(super) fn task_state(state: TaskState) -> &'static str {
    match state {
        TaskState::Queued => "queued",
        TaskState::Running => "running",
        TaskState::Waiting => "waiting",
        TaskState::Blocked => "blocked",
        TaskState::Frozen => "frozen",
    }
}

/// What is waited for, in a word.
pub(super) fn wait_kind(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Task => "task",
        WaitKind::Group => "group",
        WaitKind::Receive => "receive",
        WaitKind::Send => "send",
        WaitKind::ChannelEnd => "channel_end",
        WaitKind::Completion => "completion",
        WaitKind::Scope => "scope",
        WaitKind::Timer => "timer",
        WaitKind::Cancellation => "cancellation",
        WaitKind::Outside => "outside",
    }
}

fn last_waker(waker: LastWaker) -> &'static str {
    match waker {
        LastWaker::Tokio => "tokio",
        LastWaker::Other => "other",
    }
}

fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::Interactive => "interactive",
        Priority::Normal => "normal",
        Priority::Background => "background",
    }
}

fn no_more_threads(because: NoMoreThreads) -> &'static str {
    match because {
        NoMoreThreads::Limit => "limit",
        NoMoreThreads::Memory => "memory",
        NoMoreThreads::Refused => "refused",
    }
}

fn wait(wait: &WaitSnapshot) -> Wait {
    Wait {
        kind: wait_kind(wait.kind),
        name: wait.name.as_deref().map(text),
        resource: format!("{:x}", wait.resource),
        owner: wait.owner.map(|owner| owner.to_string()),
        at: place(wait.at),
        waiting_us: micros(wait.waiting_for),
        direct: wait.is_direct,
        frame: wait.frame,
    }
}

fn frame(frame: &FrameSnapshot) -> Frame {
    Frame {
        name: text(frame.name),
        at: place(frame.at),
        outer: frame.outer,
    }
}

/// A loop.
pub(super) fn running_loop(running: &LoopSnapshot) -> String {
    let running = Loop {
        body: text(running.body),
        called_at: place(running.called_at),
        items: running.items,
        done: running.done,
        runners: running.runners,
        threads: running.threads,
        task: running.task.map(|task| task.to_string()),
        age_us: micros(running.age),
    };
    line_of("loop", &running)
}

/// A channel.
pub(super) fn channel(channel: &ChannelSnapshot) -> String {
    let channel = Channel {
        number: channel.number,
        name: channel.name.as_deref().map(text),
        item_type: text(channel.item_type),
        made_at: place(channel.made_at),
        capacity: channel.capacity,
        resource: format!("{:x}", channel.resource),
        age_us: micros(channel.age),
        load: channel.load.map(|load| Load {
            len: load.len,
            senders: load.senders,
            receivers: load.receivers,
            senders_waiting: load.senders_waiting,
            receivers_waiting: load.receivers_waiting,
            closed: load.is_closed,
        }),
    };
    line_of("channel", &channel)
}

/// A deadlock.
pub(super) fn deadlock(deadlock: &Deadlock) -> String {
    let ring = Ring {
        certain: deadlock.is_certain,
        behind: deadlock.behind,
        tasks: deadlock.tasks.iter().map(task_fields).collect(),
        text: deadlock.to_string(),
    };
    line_of("deadlock", &ring)
}

/// A starved runtime.
pub(super) fn starvation(starvation: &Starvation) -> String {
    let starved = Starved {
        runtime: starvation.runtime.number,
        name: text(&starvation.runtime.name),
        queued: starvation.queued,
        because: no_more_threads(starvation.because),
        text: starvation.to_string(),
    };
    line_of("starvation", &starved)
}

/// Tasks and channels that are not there any more.
pub(super) fn gone(tasks: &[TaskNumber], channels: Vec<u64>) -> String {
    let tasks = tasks.iter().map(TaskNumber::to_string).collect();
    line_of("gone", &Gone { tasks, channels })
}

/// The last line of a snapshot, or of the changes since another one: what it is, how many tasks are in it, and how many tasks
/// and channels are left out.
pub(super) fn end_of_snapshot(
    end: &'static str,
    tasks: usize,
    (tasks_left_out, channels_left_out): (usize, usize),
) -> String {
    json::to_string(&EndOfSnapshot {
        end,
        tasks,
        tasks_left_out,
        channels_left_out,
    })
}

/// The last line of a list of deadlocks and of starved runtimes.
pub(super) fn end_of_deadlocks(deadlocks: usize, starvations: usize) -> String {
    json::to_string(&EndOfDeadlocks {
        end: "deadlocks",
        deadlocks,
        starvations,
    })
}

/// The last line of a list of stacks.
pub(super) fn end_of_stacks(threads: usize) -> String {
    json::to_string(&EndOfStacks {
        end: "stacks",
        threads,
    })
}

/// The last line about a task that was polled on request. `ended`: with that it has ended.
pub(super) fn end_of_poll(ended: bool) -> String {
    json::to_string(&EndOfPoll { end: "poll", ended })
}

/// The last line about a task that was frozen. `running`: it is being polled, and is held before its next poll.
pub(super) fn end_of_freeze(running: bool) -> String {
    json::to_string(&EndOfFreeze {
        end: "freeze",
        running,
    })
}

/// The last line about a task that was thawed.
pub(super) fn end_of_thaw() -> String {
    json::to_string(&EndOfThaw { end: "thaw" })
}

/// The last line of a list of groups.
pub(super) fn end_of_groups(groups: usize, groups_left_out: usize) -> String {
    json::to_string(&EndOfGroups {
        end: "groups",
        groups,
        groups_left_out,
    })
}

/// The last line of a list of reports.
pub(super) fn end_of_reports(reports: usize) -> String {
    json::to_string(&EndOfReports {
        end: "reports",
        reports,
    })
}

/// What is wrong with a request, or with who makes it.
pub(super) fn error(code: &str, message: &str) -> String {
    line_of("error", &Refusal { code, message })
}

/// An object with one field.
pub(super) fn line_of(kind: &str, fields: &impl Serialize) -> String {
    format!("{{\"{kind}\":{}}}", json::to_string(fields))
}

/// A place in the source.
pub(super) fn place(at: &Location<'_>) -> String {
    text(&at.to_string())
}

/// Text of the program, made safe to show.
pub(super) fn text(text: &str) -> String {
    Printable(text).to_string()
}

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// Raised by each change that a reader of the version before would misunderstand. New fields are no such change.
const PROTOCOL: u32 = 1;
