//! The lines of the protocol, as types.

use crate::groups::Group;
use crate::reports::LoopReport;
use crate::stacks::{Code, RawLeaf, RawStack};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The first line of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the protocol.
    pub manyhands_inspect: u32,
    /// The number of the process.
    pub process: u32,
    /// The version of the library.
    pub library: String,
}

/// What the program does at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct View {
    /// Its runtimes.
    pub runtimes: Vec<Runtime>,
    /// Its tasks, in the order of their numbers.
    pub tasks: Vec<Task>,
    /// Tasks beyond the number asked for.
    pub tasks_left_out: usize,
    /// If there are such tasks: all tasks, equal ones as one group, the largest first.
    pub groups: Vec<Group>,
    /// Groups beyond the most that are sent.
    pub groups_left_out: usize,
    /// The parallel loops that run, the oldest first.
    pub loops: Vec<Loop>,
    /// Its channels, the oldest first.
    pub channels: Vec<Channel>,
    /// Channels beyond the number asked for.
    pub channels_left_out: usize,
    /// Its deadlocks.
    pub deadlocks: Vec<Deadlock>,
    /// Its runtimes whose tasks no thread takes.
    pub starvations: Vec<Starvation>,
    /// The last report of each place that calls loops, that of the loop that ended last first.
    pub reports: Vec<LoopReport>,
}

/// A runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Its number in the process.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// How many threads may run at once.
    pub limit: usize,
    /// Tasks from external threads that wait for a worker.
    pub queued_outside: usize,
    /// Threads started in place of one that declared that it blocks.
    pub started_for_declared: u64,
    /// Threads started in place of one that was detected as blocked.
    pub started_for_detected: u64,
    /// Threads started because computations had occupied every running thread.
    pub started_for_starved: u64,
    /// Its workers, and external threads that take part.
    pub workers: Vec<Worker>,
}

/// A worker, or an external thread that takes part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// Its number among the workers; none for an external thread.
    pub index: Option<usize>,
    /// `running`, `idle` or `blocked`.
    pub state: String,
    /// Where the task was spawned that it runs.
    pub task_spawned_at: Option<String>,
    /// Tasks in its queue.
    pub queued: usize,
    /// Halves of joins and closures of scopes in its deque.
    pub forks: usize,
    /// Pieces of work that it has completed.
    pub completed: u64,
    /// How often it stole.
    pub steals: u64,
    /// How often it went to sleep.
    pub parks: u64,
}

/// A task that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Names it; no other task of the process has the same.
    pub number: String,
    /// `future`, `closure`, or `thread` for a thread that waits outside of any task.
    pub kind: String,
    /// What its `TaskId` prints.
    pub id: String,
    /// The name that it was given.
    pub name: Option<String>,
    /// The type of its closure or future; of a closure or an async function the function in which it is written.
    #[serde(rename = "type", deserialize_with = "without_closure")]
    pub type_name: String,
    /// `interactive`, `normal` or `background`; none of a thread.
    #[serde(default)]
    pub priority: Option<String>,
    /// File, line and column of its spawning.
    pub spawned_at: Option<String>,
    /// The number of the task that spawned it.
    pub parent: Option<String>,
    /// The number of the runtime that ran it last.
    pub runtime: Option<u32>,
    /// The number of the worker that ran it last.
    pub worker: Option<usize>,
    /// `queued`, `running`, `waiting` or `blocked`.
    pub state: String,
    /// Microseconds in this state.
    pub in_state_us: u64,
    /// Microseconds since it was spawned.
    pub age_us: u64,
    /// Microseconds that it has run.
    pub busy_us: u64,
    /// How often it was polled or run.
    pub polls: u64,
    /// How often it was woken.
    pub wakes: u64,
    /// Who has woken it last: `tokio` for tokio's driver, or `other`; none if nobody has.
    #[serde(default)]
    pub last_waker: Option<String>,
    /// What it waits for: any one of these lets it go on.
    pub waits: Vec<Wait>,
    /// Recorded waits that are not listed.
    pub waits_left_out: u32,
    /// The annotated frames that it is in, each behind the one around it.
    #[serde(default)]
    pub frames: Vec<Frame>,
    /// Frames that are not listed, the innermost ones.
    #[serde(default)]
    pub frames_left_out: u32,
    /// It may wait for something that is not recorded.
    pub may_wait_for_more: bool,
    /// Changes with each poll, each wake, and each change of its waits.
    pub changes: u64,
}

/// One thing that a task waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// `task`, `group`, `receive`, `send`, `channel_end`, `completion`, `scope`, `timer`, `cancellation` or `outside`.
    pub kind: String,
    /// The name of the group that it waits for.
    pub name: Option<String>,
    /// The same for all waits for the same thing.
    pub resource: String,
    /// The number of the task that it waits for.
    pub owner: Option<String>,
    /// File, line and column.
    pub at: String,
    /// Microseconds since it began.
    pub waiting_us: u64,
    /// Its end wakes the task itself, not a combinator in it.
    pub direct: bool,
    /// The innermost frame that it is in, by its place in [`Task::frames`].
    #[serde(default)]
    pub frame: Option<usize>,
}

/// A part of a task that the program has annotated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Its name.
    pub name: String,
    /// File, line and column.
    pub at: String,
    /// The frame around it, by its place in [`Task::frames`].
    pub outer: Option<usize>,
}

