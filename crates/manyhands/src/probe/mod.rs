//! Counters: the write side of diagnostics.
//!
//! Not here: reading them together (`runtime/metrics.rs`), and anything that formats.

mod ring;

pub(crate) use ring::Ring;

use crate::sync::counting::{AtomicU64, Ordering};

/// A counter that one thread raises and any thread reads.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds one. Only the owning thread calls this, so no read-modify-write is needed.
    #[inline]
    pub(crate) fn bump(&self) {
        self.add(1);
    }

    /// Adds `count`, as [`bump`](Self::bump) does.
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        // Relaxed, both: one writer, and readers take a snapshot that may be late.
        self.0
            .store(self.0.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    /// The count, as it is now or was a moment ago.
    pub(crate) fn read(&self) -> u64 {
        // Relaxed: a count stands alone.
        self.0.load(Ordering::Relaxed)
    }

    /// Starts again from 0. Only the owning thread calls this.
    fn reset(&self) {
        // Relaxed: as in `add`.
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A counter that any thread raises: for slow paths only.
#[derive(Debug, Default)]
pub(crate) struct SharedCounter(AtomicU64);

impl SharedCounter {
    /// Adds one.
    #[cold]
    pub(crate) fn bump(&self) {
        // Relaxed: a count stands alone.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Starts again from 0. No thread may be counting.
    pub(crate) fn reset(&self) {
        // Relaxed: as in `bump`.
        self.0.store(0, Ordering::Relaxed);
    }

    /// The count, as it is now or was a moment ago.
    pub(crate) fn read(&self) -> u64 {
        // Relaxed: a count stands alone.
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of one slot.
#[derive(Debug, Default)]
pub(crate) struct SlotCounters {
    /// Jobs, tasks and loop blocks finished.
    pub(crate) finished: Counter,
    /// Jobs and runs of tasks taken from another slot.
    pub(crate) stolen: Counter,
    /// Times the thread went to sleep.
    pub(crate) parked: Counter,
    /// Locks that the thread saw taken, other than those with a counter of their own.
    pub(crate) contended: Counter,
}

impl SlotCounters {
    /// Resets the counters for a new occupant.
    pub(crate) fn reset(&self) {
        self.finished.reset();
        self.stolen.reset();
        self.parked.reset();
        self.contended.reset();
    }
}
