//! What is recorded of tasks and their waits, and what follows from it.
//!
//! All tests share what the process has recorded, so each looks for tasks by a name of its own. Every wait has a
//! deadline.

#![expect(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

mod deadlocks;
mod environment;
mod support;
mod tasks;
mod waits;
