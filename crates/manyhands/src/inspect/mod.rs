//! What is recorded of a running program, as values: its tasks with their waits, its loops, channels and workers. These types
//! change whenever something else is recorded, so they are there with the feature `inspect-unstable` only.
//!
//! When and what is recorded, and what it costs: [`diagnostics`](crate::diagnostics).

#[cfg(unix)]
pub(crate) mod serve;
mod snapshot;
mod take;
pub(crate) mod watchdog;

pub use crate::recording::enabled::{last_loop, loop_reports};
#[doc(inline)]
pub use manyhands_analysis::{
    AloneBecause, BlockReport, CallLimit, CallsReport, LevelTrial, LoopReport, RunnerReport,
    TrialReport, Verdict,
};
pub use manyhands_wire::{
    Channel, Deadlock, Frame, Load, Loop, Runtime, Starvation, Task, Wait, Worker,
};
pub use snapshot::Snapshot;
pub use take::snapshot;
