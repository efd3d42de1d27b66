//! What a runtime remembers of threads that the system has refused.
//!
//! Not here: which thread tries again, and when (`refused_starts.rs`).

use crate::runtime::policy::ASK_APART_NANOS;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, clock, lock};
use std::mem;
use std::time::{Duration, Instant};

/// What a runtime remembers of refused starts.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    /// When a start was refused last, in ticks; 0: it was not, or one has succeeded since.
    last: AtomicU64,
    /// Since when work has waited for a thread, and whether that was reported.
    lack: Mutex<Option<(Instant, bool)>>,
}

impl Refusal {
    /// Whether enough time has passed since the last refusal to ask again.
    pub(crate) fn may_ask(&self) -> bool {
        // Relaxed: advice.
        let last = self.last.load(Ordering::Relaxed);
        // A counter that has jumped back reads as much time.
        last == 0 || clock::ticks().abs_diff(last) >= clock::ticks_in(ASK_APART_NANOS)
    }

    /// A start was refused, or would be now.
    pub(super) fn note(&self) {
        if self.may_ask() {
            // Relaxed: advice.
            self.last.store(clock::ticks().max(1), Ordering::Relaxed);
        }
    }

    /// Whether the last start was refused.
    pub(crate) fn is_refused(&self) -> bool {
        // Relaxed: advice.
        self.last.load(Ordering::Relaxed) != 0
    }

    /// A thread has been started.
    pub(crate) fn end(&self) {
        // Relaxed, both: advice.
        if self.last.load(Ordering::Relaxed) != 0 {
            self.last.store(0, Ordering::Relaxed);
            self.forget();
        }
    }

    /// Nothing waits for a thread just now.
    pub(super) fn forget(&self) {
        *lock(&self.lack) = None;
    }

    /// For how long work has waited for a thread, counted from the first call.
    pub(super) fn lasts(&self) -> Duration {
        let now = clock::now();
        let (since, _) = *lock(&self.lack).get_or_insert((now, false));
        now.saturating_duration_since(since)
    }

    /// Counts it as reported. Returns whether it was not before.
    pub(super) fn begin_report(&self) -> bool {
        let mut lack = lock(&self.lack);
        lack.as_mut()
            .is_some_and(|(_, is_reported)| !mem::replace(is_reported, true))
    }
}
