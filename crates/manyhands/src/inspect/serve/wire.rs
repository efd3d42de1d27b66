//! A snapshot as lines of JSON, for the socket. Their fields are described in `docs/inspect-protocol.md`.
//!
//! Not here: how an object is written (`json.rs`), loops that have ended (`reports.rs`), and stacks (`stacks.rs`).

use crate::inspect::analysis::deadlock::Deadlock;
use crate::inspect::analysis::starvation::Starvation;
use crate::inspect::printable::Printable;
use crate::inspect::serve::json::Object;
use crate::inspect::tasks::snapshot::{FrameSnapshot, TaskSnapshot, WaitSnapshot};
use crate::recording::{
    ChannelSnapshot, LoopSnapshot, RuntimeSnapshot, TaskNumber, WorkerSnapshot,
};
use miniserde::{Deserialize, json};
use std::fmt::Debug;
use std::io::{self, Write};
use std::panic::Location;
use std::time::Duration;

/// What a client asks for. Fields that are not known are ignored.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    pub(super) get: Option<String>,
    pub(super) tasks_max: Option<u64>,
    /// The number of the task to be polled.
    pub(super) poll: Option<String>,
}

impl Request {
    /// Reads a line; `None` if it is no object of JSON, or if a field has a value of another kind.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        json::from_str(str::from_utf8(line).ok()?).ok()
    }
}

/// The first line of each connection.
pub(super) fn hello() -> String {
    Object::new()
        .with("manyhands_inspect", PROTOCOL)
        .with("process", std::process::id())
        .with("library", env!("CARGO_PKG_VERSION"))
        .line()
}

/// A runtime.
pub(super) fn runtime(runtime: &RuntimeSnapshot) -> String {
    let runtime = Object::new()
        .with("number", runtime.number)
        .with("name", text(&runtime.name))
        .with("limit", runtime.limit)
        .with("threads", runtime.threads)
        .with("threads_max", runtime.threads_max)
        .with("no_more_threads", runtime.no_more_threads.map(word))
        .with("queued_outside", runtime.queued_outside)
        .with("queued_with_priority", runtime.queued_with_priority)
        .with("started_for_declared", runtime.started_for_declared)
        .with("started_for_detected", runtime.started_for_detected)
        .with("started_for_starved", runtime.started_for_starved)
        .with_list("workers", runtime.workers.iter().map(worker));
    line_of("runtime", runtime)
}

fn worker(worker: &WorkerSnapshot) -> Object {
    Object::new()
        .with("index", worker.index)
        .with("state", word(worker.state))
        .with("sleeps_in_kernel", worker.sleeps_in_kernel)
        .with("task_spawned_at", worker.task_spawned_at.map(place))
        .with("queued", worker.queued)
        .with("forks", worker.forks)
        .with("completed", worker.completed)
        .with("steals", worker.steals)
        .with("parks", worker.parks)
}

/// A task.
pub(super) fn task(task: &TaskSnapshot) -> String {
    line_of("task", task_fields(task))
}

fn task_fields(task: &TaskSnapshot) -> Object {
    Object::new()
        .with("number", task.number.to_string())
        .with("kind", word(task.kind))
        .with("id", format!("{:x}", task.id))
        .with("name", task.name.as_deref().map(text))
        .with("type", text(task.type_name))
        .with("priority", task.priority.map(word))
        .with("spawned_at", task.spawned_at.map(place))
        .with("parent", task.parent.map(|parent| parent.to_string()))
        .with("runtime", task.ran_on.map(|(runtime, _)| runtime))
        .with("worker", task.ran_on.map(|(_, worker)| worker))
        .with("state", word(task.state))
        .with("in_state_us", micros(task.in_state))
        .with("age_us", micros(task.age))
        .with("busy_us", micros(task.busy))
        .with("polls", task.polls)
        .with("wakes", task.wakes)
        .with("last_waker", task.last_waker.map(word))
        .with_list("waits", task.waits.iter().map(wait))
        .with("waits_left_out", task.waits_left_out)
        .with_list("frames", task.frames.iter().map(frame))
        .with("frames_left_out", task.frames_left_out)
        .with("may_wait_for_more", task.may_wait_for_more)
        .with("changes", task.changes)
}

