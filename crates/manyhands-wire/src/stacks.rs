//! Stacks, before any name is known.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The code of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// For which processor: `x86_64` or `aarch64`.
    pub architecture: String,
    /// Where it lies in the program's memory, by rising address.
    pub mappings: Vec<Mapping>,
}

/// A piece of the program's memory that has code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// Its first address.
    pub start: Number,
    /// The first address behind it.
    pub end: Number,
    /// Where in the file it begins.
    pub offset: Number,
    /// The file that it comes from, a name in brackets, or nothing.
    pub path: String,
}

/// A thread that takes part in a runtime, and its stack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawStack {
    /// The number of its runtime.
    pub runtime: u32,
    /// Its number among the workers; none for an external thread.
    pub worker: Option<usize>,
    /// The system's number of it.
    pub thread: i32,
    /// The system's name of it.
    pub name: String,
    /// `running`, `idle` or `blocked`.
    pub state: String,
    /// Where the task was spawned that it runs.
    pub task_spawned_at: Option<String>,
    /// What was on its stack.
    #[serde(flatten)]
    pub copy: RawCopy,
}

/// The stack at a wait of a task that was polled on request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawLeaf {
    /// Which wait, by its place in [`Task::waits`](crate::Task::waits).
    pub wait: usize,
    /// What was on the stack of the thread that polled.
    #[serde(flatten)]
    pub copy: RawCopy,
}

/// A thread's registers, and addresses from its stack.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawCopy {
    /// Why there is none: `ended`, or `silent` if the thread did not answer in time.
    pub missing: Option<String>,
    /// The registers, unless it is missing.
    pub registers: Option<Registers>,
    /// How many bytes of the stack were looked at, from the stack pointer upwards.
    pub length: u64,
    /// Of the words on the stack those that are addresses, each with its distance in bytes from the stack pointer.
    pub words: Vec<(u64, Number)>,
    /// More words are on the stack than were looked at.
    pub cut: bool,
}

/// The registers with which unwinding begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registers {
    /// The next instruction.
    pub instruction: Number,
    /// The stack pointer.
    pub stack: Number,
    /// The frame pointer.
    pub frame: Number,
    /// The link register; 0 on a processor that has none.
    pub link: Number,
}

/// A number that is written in hexadecimal digits.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct Number(pub u64);

impl TryFrom<String> for Number {
    type Error = std::num::ParseIntError;

    fn try_from(digits: String) -> Result<Self, Self::Error> {
        u64::from_str_radix(&digits, 16).map(Self)
    }
}

impl From<Number> for String {
    fn from(number: Number) -> Self {
        number.to_string()
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}
