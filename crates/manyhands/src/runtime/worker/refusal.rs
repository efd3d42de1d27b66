//! What a runtime remembers of threads that the system has refused.
//!
//! Not here: which thread tries again, and when (`refused_starts.rs`).

use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, clock, lock};
use std::mem;
use std::time::{Duration, Instant};

/// What a runtime remembers of refused starts.
#[derive(Debug, Default)]
pub(crate) struct Refusal {
    /// On the list, or about to be.
    pub(super) is_listed: AtomicBool,
    /// When a start was refused last, in ticks; 0: it was not, or one has succeeded since.
    pub(super) last: AtomicU64,
    lasting: Mutex<Option<Lasting>>,
}

#[derive(Debug)]
struct Lasting {
    since: Instant,
    is_reported: bool,
}

impl Lasting {
    fn is(&self, long: Duration) -> bool {
        clock::now().saturating_duration_since(self.since) >= long
    }
}

impl Refusal {
    /// Whether enough time has passed since the last refusal to ask again.
    pub(crate) fn may_ask(&self) -> bool {
        // Relaxed: advice.
        let last = self.last.load(Ordering::Relaxed);
        // A counter that has jumped back reads as much time.
        last == 0 || clock::ticks().abs_diff(last) >= clock::ticks_in(ASK_APART_NANOS)
    }

    /// Whether the last start was refused.
    #[cfg(all(feature = "inspect", not(any(loom, shuttle))))]
    pub(crate) fn is_refused(&self) -> bool {
        // Relaxed: advice.
        self.last.load(Ordering::Relaxed) != 0
    }

    /// A thread has been started.
    pub(crate) fn end(&self) {
        // Relaxed, both: advice.
        if self.last.load(Ordering::Relaxed) != 0 {
            self.last.store(0, Ordering::Relaxed);
            self.forget();
        }
    }

    /// Whether it has lasted so long that it must be reported, which it then counts as.
    pub(super) fn must_be_reported(&self) -> bool {
        let mut lasting = lock(&self.lasting);
        let lasting = lasting.get_or_insert_with(|| Lasting {
            since: clock::now(),
            is_reported: false,
        });
        lasting.is(TOLD_AFTER) && !mem::replace(&mut lasting.is_reported, true)
    }

    /// Whether it has lasted so long that threads which wait for the pool's work give up.
    pub(super) fn is_given_up(&self) -> bool {
        let lasting = lock(&self.lasting);
        lasting
            .as_ref()
            .is_some_and(|lasting| lasting.is(GIVEN_UP_AFTER))
    }

    /// Nothing waits for a thread just now.
    pub(super) fn forget(&self) {
        *lock(&self.lasting) = None;
    }
}

/// A refused start takes about ten microseconds.
const ASK_APART_NANOS: u64 = 1_000_000;
const TOLD_AFTER: Duration = Duration::from_secs(1);
const GIVEN_UP_AFTER: Duration = Duration::from_secs(10);
