//! The earliest of several finds or failures, by the starts of their blocks.
//!
//! # Ordering
//! The end is advice to runners about what they need not start, hence Relaxed; what is kept is handed over
//! under the lock.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};

/// What was found in the lowest block so far, and where runners may stop for it.
#[derive(Debug)]
pub(super) struct Earliest<T> {
    end: AtomicU64,
    kept: Mutex<Option<(u64, T)>>,
}

impl<T> Earliest<T> {
    pub(super) fn new() -> Self {
        Self {
            end: AtomicU64::new(u64::MAX),
            kept: Mutex::new(None),
        }
    }

    /// Keeps what was found in the block that begins at `start`, unless there is something from before it;
    /// nothing is needed from `end` on.
    pub(super) fn keep(&self, start: u64, found: T, end: u64) {
        let mut kept = lock(&self.kept);
        let is_earlier = kept.as_ref().is_none_or(|(earliest, _)| start < *earliest);
        // Dropped after the lock, as a destructor may wait for other finds.
        let _unwanted = if is_earlier {
            kept.replace((start, found))
        } else {
            Some((start, found))
        };
        drop(kept);
        // Relaxed: see the file's header.
        self.end.fetch_min(end, Ordering::Relaxed);
    }

    /// Nothing is needed from here on.
    pub(super) fn end(&self) -> u64 {
        // Relaxed: see the file's header.
        self.end.load(Ordering::Relaxed)
    }

    /// What was kept, if anything was found.
    pub(super) fn take(&self) -> Option<T> {
        lock(&self.kept).take().map(|(_, found)| found)
    }
}
