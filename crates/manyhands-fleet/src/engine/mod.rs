//! The engine: queues with leases, and keys. Everything that server and agents say to each other goes through it.
//!
//! A queue gives every message to one taker at a time, for the time of a lease; a message whose lease ends before it
//! was finished goes to the next taker. So a message arrives at least once, and its taker must bear it twice.
//!
//! # Threads
//! Engines and deliveries may be used by all threads at once. Calls block, for some seconds at most beyond the time
//! they are given.

mod in_process;
mod nats;
mod nats_config;
pub mod nats_server;

pub use in_process::InProcess;
pub use manyhands_nats::Keys;
pub use nats::{Address, Nats};
pub(crate) use nats_config::{Guarded, User, inbox_of};

use crate::FleetError;
use std::time::Duration;

/// Queues with leases, and keys.
pub trait Engine: Send + Sync {
    /// Adds a message; once for each id, as far as the engine remembers ids. It is kept when this returns.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if it may not have been added; adding it again with the same id is safe.
    fn publish(&self, queue: Queue, id: &str, body: &[u8]) -> Result<(), FleetError>;

    /// Takes up to `count_max` messages that nobody else has, and waits for the first.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the engine cannot be asked.
    fn take(
        &self,
        queue: Queue,
        count_max: usize,
        wait: Duration,
    ) -> Result<Vec<Box<dyn Delivery>>, FleetError>;

    /// The number of jobs that are queued or leased.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the engine cannot be asked.
    fn jobs_pending(&self) -> Result<u64, FleetError>;

    /// Sets a key, for all to read.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if it may not have been set.
    fn put(&self, key: &str, value: &[u8]) -> Result<(), FleetError>;

    /// Reads a key.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the engine cannot be asked.
    fn get(&self, key: &str) -> Result<Option<Vec<u8>>, FleetError>;

    /// What the engine's own clock shows, as the time since 1970.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the engine cannot be asked.
    fn now(&self) -> Result<Duration, FleetError>;
}

/// A message that is leased to its taker.
pub trait Delivery: Send + Sync {
    /// What it says.
    fn body(&self) -> &[u8];

    /// How often it was handed out, with this time.
    fn attempt(&self) -> u64;

    /// How long it is leased, from the last extension on.
    fn lease(&self) -> Duration;

    /// Begins the lease anew. It does nothing if the lease has ended.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the engine cannot be reached.
    fn extend(&self) -> Result<(), FleetError>;

    /// Takes the message out of the queue for good.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the message may still be there.
    fn finish(&self) -> Result<(), FleetError>;

    /// Gives the message back, to be taken again not before `delay` has passed.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the engine cannot be reached; the lease ends by itself then.
    fn release(&self, delay: Duration) -> Result<(), FleetError>;
}

/// The queues there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Queue {
    /// Plans, for the server.
    Plans,
    /// Jobs for agents with exactly this number of CPUs, or for any agent.
    Jobs {
        /// CPUs.
        cpus: Option<usize>,
    },
    /// What agents report, for the server.
    Results,
    /// Requests for keys, for the server.
    Enrolments,
}
