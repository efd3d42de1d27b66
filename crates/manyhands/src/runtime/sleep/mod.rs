//! Who runs, who sleeps, and who is woken: the counts, the steps around them, timers' wheels, and threads that
//! declare that they block.
//!
//! Not here: the parking itself (`sync`), and the search for work (`worker/run_loop.rs`).

mod blocking;
pub(crate) mod idle;
pub(crate) mod waking;

#[cfg(not(loom))]
pub(crate) mod timers;

pub(crate) use blocking::blocking;
#[cfg(not(loom))]
pub(crate) use blocking::blocking_outside;
