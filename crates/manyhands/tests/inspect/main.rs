//! What is recorded of tasks and their waits, what follows from it, and how it is shown over a socket.
//!
//! All tests share what the process has recorded, so each looks for tasks by a name of its own. Every wait has a
//! deadline.

#![expect(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

mod async_loops;
mod changes;
mod channels;
mod deadlocks;
mod environment;
mod frames;
mod groups;
mod lines;
mod loops;
mod outside;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod polls;
mod simulations;
mod socket;
#[cfg(feature = "tokio")]
mod sockets;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod stacks;
mod starvation;
mod stopped_loops;
mod support;
mod tasks;
mod users;
mod waits;
mod woken_at_random;
