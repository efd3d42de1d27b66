//! Says that whatever a thread waits for may have happened.
//!
//! Not a place to sleep: the thread that raises it also unparks the sleeper, see [`wake`](Signal::wake).
//!
//! # Threads
//! The waiter lowers it and looks; any thread raises it.

use crate::sync::Parker;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// The flag.
#[derive(Debug, Default)]
pub(crate) struct Signal(AtomicBool);

impl Signal {
    /// Raises it, and wakes the thread that waits with this parker.
    pub(crate) fn wake(&self, parker: &Parker) {
        if self.raise() {
            parker.unpark();
        }
    }

    /// Waiter: polls until ready. `wait` returns once the signal is raised.
    #[inline]
    pub(crate) fn drive<R>(
        &self,
        mut poll: impl FnMut() -> Poll<R>,
        mut wait: impl FnMut(&Self),
    ) -> R {
        loop {
            self.lower();
            if let Poll::Ready(result) = poll() {
                return result;
            }
            wait(self);
        }
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
