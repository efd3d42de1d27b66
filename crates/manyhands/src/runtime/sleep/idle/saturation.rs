//! Whether a push of a short task should look for saturation, and the start of overcommit by a push that sees it.
//!
//! Beside the number of threads that may run short tasks, because a push reads both.
//!
//! Not here: the look (`worker/saturation.rs`), and how long overcommit lasts (`monitor/overcommit.rs`).

use crate::runtime::sleep::idle::Idle;
use crate::sync::atomic::Ordering;

impl Idle {
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
        let extra = (threads + 1).saturating_sub(self.limit());
        // Relaxed, both: advice. An exchange, so that what the monitor has set is not lowered.
        let _ = self.extra_for_short_tasks.compare_exchange(
            0,
            extra,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }
}
