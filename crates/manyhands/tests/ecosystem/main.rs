//! Other libraries on the pool: tokio's sockets, timers and locks, hyper's servers and clients, collections, spawners and
//! sinks of `futures`; and what the runtime reports to `metrics` and `tracing`. Every wait has a deadline.

#![expect(clippy::unwrap_used, reason = "in a test an unwrap is an assertion")]

mod collections;
mod hostile;
mod poller;
mod refused;
mod server;
mod sink;
mod spawner;
mod support;
mod sync;
mod timer;
mod tokio_context;
mod tracing;
