//! Integrations with other crates, each behind a feature: tokio, hyper, `futures`, `metrics`, `tracing`.
//!
//! - `tokio_driver` (feature `tokio`): tokio's sockets and timers in tasks of this library.
//! - `hyper_runtime` (feature `hyper`): an executor and a timer for hyper.
//! - `Spawner` (feature `spawn`): the runtime as a spawner of `futures`.
//! - `metrics_recorder` (feature `metrics`): a runtime's metrics for the recorder of the crate `metrics`.
//! - `tracing_events` (feature `tracing`): a runtime's events and spans for subscribers of the crate `tracing`.
//!
//! Not here: a channel's sender as a sink of `futures`, which is a part of the [channel](crate::channel).

#[cfg(all(feature = "tracing", not(loom)))]
pub mod tracing_events;
#[cfg(not(all(feature = "tracing", not(loom))))]
pub(crate) mod tracing_events;

#[cfg(all(feature = "tokio", not(loom)))]
pub mod tokio_driver;

#[cfg(all(feature = "spawn", not(loom)))]
mod futures_spawner;
#[cfg(all(feature = "hyper", not(loom)))]
pub mod hyper_runtime;
#[cfg(all(feature = "metrics", not(loom)))]
pub mod metrics_recorder;

#[cfg(all(feature = "spawn", not(loom)))]
pub use futures_spawner::Spawner;
