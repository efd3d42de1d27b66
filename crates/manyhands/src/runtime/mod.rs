//! The runtime: workers, external threads, and how they share work.
//!
//! `worker` is a worker and its queues, `sleep` decides which threads run, sleep and are woken, `fork_join` is calls that
//! share their work and wait for it, `monitor` sees what no worker can, `io` is what stands around threads. `policy` has all
//! decisions about wakes and threads, and their numbers.
//!
//! Not here: loops (`engine`, `parallel`) and tasks (`task`), which are built on it.

pub(crate) mod ending;
pub(crate) mod fork_join;
pub(crate) mod monitor;
pub(crate) mod sleep;
pub(crate) mod worker;

#[cfg(not(loom))]
mod builder;
#[cfg(not(loom))]
pub(crate) mod current;
#[cfg(not(loom))]
pub(crate) mod enqueue;
#[cfg(not(loom))]
mod inner;
#[cfg(not(loom))]
mod io;
#[cfg(not(loom))]
mod metrics;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
mod observed;
#[cfg(not(loom))]
mod owner;
#[cfg(not(loom))]
pub(crate) mod policy;
#[cfg(not(loom))]
mod pool;
#[cfg(not(loom))]
mod report;
#[cfg(not(loom))]
mod settings;
#[cfg(not(loom))]
pub(crate) mod simulator;
#[cfg(not(loom))]
mod topology;

pub(crate) use fork_join::{CallHeader, HelperSlot, Rest};
#[cfg(loom)]
pub(crate) use fork_join::{Closures, Spawner};

#[cfg(not(loom))]
pub use builder::{BuildError, RuntimeBuilder};
#[cfg(not(loom))]
pub use current::EnterGuard;
#[cfg(not(loom))]
pub(crate) use fork_join::{OpenCall, YieldCheck, with_helper_slot};
#[cfg(not(loom))]
pub use fork_join::{Scope, join, scope};
#[cfg(not(loom))]
pub(crate) use inner::RuntimeInner;
#[cfg(not(loom))]
pub(crate) use io::tokio_context::TokioContext;
#[cfg(not(loom))]
pub use metrics::Metrics;
#[cfg(not(loom))]
pub use monitor::{LongJob, Stall, StalledThread, ThreadChange, ThreadChangeReason, Wait};
#[cfg(not(loom))]
pub use owner::Runtime;
#[cfg(not(loom))]
pub use report::{ShutdownReport, UnfinishedWork};
#[cfg(not(loom))]
pub(crate) use sleep::blocking_outside;
#[cfg(not(loom))]
pub use worker::Priority;
