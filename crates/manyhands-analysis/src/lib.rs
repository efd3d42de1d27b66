//! What is recorded of a running program of `manyhands`, as values, and what follows from them: who waits for whom, what is
//! starved, what kept a loop from being faster, and what of that is said in a line of `manyhands-wire`.
//!
//! The library fills the values in, with its feature `inspect`. Nothing here knows a runtime: no lock, no thread, no clock. The
//! types change whenever something else is recorded.
//!
//! Not here: when something is recorded, and the socket (the library), and what is shown of it (`manyhands-inspect`).
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod deadlock;
mod deadlock_looks;
mod groups;
mod loops;
mod moment;
mod refused;
mod sent;
mod stacks;
mod starvation;
mod starvation_looks;
mod stuck;
mod tasks;

pub use deadlock::{Ring, deadlocks};
pub use deadlock_looks::DeadlockLooks;
pub use groups::Groups;
pub use loops::calls::{CallLimit, CallsReport, LevelTrial, level_trial};
pub use loops::line::report_line;
pub use loops::part::{Call, Part, Parts, Phase};
pub use loops::report::{AloneBecause, BlockReport, LoopReport, RunnerReport, TrialReport};
pub use loops::verdict::Verdict;
pub use moment::Moment;
pub use refused::Refused;
pub use sent::Sent;
pub use stacks::{addresses, mappings};
pub use starvation::starvations;
pub use starvation_looks::{Look, StarvationLooks};
pub use stuck::may_be_stuck;
pub use tasks::frames::{Frame, Frames};
pub use tasks::number::{PLACES_MAX, SHARDS, TaskNumber};
pub use tasks::record::{Origin, Record, Work};
pub use tasks::seen::{SeenTask, SeenTasks};
pub use tasks::state::TaskState;
pub use tasks::wait_kind::WaitKind;
pub use tasks::waits::{AwaitedSet, SetWait, WaitRecord, Waits};
