//! Whether what the pages show is held. Nothing happens in the program for that: it is only not asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by all that ask the program.
#[derive(Debug, Clone)]
pub(super) struct Hold {
    is_allowed: bool,
    is_held: Arc<AtomicBool>,
}

impl Hold {
    /// Not held. Without permission it stays so.
    pub(super) fn new(is_allowed: bool) -> Self {
        Self {
            is_allowed,
            is_held: Arc::new(AtomicBool::new(false)),
        }
    }

    pub(super) fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    pub(super) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::SeqCst)
    }

    /// What a page shows: `None` if it may not hold.
    pub(super) fn state(&self) -> Option<bool> {
        self.is_allowed.then(|| self.is_held())
    }

    pub(super) fn hold(&self) {
        self.is_held.store(self.is_allowed, Ordering::SeqCst);
    }

    pub(super) fn release(&self) {
        self.is_held.store(false, Ordering::SeqCst);
    }
}
