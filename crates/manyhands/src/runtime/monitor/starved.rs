//! Work that starves behind long computations: which threads compute at one job for long.
//!
//! A sweep notes such jobs. When they occupy every worker, a thread beyond the limit may run short tasks (`overcommit.rs`,
//! `worker/short_tasks.rs`). For other work a sweep adds a thread only when they have occupied every worker for half a
//! second, or for five seconds where other threads want the processors (`policy.rs`).
//!
//! Not here: whether a thread computes (`detector.rs`, `blocked.rs`).

use crate::integrations::tracing_events;
use crate::job::JobKind;
use crate::runtime::monitor::detector::{ThreadVerdict, Watch};
use crate::runtime::monitor::overcommit::is_long;
use crate::runtime::policy::{self, INTERVAL_MAX};
use crate::runtime::{LongJob, RuntimeInner, WorkerSlot};
use crate::sync::clock;
use std::time::{Duration, Instant};
use std::{mem, ptr};

/// What the monitor remembers of the jobs on one slot from sweep to sweep.
#[derive(Debug, Default)]
pub(super) struct SeenJob {
    /// Its kind, or null where other jobs were seen inside it.
    kind: Option<*const JobKind>,
    /// The last of the long jobs that was noted.
    noted: u64,
}

impl SeenJob {
    /// Begins a look at the thread on `slot`. The kind of its job is null where another kind was seen at an earlier look at
    /// the same job: the job ran others inside it, or the thread had just begun the next. An external thread's call is
    /// of no kind.
    pub(super) fn see_kind(&mut self, slot: &WorkerSlot, is_same_job: bool) {
        let now = if slot.is_worker() {
            slot.kind()
        } else {
            ptr::null()
        };
        let is_other = is_same_job && self.kind.is_some_and(|kind| !ptr::eq(kind, now));
        self.kind = Some(if is_other { ptr::null() } else { now });
    }
}

/// The threads that one sweep has seen at long jobs.
#[derive(Debug, Default)]
pub(super) struct Long {
    /// Those that have computed for so long that waiting work starves.
    pub(super) starving: usize,
    /// As these, but beyond the limit, in a task that was taken for a short one.
    pub(super) starving_beyond: usize,
    /// Those that have computed for so long that a short task need not wait for their end.
    pub(super) threads: usize,
    /// For how long those of these have computed that are beyond the limit, whose task was taken for a short one.
    pub(super) taken_for_short: Vec<Duration>,
    /// Those in a job that this sweep is the first to see, of a kind that is known to be long.
    pub(super) begun: usize,
}

impl Long {
    /// How many threads starve waiting work. One beyond the limit is compensated for while overcommit lasts, and counts
    /// only where fewer other threads run than the limit.
    pub(super) fn starving(&self, shared: &RuntimeInner) -> usize {
        let others = shared.idle.running_others();
        let free = shared.idle.limit.saturating_sub(others);
        self.starving + self.starving_beyond.min(free)
    }

    /// The job is seen for the first time.
    pub(super) fn count_begun(&mut self, shared: &RuntimeInner, seen: &SeenJob) {
        let is_known = |kind| shared.long_kinds.has(kind);
        self.begun += usize::from(seen.kind.is_some_and(is_known));
    }

    /// The thread on `slot` computes, or would if a processor were free: counts it if its job takes long.
    pub(super) fn count(
        &mut self,
        shared: &RuntimeInner,
        slot: &WorkerSlot,
        (watch, seen): (&Watch, &mut SeenJob),
        now: Instant,
    ) {
        let at = now.saturating_duration_since(clock::first());
        let running_for = watch.at_it_for(at);
        let computed_for = watch.computed_for(at);
        let is_in_short_task = slot.in_short_task.is_set();
        let kind = seen.kind.unwrap_or(ptr::null());
        if is_long(&shared.long_kinds, kind, running_for, computed_for) {
            self.threads += 1;
            if is_in_short_task {
                self.taken_for_short.push(computed_for);
            }
        }
        if policy::starves(running_for, watch.has_processor) {
            let count = if is_in_short_task {
                &mut self.starving_beyond
            } else {
                &mut self.starving
            };
            *count += 1;
        }
        if watch.verdict == ThreadVerdict::Runs && running_for >= INTERVAL_MAX {
            let job = watch.job.unwrap_or(0);
            if mem::replace(&mut seen.noted, job) != job {
                note(shared, slot, now, running_for);
            }
        }
    }
}

fn note(shared: &RuntimeInner, slot: &WorkerSlot, at: Instant, running_for: Duration) {
    let (worker, task) = (slot.worker(), slot.task());
    tracing_events::long_job(&shared.settings.name, running_for, worker, task);
    shared.long_jobs_noted.bump();
    shared.long_jobs.push(LongJob {
        at,
        running_for,
        worker,
        task,
    });
}
