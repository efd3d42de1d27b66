//! What a program sends of its stacks, put together, before any name is known.
//!
//! Not here: the lines (`manyhands-wire`).

use manyhands_wire::{Code, RawLeaf, RawStack, Task};
use serde::{Deserialize, Serialize};

/// What a program sends of its stacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawStacks {
    /// Its code.
    pub code: Code,
    /// The threads that take part in a runtime.
    pub threads: Vec<RawStack>,
    /// The process, if it is another user's: then what it says is not believed.
    #[serde(skip)]
    pub(crate) foreign: Option<u32>,
}

/// What a program sends of a task that it has polled on request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawPolledTask {
    /// The program's code.
    pub code: Code,
    /// The task at the end of the poll; none if it has ended.
    pub task: Option<Task>,
    /// The stack at each wait that was recorded in the poll.
    pub leaves: Vec<RawLeaf>,
    /// As in [`RawStacks`].
    pub(crate) foreign: Option<u32>,
}
