//! The counts of threads beyond the limit that run short tasks, and the call for one where nobody could be claimed. Beside them,
//! because a push reads both: whether that should look for saturation, and the start of overcommit by one that sees it.
//!
//! # Ordering
//! I2: a worker beyond the limit finds no room when it has announced, so for short tasks the steps of `idle.rs` are not enough. The
//! thread that pushes one, and can claim nobody, sets `short_task_waits` and tries once more. A worker that has announced and sees
//! the limit for short tasks not reached takes the flag back, and looks again. All of this is SeqCst: if the flag is
//! set after that, the pusher's second try finds the bit and the lowered count. A worker that watches sockets while it is
//! announced sets the flag itself for what these put into its own queue.
//!
//! Not here: which tasks are short and where they are found (`worker/short_tasks.rs`), the look for saturation
//! (`worker/saturation.rs`), and how long overcommit lasts (`monitor/overcommit.rs`).

use crate::runtime::sleep::idle::{Claim, Idle};
use crate::sync::atomic::Ordering;

impl Idle {
    /// Whether no more threads run than may with those in short tasks, or with one that may not have looked yet.
    pub(crate) fn is_full_of_short_tasks(&self) -> bool {
        let max = self.running_max() + self.in_short_tasks.read().max(1);
        self.overcommits() && self.running() <= max
    }

    /// How many threads run besides those in short tasks.
    pub(crate) fn running_others(&self) -> usize {
        self.running().saturating_sub(self.in_short_tasks.read())
    }

    /// Whether threads beyond the limit may run short tasks now; see `worker/short_tasks.rs`.
    #[inline]
    pub(crate) fn overcommits(&self) -> bool {
        // Relaxed: advice.
        self.extra_for_short_tasks.load(Ordering::Relaxed) > 0
    }

    /// Worker beyond the limit: whether it may run a short task.
    pub(crate) fn may_run_short_task(&self) -> bool {
        self.overcommits() && self.running() <= self.running_short_max()
    }

    /// Monitor: lets `count` threads beyond all others run short tasks.
    pub(crate) fn set_extra_for_short_tasks(&self, count: usize) {
        // Relaxed: advice. Tasks do not depend on these threads.
        self.extra_for_short_tasks.store(count, Ordering::Relaxed);
    }

    /// Claims a worker to run a short task, if one more may do so. Else the next one that falls asleep looks again.
    pub(crate) fn claim_for_short_task(&self) -> Option<Claim> {
        let claim = || self.claim_below(|| self.running_short_max());
        claim().or_else(|| {
            self.call_for_short_task();
            claim()
        })
    }

    /// Makes the next worker that is announced look again for a short task: one for which nobody could be claimed, or that
    /// came to the queue of an announced worker.
    pub(crate) fn call_for_short_task(&self) {
        // SeqCst: I2; set before the count is read again.
        if !self.short_task_waits.load(Ordering::SeqCst) {
            self.short_task_waits.store(true, Ordering::SeqCst);
        }
    }

    /// Announced worker: whether it must look again for a short task that nobody was claimed for.
    pub(crate) fn takes_call_for_short_task(&self) -> bool {
        self.overcommits()
            && self.running() < self.running_short_max()
            // SeqCst: I2; read after the count was lowered.
            && self.short_task_waits.swap(false, Ordering::SeqCst)
    }

    fn running_short_max(&self) -> usize {
        // Relaxed: advice.
        self.running_max() + self.extra_for_short_tasks.load(Ordering::Relaxed)
    }

    /// Whether a job of a kind that is known to be long has begun since somebody looked.
    #[inline]
    pub(crate) fn may_be_saturated(&self) -> bool {
        // Relaxed: advice.
        self.may_be_saturated.load(Ordering::Relaxed)
    }

    /// Says that such a job has begun, or that somebody looks. Writes only what is not so yet.
    pub(crate) fn set_may_be_saturated(&self, may: bool) {
        if self.may_be_saturated() != may {
            // Relaxed: advice.
            self.may_be_saturated.store(may, Ordering::Relaxed);
        }
    }

    /// Starts overcommit, unless it is on: slow jobs on this number of threads occupy every worker. The
    /// monitor ends that, and does not touch it before.
    pub(crate) fn begin_overcommit(&self, threads: usize) {
        let (known, extra) = (&self.extra_for_short_tasks, threads + 1);
        let extra = extra.saturating_sub(self.limit);
        // Relaxed, both: advice. An exchange, so that what the monitor has set is not lowered.
        let _ = known.compare_exchange(0, extra, Ordering::Relaxed, Ordering::Relaxed);
    }
}
