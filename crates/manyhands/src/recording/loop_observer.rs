//! What observes how a loop runs: its record, while recording is open, or nothing.
//!
//! The engine is generic over this, so a loop that is not recorded has no trace of it but the choice at its beginning.
//!
//! Not here: the record (`recording/enabled/loops/running.rs`).

use crate::recording::RunsAlone;

/// Observes how a loop runs.
pub(crate) trait LoopObserver: Copy + Sync {
    /// Observes what one runner does, whose part ends when this is dropped; a second part of the same runner is added to the
    /// first.
    type Runner: RunnerObserver;

    /// Whether short calls are measured each time, and not one in some.
    const MEASURES_SHORT: bool = false;

    /// The whole loop runs on its caller.
    fn alone(self, _because: RunsAlone) {}

    /// The rest is open to helpers; this number of threads can run it.
    fn opens(self, _threads: usize) {}

    /// The time of an item alone and on each of several runners was compared, in ticks.
    fn compared(self, _alone: u64, _shared: u64, _runners: u64, _is_contended: bool) {}

    /// The caller begins by itself.
    fn caller_alone(self) -> Self::Runner;

    /// The caller has run this number of items by itself, as one block, since the loop began. The loop was opened meanwhile.
    fn ran_alone(self, _items: u64) {}

    /// The calling thread, of this worker, begins as one of several runners.
    fn runner(self, worker: Option<usize>) -> Self::Runner;
}

/// Observes what one runner of a loop does.
pub(crate) trait RunnerObserver {
    /// It has run a block.
    fn block(&mut self, _items: u64) {}

    /// It has waited for items, and taken some, or has found that there are no more.
    fn took_items(&mut self) {}
}

/// Nobody observes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unobserved;

impl LoopObserver for Unobserved {
    type Runner = Self;

    #[inline(always)]
    fn caller_alone(self) -> Self {
        self
    }

    #[inline(always)]
    fn runner(self, _worker: Option<usize>) -> Self {
        self
    }
}

impl RunnerObserver for Unobserved {}
