//! The runtime: workers, external threads, and how they share work.
//!
//! `worker` is a worker and its queues, `sleep` decides which threads run, sleep and are woken, `fork_join` is calls that
//! share their work and wait for it, `monitor` sees what no worker can, `io` is what stands around threads. `policy` has all
//! decisions about wakes and threads, and their numbers.
//!
//! Not here: loops (`engine`, `parallel`) and tasks (`task`), which are built on it.

mod builder;
pub(crate) mod current;
pub(crate) mod ending;
pub(crate) mod enqueue;
pub(crate) mod fork_join;
mod inner;
mod io;
mod metrics;
pub(crate) mod monitor;
#[cfg(feature = "inspect")]
mod observed;
mod owner;
pub(crate) mod policy;
mod pool;
mod report;
mod settings;
pub(crate) mod simulator;
pub(crate) mod sleep;
pub(crate) mod worker;

pub use builder::{BuildError, RuntimeBuilder};
pub use current::EnterGuard;
pub(crate) use ending::Ends;
pub(crate) use fork_join::caller_threads::CallerThread;
pub(crate) use fork_join::executions::Extent;
pub(crate) use fork_join::wait::{AfterWait, Stolen};
pub(crate) use fork_join::{
    Helped, HelpedWork, HelperSlot, OpenCall, Rest, YieldCheck, series, wait,
};
pub use fork_join::{Scope, join, scope};
pub(crate) use inner::RuntimeInner;
pub(crate) use io::tokio_context::TokioContext;
pub use metrics::Metrics;
pub(crate) use monitor::switch::Switch;
pub use monitor::{LongJob, Stall, StalledThread, ThreadChange, ThreadChangeReason, Wait};
pub use owner::Runtime;
pub use report::{ShutdownReport, UnfinishedWork};
pub(crate) use settings::Settings;
pub(crate) use sleep::clock::Clock;
pub(crate) use sleep::idle::{Activity, Claim, CountedFlag, Idle};
pub(crate) use sleep::waking::{CallerNext, Pool};
pub(crate) use sleep::{timers, waking};
pub use worker::Priority;
pub(crate) use worker::occupied_slot::OccupiedSlot;
pub(crate) use worker::priority::PriorityQueues;
pub(crate) use worker::search::FoundWork;
pub(crate) use worker::signal::Signal;
pub(crate) use worker::slot::{SlotState, WorkerSlot};
pub(crate) use worker::steal_grace::StealGrace;
pub(crate) use worker::{refused_starts, run_loop};
