//! What is recorded of a running program, and the hooks by which the layers above report it: what tasks do and wait for, the
//! loops, the channels and the runtimes.
//!
//! It is low because everything reports to it. With the feature `inspect` the hooks are those of `enabled`; without it, as in
//! models and explorations, those of `disabled.rs`, which have no code.
//!
//! Not here: what is made of it (`inspect`).

mod awaited;
mod concurrency;
// Without the feature, what does nothing takes its place.
#[cfg_attr(not(feature = "inspect"), path = "disabled.rs")]
pub(crate) mod enabled;
mod loop_observer;

pub(crate) use enabled::*;

pub(crate) use awaited::Awaited;
pub(crate) use concurrency::{AsyncLoopEvent, BeginsNoMore, FoundConcurrency};
pub(crate) use loop_observer::{LoopObserver, RunnerObserver, Unobserved};
