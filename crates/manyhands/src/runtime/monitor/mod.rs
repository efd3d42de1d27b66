//! The monitor: a thread that sweeps over the runtime, sees what no worker can, and adds threads.
//!
//! Not here: how threads start and end (`worker/threads.rs`).

mod blocked;
mod burst;
pub(crate) mod changes;
pub(crate) mod control;
mod detector;
mod hill_climbing;
mod long_job;
pub(crate) mod overcommit;
pub(crate) mod pace;
mod stall;
mod stalled;
mod stalled_threads;
mod starved;
pub(crate) mod sweep;
pub(crate) mod switch;
mod thread;

pub use changes::{ThreadChange, ThreadChangeReason};
pub use long_job::LongJob;
pub use stall::{Stall, StalledThread, Wait};