fn wait(wait: &WaitSnapshot) -> Object {
    Object::new()
        .with("kind", word(wait.kind))
        .with("name", wait.name.as_deref().map(text))
        .with("resource", format!("{:x}", wait.resource))
        .with("owner", wait.owner.map(|owner| owner.to_string()))
        .with("at", place(wait.at))
        .with("waiting_us", micros(wait.waiting_for))
        .with("direct", wait.is_direct)
        .with("frame", wait.frame)
}

fn frame(frame: &FrameSnapshot) -> Object {
    Object::new()
        .with("name", text(frame.name))
        .with("at", place(frame.at))
        .with("outer", frame.outer)
}

/// A loop.
pub(super) fn running_loop(running: &LoopSnapshot) -> String {
    let running = Object::new()
        .with("body", text(running.body))
        .with("called_at", place(running.called_at))
        .with("items", running.items)
        .with("done", running.done)
        .with("runners", running.runners)
        .with("threads", running.threads)
        .with("task", running.task.map(|task| task.to_string()))
        .with("age_us", micros(running.age));
    line_of("loop", running)
}

/// A channel.
pub(super) fn channel(channel: &ChannelSnapshot) -> String {
    let channel = Object::new()
        .with("number", channel.number)
        .with("name", channel.name.as_deref().map(text))
        .with("item_type", text(channel.item_type))
        .with("made_at", place(channel.made_at))
        .with("capacity", channel.capacity)
        .with("resource", format!("{:x}", channel.resource))
        .with("age_us", micros(channel.age))
        .with(
            "load",
            channel.load.map(|load| {
                Object::new()
                    .with("len", load.len)
                    .with("senders", load.senders)
                    .with("receivers", load.receivers)
                    .with("senders_waiting", load.senders_waiting)
                    .with("receivers_waiting", load.receivers_waiting)
                    .with("closed", load.is_closed)
            }),
        );
    line_of("channel", channel)
}

/// A deadlock.
pub(super) fn deadlock(deadlock: &Deadlock) -> String {
    let ring = Object::new()
        .with("certain", deadlock.is_certain)
        .with("behind", deadlock.behind)
        .with_list("tasks", deadlock.tasks.iter().map(task_fields))
        .with("text", deadlock.to_string());
    line_of("deadlock", ring)
}

/// A starved runtime.
pub(super) fn starvation(starvation: &Starvation) -> String {
    let starved = Object::new()
        .with("runtime", starvation.runtime.number)
        .with("name", text(&starvation.runtime.name))
        .with("queued", starvation.queued)
        .with("because", word(starvation.because))
        .with("text", starvation.to_string());
    line_of("starvation", starved)
}

/// Tasks and channels that are not there any more.
pub(super) fn gone<'a>(tasks: impl Iterator<Item = &'a TaskNumber>, channels: Vec<u64>) -> String {
    let gone = Object::new()
        .with_list("tasks", tasks.map(TaskNumber::to_string))
        .with_list("channels", channels);
    line_of("gone", gone)
}

/// The last line of an answer to a request for this, to which the answer adds how much was in it.
pub(super) fn end(of: &'static str) -> Object {
    Object::new().with("end", of)
}

/// What is wrong with a request, or with its client.
pub(super) fn error(code: &str, message: &str) -> String {
    let error = Object::new()
        .with("code", code.to_owned())
        .with("message", message.to_owned());
    line_of("error", error)
}

/// An object with one field.
pub(super) fn line_of(kind: &'static str, fields: Object) -> String {
    Object::new().with(kind, fields).line()
}

