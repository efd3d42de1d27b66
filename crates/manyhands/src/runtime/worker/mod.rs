//! A worker: its slot, its queues, its loop, and its thread.
//!
//! Not here: whether it sleeps (`sleep`), and calls that it helps with (`fork_join`).

pub(crate) mod occupied_slot;
mod placement;
pub(crate) mod priority;
pub(crate) mod refusal;
pub(crate) mod refused_list;
pub(crate) mod refused_starts;
pub(crate) mod run_loop;
pub(crate) mod saturation;
pub(crate) mod search;
mod short_tasks;
pub(crate) mod signal;
pub(crate) mod slot;
pub(crate) mod steal_grace;
mod threads;

pub use crate::priority::Priority;
