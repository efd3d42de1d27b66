//! Counters that a thread keeps about itself: the write side of diagnostics.
//!
//! Not here: reading them together, and anything that formats.

use crate::sync::atomic::{AtomicU64, Ordering};

/// A number that one thread raises and any thread reads, by its `Debug` so far.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds one. Only the owning thread calls this, so no read-modify-write is needed.
    #[inline]
    pub(crate) fn bump(&self) {
        // Relaxed, both: one writer, and readers take a snapshot that may be late.
        self.0
            .store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// What one seat counts.
#[derive(Debug, Default)]
pub(crate) struct SeatCounters {
    /// Jobs, tasks and loop blocks finished: the sign of life that the monitor looks for.
    pub(crate) finished: Counter,
    /// Jobs and tasks taken from another seat.
    pub(crate) stolen: Counter,
    /// Times the thread went to sleep.
    pub(crate) parked: Counter,
}
