//! A task parallel library: one pool for loops, fork-join and tasks.
//!
//! # Examples
//! ```
//! use manyhands::parallel;
//!
//! let squares = parallel::map(0..1000_u64, |i| i * i);
//! assert_eq!(squares[999], 998_001);
//! ```
#![deny(unsafe_code)]
#![cfg_attr(loom, allow(dead_code, unused_imports, reason = "under loom only the protocols are built"))]

#[allow(unsafe_code, reason = "system calls and the tick counter; see each file's header")]
mod sync;

#[allow(unsafe_code, reason = "queues of pointers; see each file's header")]
mod queue;

#[cfg(not(loom))]
mod probe;

#[allow(unsafe_code, reason = "erased work; see each file's header")]
mod job;

#[cfg(not(loom))]
pub mod cancel;

#[allow(unsafe_code, reason = "jobs on stacks and seats shared by pointer; see each file's header")]
mod runtime;

#[cfg(not(loom))]
#[allow(unsafe_code, reason = "task cells; see each file's header")]
pub mod task;

#[cfg(not(loom))]
#[allow(unsafe_code, reason = "sources and the engine hand out positions; see each file's header")]
pub mod parallel;

#[cfg(not(loom))]
pub use job::AggregatePanic;
#[cfg(not(loom))]
pub use runtime::{BuildError, Builder, EnterGuard, Runtime, Scope, ShutdownReport, join, scope};
