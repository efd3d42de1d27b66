//! The key of a call site's profile, and its mark: while loops are recorded, all keys have it.
//!
//! So a loop learns that it is to be recorded from a comparison that it makes in any case, and that costs no instruction while
//! none is.
//!
//! # Protocol
//! A thread gives a profile another key, without the mark; another one begins to record. The first writes the key and then
//! reads whether loops are recorded, the second writes that they are and then marks all keys; each has a SeqCst fence in
//! between. So the second finds the new key, or the first finds that it has to mark it. Recording does not end.
//!
//! Not here: where a site's profile is (`mod.rs`), and who records (`inspect`).

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

/// The key of a profile. 0: none.
#[derive(Debug)]
pub(crate) struct Key(AtomicUsize);

/// Whether loops are recorded.
#[derive(Debug)]
pub(crate) struct Recording(AtomicBool);

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

    /// Is this one from now on.
    pub(crate) fn replace(&self, key: usize, recording: &Recording) {
        // Relaxed: as above.
        self.0.store(key, Ordering::Relaxed);
        // SeqCst: see the file's header.
        fence(Ordering::SeqCst);
        // Relaxed: ordered by the fence.
        if recording.0.load(Ordering::Relaxed) {
            self.mark();
        }
    }

    /// It may be marked already, and another one by now.
    fn mark(&self) {
        // Relaxed: as above.
        self.0.fetch_or(MARK, Ordering::Relaxed);
    }
}

impl Recording {
    #[cfg(not(loom))]
    pub(super) const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Marks these keys, now and whenever one of them is replaced.
    #[cfg(any(loom, all(feature = "inspect", not(shuttle))))]
    pub(crate) fn begin<'site>(&self, keys: impl Iterator<Item = &'site Key>) {
        // Relaxed: ordered by the fence. SeqCst: see the file's header.
        self.0.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        keys.for_each(Key::mark);
    }
}

/// No address of a function, halved, has this bit.
const MARK: usize = 1 << (usize::BITS - 1);
