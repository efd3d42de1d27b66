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

pub use crate::recording::enabled::channel_snapshot::{ChannelLoad, ChannelSnapshot};
pub use crate::recording::enabled::loops::calls_report::CallsReport;
pub use crate::recording::enabled::loops::last_reports::loop_reports;
pub use crate::recording::enabled::loops::report::{
    BlockReport, LoopReport, RunnerReport, TrialReport,
};
pub use crate::recording::enabled::loops::running::last_loop;
pub use crate::recording::enabled::loops::snapshot::LoopSnapshot;
pub use crate::recording::enabled::no_more_threads::NoMoreThreads;
pub use crate::recording::enabled::runtime_snapshot::{
    RuntimeSnapshot, WorkerSnapshot, WorkerState,
};
pub use crate::recording::enabled::tasks::last_waker::LastWaker;
pub use crate::recording::enabled::tasks::task_number::TaskNumber;
pub use crate::recording::enabled::tasks::task_state::{TaskKind, TaskState};
pub use crate::recording::{AloneBecause, CallLimit, LevelTrial, WaitKind};
pub use analysis::deadlock::Deadlock;
pub use analysis::starvation::Starvation;
pub use loops::verdict::Verdict;
pub use tasks::snapshot::{FrameSnapshot, Snapshot, TaskSnapshot, WaitSnapshot};
pub use tasks::take::snapshot;
