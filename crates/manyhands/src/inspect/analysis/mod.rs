//! What follows from a snapshot: deadlocks and starved runtimes; and the thread that looks for them again and again.

pub(crate) mod deadlock;
pub(crate) mod starvation;
pub(in crate::inspect) mod starvation_looks;
mod stuck;
pub(crate) mod watchdog;
