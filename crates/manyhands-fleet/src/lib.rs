//! The laboratory on many machines: a server hands out cases, agents measure them, and every sample is in the
//! results exactly once.
//!
//! A [`plan`] names experiments; the [`server`] makes one job of each of their cases and keeps what comes back in a
//! [database](server::Database). An [`agent`] pulls a job, measures it by the laboratory's library into a folder of its
//! own disk, and sends the folder's lines between two blocks. [`export`] makes of it the folders that
//! `manyhands lab report` reads, [`page`] shows it to browsers, and [`price`] says what a plan will cost
//! and what it has cost.
//!
//! What moves between them goes through an [`Engine`](engine::Engine): three queues with leases, and some keys. One
//! engine is NATS JetStream, for machines; the other lives in this process, for tests.
//!
//! # Exactly once
//! Queues deliver at least once. A line is identified by its run and its number in the run, and the database has one row
//! for each. A run counts when its last note, which has the number of lines and a digest of all, agrees with the rows;
//! of several runs of one job the first such run counts. An agent keeps a run until the server has answered it, so
//! what the queue loses is sent again.
//!
//! # Not here
//! Loops that leave their machine, clusters of servers, and machines being started.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod agent;
mod charts;
pub mod commands;
pub mod engine;
mod enrol;
mod error;
pub mod export;
mod file_lock;
mod measured;
pub mod page;
pub mod plan;
pub mod price;
pub mod server;
mod time;
pub mod watch;
mod wire;

pub use error::FleetError;
pub use wire::{Name, OutOfBounds};
