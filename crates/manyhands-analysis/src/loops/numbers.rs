//! The numbers that follow from what the runners of a loop did.
//!
//! Not here: what is kept of a loop (`report.rs`), and what kept it from being faster (`verdict.rs`).

use crate::loops::calls::LevelTrial;
use crate::loops::report::{BlockReport, LoopReport, RunnerReport, TrialReport};
use std::time::Duration;

impl LoopReport {
    /// The time of the runner that worked longest, divided by the mean time of all; 1 is balanced.
    ///
    /// Example: see `inspect::last_loop` of the library.
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        let longest = self.runners.iter().map(|runner| runner.worked).max();
        let count = u32::try_from(self.runners.len().max(1)).unwrap_or(u32::MAX);
        longest.map_or(1.0, |longest| times(longest, self.worked() / count))
    }

    /// The part of the time, between 0 and 1, in which the caller was alone: until the first helper joined, or all of it; 0 of
    /// an async loop.
    ///
    /// Example: see `inspect::last_loop` of the library.
    #[must_use]
    pub fn alone_share(&self) -> f64 {
        times(self.alone_for(), self.elapsed)
    }

    /// How many threads ran items on average: the time of all runners, divided by the time of the call. Of an async loop, how
    /// many calls were in flight on average.
    ///
    /// Example: see `inspect::last_loop` of the library.
    #[must_use]
    pub fn mean_runners(&self) -> f64 {
        ratio(self.worked(), self.elapsed)
    }

    /// How many rounds it takes to run items of the same length on all threads; no loop of such items ends earlier.
    ///
    /// Example: see `inspect::last_loop` of the library.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.items.div_ceil(self.threads.max(1) as u64)
    }

    /// The part of the runners' time, between 0 and 1, in which they were not on a processor; `None` if the system does not
    /// say, and of an async loop. The time from when the last of them had left to the end counts too: there was nothing left to do.
    ///
    /// Example: see `inspect::last_loop` of the library.
    #[must_use]
    pub fn off_processor_share(&self) -> Option<f64> {
        if self.calls.is_some() {
            return None;
        }
        let off = self.runners.iter().map(|runner| runner.off_processor);
        let off: Option<Duration> = off.sum();
        let after = self.after_last();
        Some(ratio(off? + after, self.worked() + self.took_items() + after).min(1.0))
    }

    /// The time of all runners, the last of which had left: their threads had lost their processors, or the loop would
    /// have ended.
    pub(crate) fn after_last(&self) -> Duration {
        let runners = u32::try_from(self.runners.len()).unwrap_or(u32::MAX);
        self.elapsed.saturating_sub(self.last_left()) * runners
    }

    /// When the last runner left that has done anything; the end if none has.
    pub(crate) fn last_left(&self) -> Duration {
        self.last_busy()
            .map_or(self.elapsed, |last| last.left_after)
    }

    /// The runner that left last, of those that have done anything.
    pub(crate) fn last_busy(&self) -> Option<&RunnerReport> {
        let runners = self.runners.iter();
        let busy = runners.filter(|runner| !(runner.worked + runner.took_items).is_zero());
        busy.max_by_key(|runner| runner.left_after)
    }

    /// How long the caller was alone.
    pub(crate) fn alone_for(&self) -> Duration {
        if self.calls.is_some() {
            return Duration::ZERO;
        }
        let first = self.helpers().map(|helper| helper.joined_after).min();
        first.map_or(self.elapsed, |first| first.min(self.elapsed))
    }

    /// How many threads could run it, or did: more, where one was added for one that blocked.
    pub(crate) fn threads_in_all(&self) -> usize {
        self.threads.max(self.runners.len())
    }

    /// The time of all runners, or of all calls.
    pub(crate) fn worked(&self) -> Duration {
        match &self.calls {
            Some(calls) => calls.in_flight,
            None => self.runners.iter().map(|runner| runner.worked).sum(),
        }
    }

    /// How long its runners took items, or waited for that.
    pub(crate) fn took_items(&self) -> Duration {
        self.runners.iter().map(|runner| runner.took_items).sum()
    }

    pub(crate) fn blocks(&self) -> u64 {
        self.runners.iter().map(|runner| runner.blocks).sum()
    }

    pub(crate) fn helpers(&self) -> impl Iterator<Item = &RunnerReport> {
        self.runners.iter().filter(|runner| !runner.is_caller)
    }

    /// The longest block of all runners.
    pub(crate) fn longest_block(&self) -> Option<BlockReport> {
        let blocks = self.runners.iter().map(|runner| runner.longest_block);
        blocks.max_by_key(|block| block.took)
    }
}

impl BlockReport {
    /// How many times as long an item of this block takes as one before it; 1 if there is none before.
    ///
    /// Example: see `inspect::last_loop` of the library.
    #[must_use]
    pub fn times_heavier(&self) -> f64 {
        if self.items_before == 0 || self.items == 0 || self.took_before.is_zero() {
            return 1.0;
        }
        let before = self.took_before.as_secs_f64() / self.items_before as f64;
        self.took.as_secs_f64() / self.items as f64 / before
    }
}

impl TrialReport {
    /// How many times as long an item takes beside others as alone.
    ///
    /// Example: see `inspect::last_loop` of the library.
    #[must_use]
    pub fn times_slower(&self) -> f64 {
        times(self.shared, self.alone)
    }
}

impl LevelTrial {
    /// How many times as many calls end in the same time with the greater number.
    ///
    /// Example: see `inspect::last_loop` of the library.
    #[must_use]
    pub fn times_faster(&self) -> f64 {
        times(self.fewer_every, self.more_every)
    }
}

/// What makes a word that of several.
pub(crate) fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// 1 if the whole is 0.
fn times(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() {
        return 1.0;
    }
    ratio(part, whole)
}

/// 0 if the whole is.
pub(crate) fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() {
        return 0.0;
    }
    part.as_secs_f64() / whole.as_secs_f64()
}
