//! Whether what the pages show is frozen. Nothing happens in the program for that: it is only not asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by all that ask the program.
#[derive(Debug, Clone)]
pub(super) struct Freeze {
    is_allowed: bool,
    is_frozen: Arc<AtomicBool>,
}

impl Freeze {
    /// Not frozen. Without permission it stays so.
    pub(super) fn new(is_allowed: bool) -> Self {
        Self {
            is_allowed,
            is_frozen: Arc::new(AtomicBool::new(false)),
        }
    }

    pub(super) fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    pub(super) fn is_frozen(&self) -> bool {
        self.is_frozen.load(Ordering::SeqCst)
    }

    /// What a page shows: `None` if it may not freeze.
    pub(super) fn state(&self) -> Option<bool> {
        self.is_allowed.then(|| self.is_frozen())
    }

    pub(super) fn freeze(&self) {
        self.is_frozen.store(self.is_allowed, Ordering::SeqCst);
    }

    pub(super) fn release(&self) {
        self.is_frozen.store(false, Ordering::SeqCst);
    }
}
