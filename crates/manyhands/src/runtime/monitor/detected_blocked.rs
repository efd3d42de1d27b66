//! The mark of a thread that the monitor found blocked inside a job.
//!
//! Not here: how marks are counted (`idle.rs`), and who gets one (`sweep.rs`).
//!
//! # Threads
//! The monitor sets it; the monitor and the thread itself take it away. The word stands alone: who changes
//! it has one more or one less to count.

use crate::sync::atomic::{AtomicBool, Ordering};

/// Whether the monitor found a thread blocked, and it is counted so.
#[derive(Debug)]
pub(crate) struct DetectedBlocked(AtomicBool);

impl DetectedBlocked {
    /// Not found blocked.
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Whether the thread counts as blocked.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Relaxed: a hint; the exchanges below decide.
        self.0.load(Ordering::Relaxed)
    }

    /// Sets it; returns whether it was not set before.
    pub(crate) fn set(&self) -> bool {
        // Relaxed: the word stands alone.
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// Takes it away; returns whether it was set.
    pub(crate) fn take_away(&self) -> bool {
        // Relaxed: as in `set`.
        self.0.swap(false, Ordering::Relaxed)
    }

    /// Forgets it uncounted: for a slot that changes runtimes.
    pub(crate) fn forget(&self) {
        // Relaxed: nobody counts any more.
        self.0.store(false, Ordering::Relaxed);
    }
}
