//! The runtime: workers, guests, and how they share work.
//!
//! Not here: loops (`parallel`) and tasks (`task`), which are built on it.

mod open;
pub(crate) use open::{OpenSlot, Shared as OpenCall};

mod closures;
pub(crate) use closures::Rest;
#[cfg(loom)]
pub(crate) use closures::{Closures, Spawner};

pub(crate) mod ending;
pub(crate) mod executions;
pub(crate) mod hold;
pub(crate) mod idle;
pub(crate) mod mark;

mod blocking;
pub(crate) use blocking::blocking;
#[cfg(not(loom))]
pub(crate) use blocking::blocking_outside;

#[cfg(not(loom))]
mod ascent;
#[cfg(not(loom))]
mod attention;
#[cfg(not(loom))]
mod builder;
#[cfg(not(loom))]
mod changes;
#[cfg(not(loom))]
mod climbing;
#[cfg(not(loom))]
pub(crate) mod current;
#[cfg(not(loom))]
mod detector;
#[cfg(not(loom))]
mod handle;
#[cfg(not(loom))]
mod join;
#[cfg(not(loom))]
mod long_job;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod metrics;
#[cfg(not(loom))]
mod monitor;
#[cfg(not(loom))]
mod open_place;
#[cfg(not(loom))]
mod patrol;
#[cfg(not(loom))]
mod placement;
#[cfg(not(loom))]
mod priority;
#[cfg(not(loom))]
pub(crate) mod refused;
#[cfg(not(loom))]
mod scope;
#[cfg(not(loom))]
pub(crate) mod seat;
#[cfg(not(loom))]
pub(crate) mod series;
#[cfg(not(loom))]
mod shared;
pub(crate) mod signal;
#[cfg(not(loom))]
pub(crate) mod simulator;
#[cfg(not(loom))]
pub(crate) mod site;
#[cfg(not(loom))]
mod stall;
#[cfg(not(loom))]
mod surroundings;
pub(crate) mod switch;
#[cfg(not(loom))]
mod threads;
#[cfg(not(loom))]
pub(crate) mod timers;
#[cfg(not(loom))]
mod topology;
#[cfg(not(loom))]
pub(crate) mod wait;
pub(crate) mod waking;
#[cfg(not(loom))]
mod watching;
#[cfg(not(loom))]
mod worker;

#[cfg(not(loom))]
pub(crate) use attention::Attention;
#[cfg(not(loom))]
pub use builder::{BuildError, Builder};
#[cfg(not(loom))]
pub use changes::{ThreadChange, ThreadChangeReason};
#[cfg(not(loom))]
pub use current::EnterGuard;
#[cfg(not(loom))]
pub use handle::{Runtime, ShutdownReport};
#[cfg(not(loom))]
pub use join::join;
#[cfg(not(loom))]
pub use long_job::LongJob;
#[cfg(not(loom))]
pub use metrics::Metrics;
#[cfg(not(loom))]
pub(crate) use open_place::{OpenPlace, keep_open};
#[cfg(not(loom))]
pub use priority::Priority;
#[cfg(not(loom))]
pub use scope::{Scope, scope};
#[cfg(not(loom))]
pub(crate) use shared::Shared;
#[cfg(not(loom))]
pub use stall::{Stall, StalledThread, Wait};
