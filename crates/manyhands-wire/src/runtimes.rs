//! Runtimes with their workers, and channels.

use serde::{Deserialize, Serialize};

/// A runtime.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Its number in the process.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// How many threads may run at once.
    pub limit: usize,
    /// How many worker threads exist.
    #[serde(default)]
    pub threads: usize,
    /// How many may exist.
    #[serde(default)]
    pub threads_max: usize,
    /// Why none can be added now, `limit` or `refused`; none: one can.
    #[serde(default)]
    pub no_more_threads: Option<String>,
    /// Tasks that wait in queues that belong to no worker: those from external threads, and those with a priority. Each
    /// queue is counted up to 10,000.
    pub queued_outside: usize,
    /// Threads started in place of one that declared that it blocks.
    pub started_for_declared: u64,
    /// Threads started in place of one that was detected as blocked.
    pub started_for_detected: u64,
    /// Threads started because computations had occupied every running thread for long.
    pub started_for_starved: u64,
    /// Its workers, and external threads that take part.
    pub workers: Vec<Worker>,
}

/// A worker, or an external thread that takes part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// Its number among the workers; none for an external thread.
    pub index: Option<usize>,
    /// `running`: it runs something or looks for something to run; `idle`: it sleeps for want of work; `blocked`: it has
    /// declared that it blocks.
    pub state: String,
    /// It was detected as blocked inside a piece of work, by something that has not declared it.
    #[serde(default)]
    pub sleeps_in_kernel: bool,
    /// Where the task was spawned that it runs.
    pub task_spawned_at: Option<String>,
    /// Tasks in its queue, counted up to 10,000.
    pub queued: usize,
    /// Halves of joins and closures of scopes in its deque.
    pub forks: usize,
    /// Pieces of work that it has completed.
    pub completed: u64,
    /// How often it stole.
    pub steals: u64,
    /// How often it went to sleep.
    pub parks: u64,
    /// The system's number of its thread, or 0.
    #[serde(default)]
    pub thread: i32,
}

/// A runtime that is starved: tasks are queued, each worker stays at its work, and no thread can be added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Starvation {
    /// The number of the runtime in the process.
    pub runtime: u32,
    /// Its name.
    pub name: String,
    /// How many of its tasks are queued.
    pub queued: usize,
    /// Why no thread can be added: `limit`, `memory` or `refused`.
    pub because: String,
    /// All of this in sentences, with its workers.
    pub text: String,
}

/// A channel that has ends and was made while recording was open; none of `broadcast` or `watch`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Its number in the process.
    pub number: u64,
    /// The name that it was given.
    pub name: Option<String>,
    /// The type of its items.
    pub item_type: String,
    /// File, line and column of its making.
    pub made_at: String,
    /// How many items wait in it before senders do; none if there is no limit.
    pub capacity: Option<usize>,
    /// The resource of the waits for it.
    pub resource: String,
    /// Microseconds since it was made.
    pub age_us: u64,
    /// What is in it and who waits; none if it was in use.
    pub load: Option<Load>,
}

/// What is in a channel, and who waits at it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// How many items are in it.
    pub len: usize,
    /// How many senders exist.
    pub senders: usize,
    /// How many receivers exist.
    pub receivers: usize,
    /// How many sends wait for room.
    pub senders_waiting: usize,
    /// How many receives wait for an item.
    pub receivers_waiting: usize,
    /// It takes no more items.
    pub closed: bool,
}
