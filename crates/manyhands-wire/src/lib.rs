//! The lines between a program of `manyhands` and those that look at it, as types: what is asked of it, and what it
//! answers.
//!
//! They are described in `docs/inspect-protocol.md` of the repository. The library writes them, and `manyhands-inspect`
//! reads them. A field that an older program does not send has a default here; what is not known is ignored.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod lines;
mod loops;
mod runtimes;
mod stacks;
mod tasks;
mod text;

pub use lines::{End, Gone, Hello, Line, PROTOCOL, Refusal, Request};
pub use loops::{InFlight, Loop, LoopReport};
pub use runtimes::{Channel, Load, Runtime, Starvation, Worker};
pub use stacks::{Code, Mapping, Number, RawCopy, RawLeaf, RawStack, Registers};
pub use tasks::{Deadlock, Frame, Group, GroupFrame, Task, Wait};
pub use text::{escaped, is_harmful, place, printable, word};
