//! The monitor: a thread that sweeps over the runtime, sees what no worker can, and adds threads.
//!
//! Not here: how threads start and end (`worker/threads.rs`).

pub(crate) mod switch;

#[cfg(not(loom))]
mod blocked;
#[cfg(not(loom))]
mod burst;
#[cfg(not(loom))]
pub(crate) mod changes;
#[cfg(not(loom))]
pub(crate) mod control;
#[cfg(not(loom))]
mod detector;
#[cfg(not(loom))]
mod hill_climbing;
#[cfg(not(loom))]
mod hill_climbing_sampler;
#[cfg(not(loom))]
mod long_job;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
pub(crate) mod overcommit;
#[cfg(not(loom))]
pub(crate) mod pace;
#[cfg(not(loom))]
mod stall;
#[cfg(not(loom))]
mod stalled;
#[cfg(not(loom))]
mod stalled_threads;
#[cfg(not(loom))]
mod starved;
#[cfg(not(loom))]
pub(crate) mod sweep;
#[cfg(not(loom))]
mod thread;

#[cfg(not(loom))]
pub use changes::{ThreadChange, ThreadChangeReason};
#[cfg(not(loom))]
pub use long_job::LongJob;
#[cfg(not(loom))]
pub use stall::{Stall, StalledThread, Wait};
