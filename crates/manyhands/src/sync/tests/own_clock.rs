//! The clocks in unit tests: a thread may read a tick counter of its own in place of the real one, so that what is decided by
//! measured times does not depend on the machine.
//!
//! Not built outside of unit tests.

use manyhands_system::clock as real;
#[cfg(feature = "inspect")]
pub(crate) use manyhands_system::clock::nanos_in;
pub(crate) use manyhands_system::clock::{calibrate, first, now, ticks_in};
use std::cell::Cell;

thread_local! {
    static NOW: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The calling thread's counter, or the real one.
pub(crate) fn ticks() -> u64 {
    NOW.get().unwrap_or_else(real::ticks)
}

/// Until this is dropped, the counter of the thread that began it stands still but for [`advance`](Self::advance).
#[derive(Debug)]
pub(crate) struct OwnClock(());

impl OwnClock {
    pub(crate) fn begin() -> Self {
        NOW.set(Some(ticks()));
        Self(())
    }

    /// On the thread that began it.
    pub(crate) fn advance(&self, nanos: u64) {
        NOW.set(NOW.get().map(|now| now + ticks_in(nanos)));
    }
}

impl Drop for OwnClock {
    fn drop(&mut self) {
        NOW.set(None);
    }
}
