//! Work that starves behind long computations: which threads compute at one job for long.
//!
//! A sweep notes such jobs. When they occupy every worker, a thread beyond the limit may run short tasks (`overcommit.rs`,
//! `worker/short_tasks.rs`). For other tasks a sweep adds a thread only when they have occupied every worker for half a
//! second, or for five seconds where other threads want the processors (`policy.rs`). Threads outside, which run no task while
//! they are in a call, count at once: else a task would wait for ever beside as many as there are workers.
//!
//! Not here: whether a thread computes (`detector.rs`, `blocked.rs`).

use crate::integrations::tracing_events;
use crate::runtime::monitor::detector::{ThreadVerdict, Watch};
use crate::runtime::monitor::overcommit::is_long;
use crate::runtime::policy::{self, INTERVAL_MAX};
use crate::runtime::{LongJob, RuntimeInner, WorkerSlot};
use crate::sync::clock;
use std::time::{Duration, Instant};
use std::{mem, ptr};

/// The threads that one sweep has seen at long jobs.
#[derive(Debug, Default)]
pub(super) struct Long {
    /// Those that have computed for so long that waiting work starves, and those outside.
    pub(super) starving: usize,
    /// As these, but beyond the limit, in a task that was taken for a short one.
    pub(super) starving_beyond: usize,
    /// Those that have computed for so long that a short task need not wait for their end.
    pub(super) threads: usize,
    /// For how long those of these have computed that are beyond the limit, whose task was taken for a short one.
    pub(super) taken_for_short: Vec<Duration>,
}

impl Long {
    /// How many threads starve waiting work. One beyond the limit is compensated for while overcommit lasts, and counts
    /// only where fewer other threads run than the limit.
    pub(super) fn starving(&self, shared: &RuntimeInner) -> usize {
        let others = shared.idle.running_others();
        let free = shared.idle.limit.saturating_sub(others);
        self.starving + self.starving_beyond.min(free)
    }

    /// The thread on `slot` computes, or would if a processor were free: counts it if its job takes long.
    pub(super) fn count(
        &mut self,
        shared: &RuntimeInner,
        slot: &WorkerSlot,
        watch: &mut Watch,
        now: Instant,
    ) {
        let at = now.saturating_duration_since(clock::first());
        let running_for = watch.at_it_for(at);
        let computed_for = watch.computed_for();
        let is_in_short_task = slot.in_short_task.is_set();
        let kind = slot.kind();
        // Else it may be that of the next job.
        let is_its_own = slot.job() == watch.job;
        let kind = if is_its_own { kind } else { ptr::null() };
        if is_long(&shared.long_kinds, kind, running_for, computed_for) {
            self.threads += 1;
            if is_in_short_task {
                self.taken_for_short.push(computed_for);
            }
        }
        if slot.is_worker() && policy::starves(running_for, watch.has_processor) {
            let count = if is_in_short_task {
                &mut self.starving_beyond
            } else {
                &mut self.starving
            };
            *count += 1;
        }
        let is_noted = watch.verdict == ThreadVerdict::Runs && running_for >= INTERVAL_MAX;
        if is_noted && !mem::replace(&mut watch.is_noted, true) {
            note(shared, slot, now, running_for);
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
