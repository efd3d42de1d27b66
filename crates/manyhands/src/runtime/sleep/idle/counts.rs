//! What the word of counts counts, and in which of its bits; and flags that are counted.
//!
//! Not here: when it is changed (`idle.rs`), and when a flag is set (`monitor/blocked.rs`, `waking.rs`).

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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

/// What a thread begins and ends, with what that adds to the word, which has 16 bits for each. At most 1,024 threads are external ones,
/// so of theirs the highest stands for something else.
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
    (((counts & !NO_CALLS) / what as u64) & 0xFFFF) as usize
}

/// Set in the word: no call of a thread outside begins any more.
pub(super) const NO_CALLS: u64 = 1 << 31;

/// A flag of a thread that is counted: that the monitor detected it as blocked, or that it runs a short task.
#[derive(Debug, Default)]
pub(crate) struct CountedFlag(AtomicBool);

/// How many threads have a flag set. The monitor and the thread itself change it.
#[derive(Debug, Default)]
pub(crate) struct FlagCount(AtomicUsize);

impl CountedFlag {
    /// Whether the thread is counted.
    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Relaxed: a hint; the exchanges below decide.
        self.0.load(Ordering::Relaxed)
    }

    /// Clears it for another runtime, which has not counted it.
    pub(crate) fn reset(&self) {
        // Relaxed: no other memory depends on the word.
        self.0.store(false, Ordering::Relaxed);
    }
}

impl FlagCount {
    /// How many there are.
    pub(crate) fn read(&self) -> usize {
        // SeqCst: I1, because a blocked thread gives room. The number of threads in short tasks is advice.
        self.0.load(Ordering::SeqCst)
    }

    /// Sets the flag and counts it; returns whether it was not set before.
    pub(crate) fn mark(&self, flag: &CountedFlag) -> bool {
        if flag.is_set() {
            return false;
        }
        // SeqCst: I1. Counted first: a thread that clears the flag at once lowers what was raised.
        self.0.fetch_add(1, Ordering::SeqCst);
        // Relaxed: no other memory depends on the word.
        let is_new = !flag.0.swap(true, Ordering::Relaxed);
        if !is_new {
            // SeqCst: as above.
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
        is_new
    }

    /// Clears the flag and counts it no more; returns whether it was set.
    #[inline]
    pub(crate) fn unmark(&self, flag: &CountedFlag) -> bool {
        flag.is_set() && self.clear(flag)
    }

    #[cold]
    fn clear(&self, flag: &CountedFlag) -> bool {
        // Relaxed: as in `mark`.
        let was_set = flag.0.swap(false, Ordering::Relaxed);
        if was_set {
            // SeqCst: I1.
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
        was_set
    }
}
