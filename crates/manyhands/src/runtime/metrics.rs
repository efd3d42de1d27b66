//! A runtime's metrics: what it does and has done, in numbers.
//!
//! Not here: the counting itself (`probe`, `idle.rs`).

use crate::queue::TaskQueue;
use crate::runtime::ThreadChangeReason::{
    BlockingDeclared, BlockingDetected, Starvation, TimedOut, Warmup,
};
use crate::runtime::{RuntimeInner, SlotState};
use std::time::Duration;

/// A snapshot of a runtime; made by [`Runtime::metrics`](crate::Runtime::metrics).
///
/// Each thread counts for itself without locks, so the numbers may be a moment apart. The totals never fall; take two
/// snapshots and subtract to learn what happened in between.
///
/// # Examples
/// ```
/// use manyhands::{Runtime, task};
/// let runtime = Runtime::builder().workers(2).build()?;
/// let before = runtime.metrics();
/// let tasks = runtime.install(|| [1, 2, 3].map(|n| task::run(move || n)));
/// assert_eq!(tasks.map(|task| task.join().unwrap()), [1, 2, 3]);
/// let after = runtime.metrics();
/// assert_eq!((after.workers, after.detected_blocked), (2, 0));
/// assert!(after.completed >= before.completed && after.threads_started >= 1);
/// # Ok::<(), manyhands::BuildError>(())
/// ```
#[doc(alias = "RuntimeMetrics")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// How many threads may run at once.
    pub workers: usize,
    /// Worker threads that exist now, including sleeping ones and those started in place of blocked ones.
    #[doc(alias = "ThreadCount")]
    pub threads: usize,
    /// Workers and external threads that run something now.
    pub working: usize,
    /// Workers that are awake and look for work.
    pub searching: usize,
    /// Workers that sleep because they have no work.
    pub asleep: usize,
    /// Threads that have declared that they block: they wait for a stolen half, a task, a future, a helper, a channel, a time,
    /// a callback of a cancellation or the end of another runtime, or are in [`task::blocking`](crate::task::blocking).
    pub blocked: usize,
    /// Threads that the monitor detected asleep in the kernel inside a job, while work waited.
    pub detected_blocked: usize,
    /// Tasks that wait in queues that belong to no worker: those from external threads, and those with a priority. Each
    /// queue is counted up to 10,000.
    pub queued_outside: usize,
    /// Tasks that wait in the queues of workers and callers, including those that only one worker may run. Each queue is
    /// counted up to 10,000.
    #[doc(alias = "PendingWorkItemCount")]
    pub queued: usize,
    /// How often a thread stole from another one: the second half of a join, or a run of tasks. Closures of a scope
    /// and parts of a loop are not counted.
    pub steals: u64,
    /// How often a thread went to sleep, because it had no work or had to wait.
    pub parks: u64,
    /// Total of the worker threads started.
    pub threads_started: u64,
    /// Of these: started in place of a thread that declared that it blocks.
    pub started_for_declared: u64,
    /// Of these: started in place of a thread that was detected as blocked.
    pub started_for_detected: u64,
    /// Of these: started because computations had occupied every running thread for long.
    pub started_for_starved: u64,
    /// Total of the worker threads that ended because they were not needed any more.
    pub threads_ended: u64,
    /// Total of the computations that were noted by [`Runtime::long_jobs`](crate::Runtime::long_jobs).
    pub long_jobs: u64,
    /// Total of the timers that have fired.
    pub timers_fired: u64,
    /// Sum of how late they were, in steps of a millisecond.
    pub timers_late: Duration,
    /// How late the latest of them was.
    pub timer_latest: Duration,
    /// Total of the pieces of work completed: closures of tasks and of scopes, polls of futures, stolen halves of joins,
    /// calls helped with, blocks of shared loops. What its caller ran alone is not counted, to cost nothing.
    #[doc(alias = "CompletedWorkItemCount")]
    pub completed: u64,
    /// How often a thread found one of the runtime's own locks taken: those of the task queues, of scopes, and of
    /// iterators that a loop shares.
    #[doc(alias = "LockContentionCount")]
    pub contentions: u64,
}

impl Metrics {
    /// Reads everything, once.
    pub(crate) fn of(shared: &RuntimeInner) -> Self {
        let census = shared.idle.census();
        let at_rest = census.searching + census.blocked + census.detected_blocked;
        let changes = |reason| shared.changes.count(reason);
        let (declared, detected) = (changes(BlockingDeclared), changes(BlockingDetected));
        let starved = changes(Starvation);
        let mut metrics = Self {
            workers: shared.idle.limit,
            threads: 0,
            working: census.awake.saturating_sub(at_rest),
            searching: census.searching,
            asleep: 0,
            blocked: census.blocked,
            detected_blocked: census.detected_blocked,
            queued_outside: shared.queued_outside(),
            queued: 0,
            steals: 0,
            parks: 0,
            threads_started: changes(Warmup) + declared + detected + starved,
            started_for_declared: declared,
            started_for_detected: detected,
            started_for_starved: starved,
            threads_ended: changes(TimedOut),
            long_jobs: shared.long_jobs_noted.read(),
            timers_fired: 0,
            timers_late: Duration::ZERO,
            timer_latest: Duration::ZERO,
            completed: shared.completed(),
            contentions: shared.queues_outside().map(TaskQueue::contentions).sum(),
        };
        for slot in shared.worker_slots() {
            metrics.threads += usize::from(slot.occupant() != SlotState::None);
            metrics.asleep += usize::from(slot.occupant() == SlotState::Idle);
        }
        for slot in shared.all_slots() {
            metrics.steals += slot.counters.stolen.read();
            metrics.parks += slot.counters.parked.read();
            metrics.contentions += slot.counters.contended.read() + slot.tasks.contentions();
            metrics.queued += slot.tasks.count(QUEUED_MAX) + slot.local.count(QUEUED_MAX);
        }
        let of_slots = shared.all_slots().map(|slot| &*slot.timers);
        for timers in of_slots.chain([&shared.lasting.outside_timers]) {
            let lateness = timers.lateness();
            metrics.timers_fired += lateness.fired;
            metrics.timers_late += Duration::from_millis(lateness.total_millis);
            let latest = Duration::from_millis(lateness.max_millis);
            metrics.timer_latest = metrics.timer_latest.max(latest);
        }
        metrics
    }
}

impl RuntimeInner {
    /// Tasks in queues that belong to no worker.
    pub(super) fn queued_outside(&self) -> usize {
        let counts = self.queues_outside().map(|queue| queue.count(QUEUED_MAX));
        counts.sum()
    }

    /// Pieces of work that have ended.
    pub(super) fn completed(&self) -> u64 {
        let slots = self.all_slots();
        slots.map(|slot| slot.counters.finished.read()).sum()
    }
}

/// No more tasks of one queue are counted, because counting keeps other threads from taking.
pub(super) const QUEUED_MAX: usize = 10_000;
