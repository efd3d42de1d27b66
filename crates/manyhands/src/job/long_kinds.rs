//! The kinds of job that were seen to compute for long: a task of such a kind is long, any other is short.
//!
//! Not here: seeing it (`runtime/monitor/overcommit.rs`), and what is done with short tasks (`runtime/worker/short_tasks.rs`).

use crate::job::JobKind;
use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::ptr;

/// The kinds that were last seen to compute for long.
#[derive(Default)]
pub(crate) struct LongKinds {
    kinds: [AtomicPtr<JobKind>; KINDS_KEPT],
    next: AtomicUsize,
}

impl LongKinds {
    /// Whether tasks of this kind were seen to compute for long.
    #[inline]
    pub(crate) fn has(&self, kind: *const JobKind) -> bool {
        // Relaxed: advice; kinds are only compared. The first entry is filled first, and in most programs none is.
        if kind.is_null() || self.kinds[0].load(Ordering::Relaxed).is_null() {
            return false;
        }
        // Relaxed: as above.
        let is_it = |known: &AtomicPtr<_>| ptr::eq(known.load(Ordering::Relaxed), kind);
        self.kinds.iter().any(is_it)
    }

    /// Monitor: a job of this kind has computed for long. The one noted first is forgotten for it.
    pub(crate) fn note(&self, kind: *const JobKind) {
        if kind.is_null() || self.has(kind) {
            return;
        }
        // Relaxed, all: as above, and only the monitor writes.
        let next = self.next.load(Ordering::Relaxed);
        self.next.store((next + 1) % KINDS_KEPT, Ordering::Relaxed);
        self.kinds[next].store(kind.cast_mut(), Ordering::Relaxed);
    }
}

/// Few programs have more kinds of long task at a time.
const KINDS_KEPT: usize = 4;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{KINDS_KEPT, LongKinds};
    use crate::job::JobKind;
    use std::ptr;

    /// Addresses that are compared and never followed.
    fn kind(number: usize) -> *const JobKind {
        ptr::without_provenance(number * align_of::<JobKind>())
    }

    #[test]
    fn the_last_few_kinds_are_kept() {
        let kinds = LongKinds::default();
        kinds.note(ptr::null());
        (1..=KINDS_KEPT).for_each(|number| kinds.note(kind(number)));
        kinds.note(kind(1));
        assert!((1..=KINDS_KEPT).all(|number| kinds.has(kind(number))));
        kinds.note(kind(KINDS_KEPT + 1));
        assert!(kinds.has(kind(KINDS_KEPT + 1)));
        assert!(!kinds.has(kind(1)));
        assert!(kinds.has(kind(2)));
    }

    #[test]
    fn nothing_is_long_at_first() {
        assert!(!LongKinds::default().has(kind(1)));
        assert!(!LongKinds::default().has(ptr::null()));
    }
}
