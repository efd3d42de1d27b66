//! A runtime's clock: the system's, or a simulation's own.
//!
//! Not here: which clock the calling thread goes by (`timers.rs`).

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::timer::Moment;

/// A runtime's clock.
pub(crate) enum Clock {
    /// The system's.
    System,
    /// A simulation's: written by the one thread that runs it.
    Virtual(AtomicU64),
}

impl Clock {
    /// The present.
    pub(crate) fn now(&self) -> Moment {
        match self {
            Self::System => Moment::now(),
            // Relaxed: one thread.
            Self::Virtual(nanos) => Moment::from_nanos(nanos.load(Ordering::Relaxed)),
        }
    }

    /// Whether it is a simulation's.
    pub(crate) fn is_virtual(&self) -> bool {
        matches!(self, Self::Virtual(_))
    }

    /// Sets a virtual clock.
    pub(crate) fn set(&self, now: Moment) {
        if let Self::Virtual(nanos) = self {
            // Relaxed: one thread.
            nanos.store(now.to_nanos(), Ordering::Relaxed);
        }
    }
}
