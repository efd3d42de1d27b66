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
mod nats_names;
pub mod nats_server;

pub use in_process::InProcess;
pub use manyhands_nats::Keys;
pub use nats::{Address, Nats};
pub(crate) use nats_config::{Guarded, Opens, User};

use crate::{FleetError, Name};
use std::{collections::HashSet, time::Duration};

/// Queues with leases, and keys.
pub trait Engine: Send + Sync {
    /// Adds messages; each once for its id, as far as the engine remembers ids. They are kept when this returns. `about`
    /// is what they are about: a job, or the agent that reports, whom the engine may forbid to report for another.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if some may not have been added; adding them again with the same ids is safe.
    fn publish(&self, queue: Queue, about: &Name, messages: &[Message]) -> Result<(), FleetError>;

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

    /// What the messages are about that are queued or leased, the ids of jobs, each with its queue. More than `most` cannot
    /// all be jobs: who has a key has ways to put messages there. Then all are thrown away, and none is queued or leased.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if the engine cannot be asked.
    fn jobs_pending(&self, most: usize) -> Result<HashSet<(Queue, String)>, FleetError>;

    /// Sets a key, for all to read.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if it may not have been set.
    fn put(&self, key: &str, value: &[u8]) -> Result<(), FleetError>;

    /// Takes a key away.
    ///
    /// # Errors
    /// [`FleetError::Engine`] if it may still be there.
    fn forget(&self, key: &str) -> Result<(), FleetError>;

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

/// A message to be added.
///
/// # Examples
/// ```
/// use manyhands_fleet::engine::{Engine, InProcess, Message, Queue};
/// use std::time::Duration;
///
/// let engine = InProcess::new(Duration::from_secs(60));
/// let message = Message { id: "1".to_owned(), body: b"{}".to_vec() };
/// engine.publish(Queue::Results, &"agent-7".parse()?, &[message])?;
/// assert_eq!(engine.take(Queue::Results, 1, Duration::ZERO)?[0].about(), "agent-7");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// By which a message that is added twice is known.
    pub id: String,
    /// What it says.
    pub body: Vec<u8>,
}

/// A message that is leased to its taker.
pub trait Delivery: Send + Sync {
    /// What it says.
    fn body(&self) -> &[u8];

    /// What it was published as being about.
    fn about(&self) -> &str;

    /// When the engine got it, by the engine's clock, as the time since 1970.
    fn sent(&self) -> Duration;

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
