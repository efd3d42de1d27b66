//! The key of a call site's profile, and its mark: while loops are recorded, all keys have it.
//!
//! So a loop learns that it must be recorded from a comparison that it makes in any case, and that costs no instruction
//! while none is.
//!
//! A key that has the mark keeps it, also where another site takes the profile: that reads the key and writes it in one step.
//! So a caller of a loop, after recording has begun, finds no key without the mark. Recording does not end.
//!
//! Not here: where a site's profile is (`mod.rs`), and what records (`recording`).

use crate::sync::atomic::{AtomicUsize, Ordering};

/// The key of a profile. 0: none.
#[derive(Debug)]
pub(crate) struct Key(AtomicUsize);

impl Key {
    #[cfg(not(loom))]
    pub(super) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Whether it is this one, without the mark.
    #[inline]
    pub(crate) fn is_unmarked(&self, key: usize) -> bool {
        // Relaxed, here and below: a key is advice, and stands alone.
        self.0.load(Ordering::Relaxed) == key
    }

    /// Whether it is this one.
    pub(super) fn is(&self, key: usize) -> bool {
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed) & !MARK == key
    }

    /// Is this one from now on, with the mark if it has it.
    pub(crate) fn replace(&self, key: usize) {
        let marked_as = |before| Some(key | before & MARK);
        // Relaxed: as above.
        let replaced = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, marked_as);
        debug_assert!(replaced.is_ok(), "there is always another key");
    }

    /// Loops of its site are recorded from now on.
    #[cfg(any(loom, all(feature = "inspect", not(shuttle))))]
    pub(crate) fn mark(&self) {
        // Relaxed: as above.
        self.0.fetch_or(MARK, Ordering::Relaxed);
    }
}

/// No address of a function, halved, has this bit.
const MARK: usize = 1 << (usize::BITS - 1);
