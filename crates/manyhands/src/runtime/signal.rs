//! Says that whatever a thread waits for may have happened.
//!
//! Not a place to sleep: who raises it also unparks the thread.
//!
//! # Threads
//! The waiter lowers it and looks; any thread raises it.

use crate::sync::atomic::{AtomicBool, Ordering};

/// The flag.
#[derive(Debug)]
pub(crate) struct Signal(AtomicBool);

impl Signal {
    /// Not raised.
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Returns whether it was not raised before.
    pub(crate) fn raise(&self) -> bool {
        // AcqRel: Release publishes what happened; pairs with the Acquire in `lower` and `is_raised`.
        !self.0.swap(true, Ordering::AcqRel)
    }

    /// Waiter: before it looks for what may have happened. A later raise is for the next look.
    pub(crate) fn lower(&self) {
        // AcqRel: an exchange, so that a raise is either seen by the look that follows or kept.
        self.0.swap(false, Ordering::AcqRel);
    }

    /// Waiter: whether to look.
    pub(crate) fn is_raised(&self) -> bool {
        // Acquire: pairs with the Release in `raise`.
        self.0.load(Ordering::Acquire)
    }
}
