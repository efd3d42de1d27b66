//! Calls that share their work with helpers and wait for it: `join`, scopes, and the parts that loops use.
//!
//! Not here: the distribution of a loop's positions (`engine`).

pub(crate) mod caller_threads;
pub(crate) mod executions;
pub(crate) mod helper_slot;
mod join;
mod open_call;
mod scope;
mod scope_closures;
pub(crate) mod series;
pub(crate) mod unowned_forks;
pub(crate) mod unshared_calls;
pub(crate) mod wait;
pub(crate) mod waiting;

pub(crate) use helper_slot::HelperSlot;
pub use join::join;
pub(crate) use open_call::{Helped, HelpedWork, OpenCall, YieldCheck};
pub use scope::{Scope, scope};
pub(crate) use scope_closures::Rest;
