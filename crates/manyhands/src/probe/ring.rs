//! The latest of many entries, for diagnostics that are read later.
//!
//! For slow paths only: a lock is taken for each entry.

use crate::sync::{Mutex, lock_or_end};
use std::collections::VecDeque;

/// Keeps the latest `KEPT` entries.
pub(crate) struct Ring<T, const KEPT: usize>(Mutex<VecDeque<T>>);

impl<T, const KEPT: usize> Default for Ring<T, KEPT> {
    /// An empty one.
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone, const KEPT: usize> Ring<T, KEPT> {
    /// Adds an entry; replaces the oldest if there is no more room.
    #[cold]
    pub(crate) fn push(&self, entry: T) {
        let mut entries = lock_or_end(&self.0);
        if entries.len() == KEPT {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    /// The kept entries, the oldest first.
    pub(crate) fn to_vec(&self) -> Vec<T> {
        lock_or_end(&self.0).iter().cloned().collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Ring;

    #[test]
    fn the_latest_entries_are_kept_in_order() {
        let ring = Ring::<_, 3>::default();
        assert!(ring.to_vec().is_empty());
        (0..5).for_each(|entry| ring.push(entry));
        assert_eq!(ring.to_vec(), [2, 3, 4]);
    }
}