/// The name of a variant as the protocol spells it: `ChannelEnd` is `channel_end`.
pub(super) fn word(value: impl Debug) -> String {
    let name = format!("{value:?}");
    let mut word = String::with_capacity(2 * name.len());
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !word.is_empty() {
            word.push('_');
        }
        word.push(letter.to_ascii_lowercase());
    }
    word
}

/// Sends these lines.
pub(super) fn say_all(
    answers: &mut impl Write,
    mut lines: impl Iterator<Item = String>,
) -> io::Result<()> {
    lines.try_for_each(|line| say(answers, &line))
}

/// Sends a line.
pub(super) fn say(answers: &mut impl Write, line: &str) -> io::Result<()> {
    writeln!(answers, "{line}")
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

#[cfg(test)]
mod tests {
    use super::word;
    use crate::inspect::loops::verdict::Verdict;
    use crate::priority::Priority;
    use crate::recording::NoMoreThreads;
    use crate::recording::enabled::runtime_snapshot::WorkerState;
    use crate::recording::enabled::tasks::last_waker::LastWaker;
    use crate::recording::enabled::tasks::task_state::{TaskKind, TaskState};
    use crate::recording::{CallLimit, WaitKind};
    use crate::sync::stack_copy::NotCopied;
    use std::fmt::Debug;

    /// A variant that gets another name must keep its word: clients know it by that.
    fn assert_sent(values: &[&dyn Debug], words: &str) {
        let sent: Vec<String> = values.iter().map(word).collect();
        assert_eq!(sent.join(" "), words);
    }

    #[test]
    fn the_words_for_tasks_stay_as_they_are() {
        assert_sent(
            &[&TaskKind::Future, &TaskKind::Closure, &TaskKind::Thread],
            "future closure thread",
        );
        assert_sent(
            &[
                &TaskState::Queued,
                &TaskState::Running,
                &TaskState::Waiting,
                &TaskState::Blocked,
            ],
            "queued running waiting blocked",
        );
        assert_sent(
            &[
                &WaitKind::Task,
                &WaitKind::Group,
                &WaitKind::Receive,
                &WaitKind::Send,
                &WaitKind::ChannelEnd,
                &WaitKind::Completion,
                &WaitKind::Scope,
                &WaitKind::Timer,
                &WaitKind::Cancellation,
                &WaitKind::Outside,
            ],
            "task group receive send channel_end completion scope timer cancellation outside",
        );
        assert_sent(
            &[
                &LastWaker::Tokio,
                &LastWaker::Other,
                &Priority::Interactive,
                &Priority::Normal,
                &Priority::Background,
                &NotCopied::Ended,
                &NotCopied::Silent,
            ],
            "tokio other interactive normal background ended silent",
        );
    }

    #[test]
    fn the_words_for_runtimes_and_loops_stay_as_they_are() {
        assert_sent(
            &[
                &WorkerState::Running,
                &WorkerState::Idle,
                &WorkerState::Blocked,
                &NoMoreThreads::Limit,
                &NoMoreThreads::Memory,
                &NoMoreThreads::Refused,
            ],
            "running idle blocked limit memory refused",
        );
        assert_sent(
            &[
                &CallLimit::Set,
                &CallLimit::Found,
                &CallLimit::Highest,
                &CallLimit::NotFound,
            ],
            "set found highest not_found",
        );
        assert_sent(
            &[
                &Verdict::Scaled,
                &Verdict::TooShort,
                &Verdict::TooFewItems,
                &Verdict::SharedLate,
                &Verdict::LongItem,
                &Verdict::BodiesSlowEachOther,
                &Verdict::SourceSlow,
                &Verdict::HelpersElsewhere,
                &Verdict::OffProcessor,
                &Verdict::OneRunner,
                &Verdict::NoPlace,
                &Verdict::ConcurrencySet,
                &Verdict::ConsumerSlow,
                &Verdict::Stopped,
            ],
            "scaled too_short too_few_items shared_late long_item bodies_slow_each_other source_slow helpers_elsewhere \
             off_processor one_runner no_place concurrency_set consumer_slow stopped",
        );
    }
}
