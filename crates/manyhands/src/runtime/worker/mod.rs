//! A worker: its slot, its queues, its loop, and its thread.
//!
//! Not here: whether it sleeps (`sleep`), and calls that it helps with (`fork_join`).

pub(crate) mod signal;
pub(crate) mod steal_grace;

#[cfg(not(loom))]
pub(crate) mod occupied_slot;
#[cfg(not(loom))]
mod placement;
#[cfg(not(loom))]
pub(crate) mod priority;
#[cfg(not(loom))]
pub(crate) mod refusal;
#[cfg(not(loom))]
pub(crate) mod refused_starts;
#[cfg(not(loom))]
mod rounds;
#[cfg(not(loom))]
pub(crate) mod run_loop;
#[cfg(not(loom))]
pub(crate) mod saturation;
#[cfg(not(loom))]
pub(crate) mod search;
#[cfg(not(loom))]
mod short_tasks;
#[cfg(not(loom))]
pub(crate) mod slot;
#[cfg(not(loom))]
mod slot_pool;
#[cfg(not(loom))]
mod slot_runtime;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
#[cfg(not(loom))]
pub use crate::priority::Priority;
