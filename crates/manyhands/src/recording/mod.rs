//! What is recorded of a running program, and the hooks by which the layers above report it: what tasks do and wait for, the
//! loops, the channels and the runtimes.
//!
//! It is low because everything reports to it. With the feature `inspect` the hooks are those of `enabled`; without it, and in
//! models and explorations, those of `disabled`, which have no code.
//!
//! Not here: what is made of it (`inspect`).

mod awaited;
mod concurrency;
#[cfg(not(all(feature = "inspect", not(any(loom, shuttle)))))]
mod disabled;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
#[cfg_attr(not(unix), expect(dead_code, reason = "nobody asks from outside"))]
pub(crate) mod enabled;
mod loop_observer;
mod wait_kind;

#[cfg(not(all(feature = "inspect", not(any(loom, shuttle)))))]
pub(crate) use disabled::*;
#[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
pub(crate) use enabled::*;

pub(crate) use awaited::{Awaited, SetWait};
pub(crate) use concurrency::{AsyncLoopEvent, BeginsNoMore, FoundConcurrency};
pub use concurrency::{CallLimit, LevelTrial};
pub use loop_observer::AloneBecause;
pub(crate) use loop_observer::{LoopObserver, RunnerObserver, Unobserved};
pub(crate) use wait_kind::WaitKind;
