//! What follows from a snapshot: deadlocks; and the thread that looks for them again and again.

pub(crate) mod deadlock;
mod stuck;
pub(crate) mod watchdog;
