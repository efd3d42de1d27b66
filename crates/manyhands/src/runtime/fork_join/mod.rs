//! Calls that share their work with helpers and wait for it: `join`, scopes, and the parts that loops use.
//!
//! Not here: the distribution of a loop's positions (`engine`).

pub(crate) mod executions;
pub(crate) mod helper_slot;
mod scope_closures;
pub(crate) mod unowned_forks;
pub(crate) mod unshared_calls;
pub(crate) mod waiting;

#[cfg(not(loom))]
pub(crate) mod caller_threads;
#[cfg(not(loom))]
mod join;
#[cfg(not(loom))]
mod open_call;
#[cfg(not(loom))]
mod scope;
#[cfg(not(loom))]
pub(crate) mod series;
#[cfg(not(loom))]
pub(crate) mod wait;
#[cfg(not(loom))]
mod yield_check;

pub(crate) use helper_slot::{CallHeader, HelperSlot};
pub(crate) use scope_closures::Rest;
#[cfg(loom)]
pub(crate) use scope_closures::{Closures, Spawner};

#[cfg(not(loom))]
pub use join::join;
#[cfg(not(loom))]
pub(crate) use open_call::{OpenCall, with_helper_slot};
#[cfg(not(loom))]
pub use scope::{Scope, scope};
#[cfg(not(loom))]
pub(crate) use yield_check::YieldCheck;
