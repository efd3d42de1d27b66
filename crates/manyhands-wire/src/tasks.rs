//! Tasks: one by one, counted by where they are, and in a deadlock.

use serde::{Deserialize, Serialize};

/// A task that has not ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(rename = "type", deserialize_with = "crate::text::without_closure")]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// Its name.
    pub name: String,
    /// File, line and column.
    pub at: String,
    /// The frame around it, by its place in [`Task::frames`].
    pub outer: Option<usize>,
}

/// Tasks of the same type, spawned on the same line, in the same state, that wait for something of the same kind on the
/// same line, in the same frames; if that is a group of tasks, for one of the same name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// `future`, `closure`, or `thread` for threads that wait outside of any task.
    pub kind: String,
    /// The type of their closure or future, as in [`Task`](crate::Task).
    #[serde(rename = "type", deserialize_with = "crate::text::without_closure")]
    pub type_name: String,
    /// File, line and column of their spawning.
    pub spawned_at: Option<String>,
    /// `queued`, `running`, `waiting` or `blocked`.
    pub state: String,
    /// The kind of the first thing that they wait for; `outside` if nothing is recorded but they have wakers.
    pub waits_for: Option<String>,
    /// The name of the group of tasks that they wait for.
    #[serde(default)]
    pub name: Option<String>,
    /// File, line and column of this wait.
    pub at: Option<String>,
    /// The annotated frames around this wait, the outermost first.
    #[serde(default)]
    pub frames: Vec<GroupFrame>,
    /// How many there are.
    pub tasks: usize,
    /// The numbers of some of them.
    pub examples: Vec<String>,
    /// Microseconds that one of them has been in this state, the longest.
    pub longest_us: u64,
}

impl Group {
    /// Names some of its tasks, such as `3, 9, …`.
    #[must_use]
    pub fn label(&self) -> String {
        let more = if self.tasks > self.examples.len() {
            ", …"
        } else {
            ""
        };
        format!("{}{more}", self.examples.join(", "))
    }
}

/// A part of the tasks of a group that the program has annotated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupFrame {
    /// Its name.
    pub name: String,
    /// File, line and column.
    pub at: String,
}

/// Tasks that wait for each other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
