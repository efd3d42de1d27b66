//! Sleeping and waking: the counts of running threads, the steps around them, timer wheels, and declared blocking.
//!
//! Not here: the parking itself (`sync`), and the search for work (`worker/run_loop.rs`).

mod blocking;
pub(crate) mod clock;
pub(crate) mod idle;
pub(crate) mod timers;
pub(crate) mod waking;

pub(crate) use blocking::{blocking, blocking_on_others};
