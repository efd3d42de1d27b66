//! A runtime with its workers, as plain values.
//!
//! Not here: which runtimes there are (`runtimes.rs`), and how one is read (`runtime/observed.rs`).

use std::fmt;
use std::panic::Location;

/// A runtime.
///
/// Example: see [`Snapshot`](crate::inspect::Snapshot).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuntimeSnapshot {
    /// Its number in this process.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// How many threads may run at once.
    pub limit: usize,
    /// How many worker threads exist.
    pub threads: usize,
    /// How many may exist: [`RuntimeBuilder::max_threads`](crate::RuntimeBuilder::max_threads).
    pub threads_max: usize,
    /// Why none can be added now; `None`: one can.
    pub no_more_threads: Option<NoMoreThreads>,
    /// Tasks from external threads that wait for a worker and have no priority, counted up to 10,000 in each queue.
    pub queued_outside: usize,
    /// Interactive and background tasks that wait for a worker, counted up to 10,000 in each queue.
    pub queued_with_priority: usize,
    /// Threads started in place of one that declared that it blocks.
    pub started_for_declared: u64,
    /// Threads started in place of one that was detected as blocked.
    pub started_for_detected: u64,
    /// Threads started because computations had occupied every running thread for long.
    pub started_for_starved: u64,
    /// Its workers, and external threads that take part.
    pub workers: Vec<WorkerSnapshot>,
}

/// A worker, or an external thread that takes part in a runtime.
///
/// Example: see [`Snapshot`](crate::inspect::Snapshot).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerSnapshot {
    /// Its number among the workers; `None` for an external thread.
    pub index: Option<usize>,
    /// What it does.
    pub state: WorkerState,
    /// It was detected as blocked inside a piece of work, by something that has not declared it.
    pub sleeps_in_kernel: bool,
    /// Where the task was spawned that it runs.
    pub task_spawned_at: Option<&'static Location<'static>>,
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
    pub(crate) thread: i32,
}

/// What a worker does.
///
/// Example: see [`Snapshot`](crate::inspect::Snapshot).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkerState {
    /// It runs something, or looks for something to run.
    Running,
    /// It sleeps for want of work.
    Idle,
    /// It has declared that it blocks.
    Blocked,
}

/// Why a runtime can add no thread.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")]
/// assert_eq!(manyhands::inspect::NoMoreThreads::Limit.to_string(), "the limit is reached");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoMoreThreads {
    /// As many threads exist as [`RuntimeBuilder::max_threads`](crate::RuntimeBuilder::max_threads) allows.
    Limit,
    /// Memory is scarce, so there are no more threads than workers.
    Memory,
    /// The system has refused the last one.
    Refused,
}

impl fmt::Display for NoMoreThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limit => "the limit is reached",
            Self::Memory => "memory is scarce",
            Self::Refused => "the system starts no more",
        })
    }
}
