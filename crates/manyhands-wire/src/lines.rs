//! What is asked and answered, line by line.

use crate::{
    Channel, Code, Deadlock, Group, Loop, LoopReport, RawLeaf, RawStack, Runtime, Starvation, Task,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The first line of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the protocol: [`PROTOCOL`].
    pub manyhands_inspect: u32,
    /// The number of the process.
    pub process: u32,
    /// The version of the library.
    pub library: String,
}

/// What a client asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// What it wants to see: `snapshot`, `changes`, `deadlocks`, `reports`, `groups` or `stacks`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get: Option<String>,
    /// Of how many tasks and channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_max: Option<u64>,
    /// The number of a task to be polled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<String>,
}

impl Request {
    /// To see this.
    ///
    /// # Examples
    /// ```
    /// let request = manyhands_wire::Request::get("groups");
    /// assert_eq!(request.get.as_deref(), Some("groups"));
    /// ```
    #[must_use]
    pub fn get(what: &str) -> Self {
        Self {
            get: Some(what.to_owned()),
            ..Self::default()
        }
    }
}

/// A line of an answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Line {
    /// A runtime.
    Runtime(Runtime),
    /// A task.
    Task(Box<Task>),
    /// A parallel loop that runs.
    Loop(Loop),
    /// A channel.
    Channel(Box<Channel>),
    /// Tasks that wait for each other.
    Deadlock(Deadlock),
    /// A starved runtime.
    Starvation(Starvation),
    /// Tasks that are in the same place.
    Group(Group),
    /// The code of the program.
    Code(Code),
    /// The stack of a thread.
    Stack(Box<RawStack>),
    /// The stack at a wait of a task that was polled.
    Leaf(RawLeaf),
    /// The report of a loop that has ended.
    Report(LoopReport),
    /// What is not there any more.
    Gone(Gone),
    /// Why there is no answer.
    Error(Refusal),
    /// The first line of a connection.
    #[serde(untagged)]
    Hello(Hello),
    /// The last line of an answer.
    #[serde(untagged)]
    End(End),
    /// Of a newer program. Not sent.
    #[serde(untagged, skip_serializing)]
    Unknown(BTreeMap<String, IgnoredAny>),
}

/// Tasks and channels that were sent and are not there any more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// The numbers of the tasks.
    pub tasks: Vec<String>,
    /// The numbers of the channels.
    pub channels: Vec<u64>,
}

/// The last line of an answer: to what, and how much was in it, as far as that applies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// What was asked for; `poll` if that was a poll.
    pub end: String,
    /// Tasks that were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<usize>,
    /// Tasks beyond those asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks_left_out: Option<usize>,
    /// Channels beyond those asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels_left_out: Option<usize>,
    /// Deadlocks that were found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlocks: Option<usize>,
    /// Starved runtimes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starvations: Option<usize>,
    /// Reports of loops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reports: Option<usize>,
    /// Groups of tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
    /// Groups beyond the most that are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups_left_out: Option<usize>,
    /// Threads with their stacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Whether the task that was polled has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<bool>,
}

impl End {
    /// Of an answer to this.
    ///
    /// # Examples
    /// ```
    /// use manyhands_wire::End;
    /// let end = End { threads: Some(7), ..End::of("stacks") };
    /// assert_eq!((end.end.as_str(), end.tasks), ("stacks", None));
    /// ```
    #[must_use]
    pub fn of(asked: &str) -> Self {
        Self {
            end: asked.to_owned(),
            ..Self::default()
        }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// A word for it.
    #[serde(default)]
    pub code: String,
    /// A sentence.
    pub message: String,
}

/// The version of the protocol. Raised by each change that a reader of the version before would misunderstand. New fields
/// are no such change.
pub const PROTOCOL: u32 = 1;
