//! Integrations with other crates, each behind a feature: tokio, hyper, `futures`, `tracing`.
//!
//! - `tokio_driver` (feature `tokio`): tokio's sockets and timers in tasks of this library.
//! - With the feature `hyper` a [`Handle`](crate::Handle) is an executor and a timer of hyper.
//! - With the feature `futures` a [`Handle`](crate::Handle) is a spawner of theirs.
//! - `tracing_events` (feature `tracing`): a runtime's events and spans for subscribers of the crate `tracing`.
//!
//! Not here: a channel's sender as a sink of `futures`, which is a part of the [channel](crate::channel); a runtime's
//! numbers for the recorder of `metrics`, which the crate `manyhands-metrics` gives.

#[cfg(all(feature = "tracing", not(loom)))]
pub mod tracing_events;
#[cfg(not(all(feature = "tracing", not(loom))))]
pub(crate) mod tracing_events;

#[cfg(all(feature = "tokio", not(loom)))]
pub mod tokio_driver;

#[cfg(all(feature = "futures", not(loom)))]
mod futures_spawner;
#[cfg(all(feature = "hyper", not(loom)))]
mod hyper_runtime;
