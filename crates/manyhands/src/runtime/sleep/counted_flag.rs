//! A flag of a thread that is counted: that the monitor detected it as blocked, or that it runs a short task.
//!
//! Not here: how flags are counted (`idle.rs`), and when one is set (`monitor/blocked.rs`, `waking.rs`).
//!
//! # Threads
//! The monitor and the thread itself change it. No other memory depends on the word. The thread that changes it changes
//! the count as well.

use crate::sync::atomic::{AtomicBool, Ordering};

/// Whether a thread is counted.
#[derive(Debug)]
pub(crate) struct CountedFlag(AtomicBool);

impl CountedFlag {
    /// Not set.
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Whether the thread is counted.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Relaxed: a hint; the exchanges below decide.
        self.0.load(Ordering::Relaxed)
    }

    /// Sets it; returns whether it was not set before.
    pub(crate) fn set(&self) -> bool {
        // Relaxed: no other memory depends on the word.
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// Clears it; returns whether it was set.
    pub(crate) fn clear(&self) -> bool {
        // Relaxed: as in `set`.
        self.0.swap(false, Ordering::Relaxed)
    }
}
