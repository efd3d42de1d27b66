//! What is recorded of a running program, as values: its tasks with their waits, its loops, channels and workers. These types
//! change whenever something else is recorded, so they are there with the feature `inspect-unstable` only.
//!
//! When and what is recorded, and what it costs: [`diagnostics`](crate::diagnostics).

pub(crate) mod analysis;
mod loops;
mod printable;
#[cfg(unix)]
pub(crate) mod serve;
pub(crate) mod tasks;

pub use crate::recording::enabled::{
    BlockReport, CallsReport, ChannelLoad, ChannelSnapshot, LastWaker, LoopReport, LoopSnapshot,
    NoMoreThreads, RunnerReport, RuntimeSnapshot, TaskKind, TaskNumber, TaskState, TrialReport,
    WorkerSnapshot, WorkerState, last_loop, loop_reports,
};
pub use crate::recording::{AloneBecause, CallLimit, LevelTrial, WaitKind};
pub use analysis::deadlock::Deadlock;
pub use analysis::starvation::Starvation;
pub use loops::verdict::Verdict;
pub use tasks::snapshot::{FrameSnapshot, Snapshot, TaskSnapshot, WaitSnapshot};
pub use tasks::take::snapshot;