/// A parallel loop that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    /// The function that is its body, or in which the closure is written that is.
    #[serde(deserialize_with = "without_closure")]
    pub body: String,
    /// File, line and column of the call.
    pub called_at: Option<String>,
    /// How many items it has; none if that is not known, of a loop over an iterator or an async one.
    pub items: Option<u64>,
    /// How many of them have been run.
    pub done: u64,
    /// How many threads run it now; of an async loop how many items.
    pub runners: usize,
    /// How many threads can run it, 1 until it is opened to others; of an async loop how many items.
    pub threads: usize,
    /// The number of the task that has called it.
    pub task: Option<String>,
    /// Microseconds since it began.
    pub age_us: u64,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Its number in the process.
    pub number: u64,
    /// The name that it was given.
    pub name: Option<String>,
    /// The type of its items.
    pub item_type: String,
    /// File, line and column of its making.
    pub made_at: String,
    /// How many items wait in it before senders do; none if there is no limit.
    pub capacity: Option<usize>,
    /// The resource of the waits for it.
    pub resource: String,
    /// Microseconds since it was made.
    pub age_us: u64,
    /// What is in it and who waits; none if it was in use.
    pub load: Option<Load>,
}

/// What is in a channel, and who waits at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// How many items are in it.
    pub len: usize,
    /// How many senders exist.
    pub senders: usize,
    /// How many receivers exist.
    pub receivers: usize,
    /// How many sends wait for room.
    pub senders_waiting: usize,
    /// How many receives wait for an item.
    pub receivers_waiting: usize,
    /// It takes no more items.
    pub closed: bool,
}

/// Tasks that wait for each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlock {
    /// None of them can wait for anything else.
    pub certain: bool,
    /// How many other tasks cannot go on because of it.
    pub behind: usize,
    /// Each waits for the next one, and the last for the first.
    pub tasks: Vec<Task>,
    /// All of this in sentences.
    pub text: String,
}

/// A runtime that is starved: tasks are queued, each worker stays at its work, and no thread can be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starvation {
    /// The number of the runtime in the process.
    pub runtime: u32,
    /// Its name.
    pub name: String,
    /// How many of its tasks are queued.
    pub queued: usize,
    /// Why no thread can be added: `limit`, `memory` or `refused`.
    pub because: String,
    /// All of this in sentences, with its workers.
    pub text: String,
}

/// A line of an answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    Runtime(Runtime),
    Task(Box<Task>),
    Loop(Loop),
    Channel(Box<Channel>),
    Deadlock(Deadlock),
    Starvation(Starvation),
    Group(Group),
    Code(Code),
    Stack(Box<RawStack>),
    Leaf(RawLeaf),
    Report(LoopReport),
    Gone(Gone),
    Error(Refusal),
    #[serde(untagged)]
    End(End),
    /// Of a newer program.
    #[serde(untagged)]
    Unknown(BTreeMap<String, IgnoredAny>),
}

/// What is wrong with a program: what cannot go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Troubles {
    pub(crate) deadlocks: Vec<Deadlock>,
    pub(crate) starvations: Vec<Starvation>,
}

impl View {
    /// What cannot go on, in sentences.
    pub fn alarms(&self) -> impl Iterator<Item = &str> {
        let rings = self.deadlocks.iter().map(|ring| ring.text.as_str());
        rings.chain(self.starvations.iter().map(|starved| starved.text.as_str()))
    }
}

/// What is not there any more.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Gone {
    pub(crate) tasks: Vec<String>,
    pub(crate) channels: Vec<u64>,
}

/// The last line of an answer.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct End {
    #[expect(dead_code, reason = "an object without it is no end")]
    pub(crate) end: String,
    #[serde(default)]
    pub(crate) tasks_left_out: usize,
    #[serde(default)]
    pub(crate) channels_left_out: usize,
    #[serde(default)]
    pub(crate) groups_left_out: usize,
}

/// Why there is no answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Refusal {
    #[serde(default)]
    pub(crate) code: String,
    pub(crate) message: String,
}

/// The name of a type without what the compiler calls closures, and so the futures of async functions: `{{closure}}` says
/// nothing that is not the same for all of them.
pub(crate) fn without_closure<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let mut name = String::deserialize(from)?;
    while let Some(function) = name.strip_suffix("::{{closure}}") {
        name.truncate(function.len());
    }
    Ok(name)
}

/// Counts are what a program says, so they may be any.
pub(crate) fn add(count: &mut usize, more: usize) {
    *count = count.saturating_add(more);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Task, without_closure};
    use serde::de::{IntoDeserializer, value::Error};

    /// A task that runs.
    pub(crate) fn clerk() -> Task {
        Task {
            number: "1".to_owned(),
            kind: "future".to_owned(),
            id: "7f00".to_owned(),
            name: None,
            type_name: "office::clerk".to_owned(),
            priority: None,
            spawned_at: Some("src/main.rs:7:1".to_owned()),
            parent: None,
            runtime: None,
            worker: None,
            state: "running".to_owned(),
            in_state_us: 1,
            age_us: 1,
            busy_us: 1,
            polls: 1,
            wakes: 0,
            last_waker: None,
            waits: Vec::new(),
            waits_left_out: 0,
            frames: Vec::new(),
            frames_left_out: 0,
            may_wait_for_more: false,
            changes: 1,
        }
    }

    #[test]
    fn an_async_function_has_its_own_name() {
        for (sent, read) in [
            ("shop::serve::{{closure}}", "shop::serve"),
            ("shop::serve::{{closure}}::{{closure}}", "shop::serve"),
            (
                "shop::Map<shop::f::{{closure}}>",
                "shop::Map<shop::f::{{closure}}>",
            ),
            ("shop::Server", "shop::Server"),
            ("{{closure}}", "{{closure}}"),
        ] {
            let name: Result<String, Error> = without_closure(sent.into_deserializer());
            assert_eq!(name.unwrap(), read);
        }
    }
}
