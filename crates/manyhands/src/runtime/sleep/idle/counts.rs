//! What the word of counts counts, and in which of its bits; the search of a worker; and flags that are counted.
//!
//! Not here: where a worker looks (`search.rs`), how flags are counted (`idle.rs`), and when one is set
//! (`monitor/blocked.rs`, `waking.rs`).

use crate::job::RunPermit;
use crate::runtime::sleep::idle::Idle;
use crate::sync::atomic::{AtomicBool, Ordering};

/// Threads by what they do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadCounts {
    /// Workers that are awake or being woken, and external threads.
    pub(crate) awake: usize,
    /// Of these: workers that look for work.
    pub(crate) searching: usize,
    /// Of these: threads that declared that they block.
    pub(crate) blocked: usize,
    /// Of these: threads that the monitor detected as blocked.
    pub(crate) detected_blocked: usize,
}

/// What a thread begins and ends, with what that adds to the word, which has 16 bits for each.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub(crate) enum Activity {
    /// A worker is awake, or being woken.
    Awake = 1,
    /// An external thread takes part in its own call.
    ExternalThread = 1 << 16,
    /// A running thread has declared that it blocks.
    Blocked = 1 << 32,
    /// A worker looks for work.
    Searching = 1 << 48,
}

/// How many threads are at it, by the word.
pub(super) fn field(counts: u64, what: Activity) -> usize {
    ((counts / what as u64) & 0xFFFF) as usize
}

impl Idle {
    /// Worker: looks for work by `look`. Meanwhile it counts as one that does, so wakers wake no other one, and has no permit:
    /// nothing of the user's can be called.
    pub(crate) fn search<R>(&self, _permit: RunPermit<'_>, look: impl FnOnce() -> R) -> R {
        self.begin(Activity::Searching);
        let found = look();
        self.end(Activity::Searching);
        found
    }
}

/// A flag of a thread that is counted: that the monitor detected it as blocked, or that it runs a short task. The monitor and
/// the thread itself change it, and whoever does changes the count as well.
#[derive(Debug, Default)]
pub(crate) struct CountedFlag(AtomicBool);

impl CountedFlag {
    /// Whether the thread is counted.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Relaxed: a hint; the exchanges below decide.
        self.0.load(Ordering::Relaxed)
    }

    /// Sets it; returns whether it was not set before.
    pub(crate) fn set(&self) -> bool {
        // Relaxed: no other memory depends on the word.
        !self.0.swap(true, Ordering::Relaxed)
    }

    /// Clears it; returns whether it was set.
    pub(crate) fn clear(&self) -> bool {
        // Relaxed: as in `set`.
        self.0.swap(false, Ordering::Relaxed)
    }
}
