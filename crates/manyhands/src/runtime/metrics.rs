//! What a runtime does and has done, in numbers.
//!
//! Not here: the counting itself (`probe`, `idle.rs`).

use crate::runtime::Shared;
use crate::runtime::seat::Occupant;

/// A snapshot of a runtime; made by [`Runtime::metrics`](crate::Runtime::metrics).
///
/// Threads count for themselves and nobody waits for anybody, so the numbers may be a moment apart. The
/// totals never fall; take two snapshots and subtract to learn what happened in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// How many threads may run at once.
    pub workers: usize,
    /// Worker threads alive now, sleeping ones and those that stand in for blocked ones included.
    #[doc(alias = "ThreadCount")]
    pub threads: usize,
    /// Workers and outside callers that run something now.
    pub working: usize,
    /// Workers that are awake and look for work.
    pub searching: usize,
    /// Workers asleep for want of work.
    pub asleep: usize,
    /// Threads asleep until something they wait for is done: a stolen half, a task, a helper.
    pub blocked: usize,
    /// Threads that the monitor last found asleep in the kernel inside a job, while there was more to do.
    pub found_blocked: usize,
    /// Total of the times that something was taken from another thread: the second half of a join, or a
    /// run of tasks. Closures of a scope and shares of a loop are offered, not stolen.
    pub steals: u64,
    /// Total of the times that a thread went to sleep, for want of work or to wait.
    pub parks: u64,
    /// Total of the worker threads started.
    pub threads_started: u64,
    /// Total of the pieces of work completed: tasks, closures of scopes, stolen halves of joins, calls
    /// helped with, blocks of shared loops. What its caller ran alone is not counted, to cost nothing.
    #[doc(alias = "CompletedWorkItemCount")]
    pub completed: u64,
    /// Total of the times that a thread found one of the runtime's own locks taken: those of the task
    /// queues, of scopes, and of iterators that are shared by a loop.
    #[doc(alias = "LockContentionCount")]
    pub contentions: u64,
}

impl Metrics {
    /// Reads everything, once.
    pub(crate) fn of(shared: &Shared) -> Self {
        let census = shared.idle.census();
        let mut metrics = Self {
            workers: shared.idle.limit(),
            threads: 0,
            working: census
                .awake
                .saturating_sub(census.searching + census.blocked + census.found_blocked),
            searching: census.searching,
            asleep: 0,
            blocked: census.blocked,
            found_blocked: census.found_blocked,
            steals: 0,
            parks: 0,
            threads_started: shared.threads_started.read(),
            completed: 0,
            contentions: shared.injector.contentions(),
        };
        for seat in shared.worker_seats() {
            metrics.threads += usize::from(seat.occupant() != Occupant::None);
            metrics.asleep += usize::from(seat.occupant() == Occupant::Idle);
        }
        for seat in shared.all_seats() {
            metrics.steals += seat.counters.stolen.read();
            metrics.parks += seat.counters.parked.read();
            metrics.completed += seat.counters.finished.read();
            metrics.contentions += seat.counters.contended.read() + seat.tasks.contentions();
        }
        metrics
    }
}
