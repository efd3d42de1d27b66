//! The report of a loop: its runners, and the numbers that follow from what they did.
//!
//! Not here: what kept the loop from being faster (`verdict.rs`).

use crate::inspect::alone::AloneBecause;
use crate::inspect::calls_report::CallsReport;
use std::panic::Location;
use std::time::Duration;

/// How a loop ran; given by [`last_loop`](crate::inspect::last_loop). As text it is two sentences: what happened, and
/// what kept the loop from being faster.
///
/// Example: see [`last_loop`](crate::inspect::last_loop).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopReport {
    /// The function or closure that is its body, or, if that is not found, the type of what takes the items.
    pub body: &'static str,
    /// The line that called it; of a query the one that asked for the result.
    pub called_at: &'static Location<'static>,
    /// How many items it had; of one over an iterator, how many it took from that, run or not; of an async loop, how many
    /// have ended.
    pub items: u64,
    /// How long the call took; of an async loop, the time from the first poll to the end of the last item.
    pub elapsed: Duration,
    /// Who ran them, in the order in which they ended.
    pub runners: Vec<RunnerReport>,
    /// How many threads could have run it at once; 1 if it was not opened to others. Of an async loop, how many calls could
    /// run at once at the end.
    pub threads: usize,
    /// When others could first join, from the beginning of the call on; `None` if they never could.
    pub opened_after: Option<Duration>,
    /// What the caller did before others could join; `None` if the loop was opened at once.
    pub before_opening: Option<RunnerReport>,
    /// Why it ran on its caller alone; `None` if it was opened to others.
    pub alone_because: Option<AloneBecause>,
    /// The comparison of bodies that run alone with bodies that run beside others; `None` if there was none.
    pub trial: Option<TrialReport>,
    /// Of an async loop its calls; such a loop has no runners.
    pub calls: Option<CallsReport>,
}

/// What one thread did for a loop.
///
/// Example: see [`last_loop`](crate::inspect::last_loop).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunnerReport {
    /// It is the thread that called the loop.
    pub is_caller: bool,
    /// Its number among the workers; `None` for an external thread, and for the caller of a loop that was not shared.
    pub worker: Option<usize>,
    /// When it joined, from the beginning of the call on.
    pub joined_after: Duration,
    /// When it had run its last block, or found that the iterator has no more items.
    pub left_after: Duration,
    /// How long it ran items.
    pub worked: Duration,
    /// How long it took items from an iterator, and waited for its turn at it; zero for a loop over positions, and while
    /// the caller of one over an iterator is alone, which takes each item as it runs it.
    pub took_items: Duration,
    /// How long it was not on a processor meanwhile, because a body blocked or other threads ran there; `None` if the
    /// system does not say.
    pub off_processor: Option<Duration>,
    /// How many items it ran.
    pub items: u64,
    /// In how many blocks. A block is what a runner takes at a time, about 10 µs of items.
    pub blocks: u64,
    /// Its longest block.
    pub longest_block: BlockReport,
}

/// A block of items that one thread has run.
///
/// Example: see [`last_loop`](crate::inspect::last_loop).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockReport {
    /// How long it took.
    pub took: Duration,
    /// How many items it had.
    pub items: u64,
    /// How many items its runner had run before.
    pub items_before: u64,
    /// How long those took.
    pub took_before: Duration,
}

/// How bodies that run alone compare with bodies that run beside others.
///
/// Example: see [`last_loop`](crate::inspect::last_loop).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrialReport {
    /// The time of 1,024 items on one thread, nobody else running any.
    pub alone: Duration,
    /// The time of 1,024 items on each of several threads.
    pub shared: Duration,
    /// How many threads those were.
    pub runners: usize,
    /// One thread was faster than all of them together.
    pub is_contended: bool,
}

impl LoopReport {
    /// The time of the runner that worked longest, divided by the mean time of all; 1 is balanced.
    ///
    /// Example: see [`last_loop`](crate::inspect::last_loop).
    #[must_use]
    pub fn imbalance(&self) -> f64 {
        let longest = self.runners.iter().map(|runner| runner.worked).max();
        let mean = self.worked().as_secs_f64() / self.runners.len().max(1) as f64;
        match longest {
            Some(longest) if mean > 0.0 => longest.as_secs_f64() / mean,
            _ => 1.0,
        }
    }

    /// The part of the time, between 0 and 1, in which the caller was alone: until the first helper joined, or all of it; 0 of
    /// an async loop.
    ///
    /// Example: see [`last_loop`](crate::inspect::last_loop).
    #[must_use]
    pub fn alone_share(&self) -> f64 {
        if self.elapsed.is_zero() {
            return 1.0;
        }
        ratio(self.alone_for(), self.elapsed)
    }

    /// How many threads ran items on average: the time of all runners, divided by the time of the call. Of an async loop, how
    /// many calls were in flight on average.
    ///
    /// Example: see [`last_loop`](crate::inspect::last_loop).
    #[must_use]
    pub fn mean_runners(&self) -> f64 {
        ratio(self.worked(), self.elapsed)
    }

    /// How many rounds it takes to run items of the same length on all threads; no loop of such items ends earlier.
    ///
    /// Example: see [`last_loop`](crate::inspect::last_loop).
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.items.div_ceil(self.threads.max(1) as u64)
    }

    /// The part of the runners' time, between 0 and 1, in which they were not on a processor; `None` if the system does not
    /// say, and of an async loop. The time from when the last of them had left to the end counts too: there was nothing left to do.
    ///
    /// Example: see [`last_loop`](crate::inspect::last_loop).
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
    pub(super) fn after_last(&self) -> Duration {
        let runners = u32::try_from(self.runners.len()).unwrap_or(u32::MAX);
        self.last_left()
            .map_or(Duration::ZERO, |end| self.elapsed.saturating_sub(end))
            * runners
    }

    /// When the last runner left that has done anything.
    pub(super) fn last_left(&self) -> Option<Duration> {
        let runners = self.runners.iter();
        let busy = runners.filter(|runner| !(runner.worked + runner.took_items).is_zero());
        busy.map(|runner| runner.left_after).max()
    }

    /// How long the caller was alone.
    pub(super) fn alone_for(&self) -> Duration {
        if self.calls.is_some() {
            return Duration::ZERO;
        }
        let first = self.helpers().map(|helper| helper.joined_after).min();
        first.map_or(self.elapsed, |first| first.min(self.elapsed))
    }

    /// The time of all runners, or of all calls.
    pub(super) fn worked(&self) -> Duration {
        match &self.calls {
            Some(calls) => calls.in_flight,
            None => self.runners.iter().map(|runner| runner.worked).sum(),
        }
    }

    /// How long its runners took items, or waited for that.
    pub(super) fn took_items(&self) -> Duration {
        self.runners.iter().map(|runner| runner.took_items).sum()
    }

    pub(super) fn blocks(&self) -> u64 {
        self.runners.iter().map(|runner| runner.blocks).sum()
    }

    pub(super) fn helpers(&self) -> impl Iterator<Item = &RunnerReport> {
        self.runners.iter().filter(|runner| !runner.is_caller)
    }

    /// The longest block of all runners.
    pub(super) fn longest_block(&self) -> Option<BlockReport> {
        let blocks = self.runners.iter().map(|runner| runner.longest_block);
        blocks.max_by_key(|block| block.took)
    }
}

impl BlockReport {
    /// How many times as long an item of this block takes as one before it; 1 if there is none before.
    ///
    /// Example: see [`last_loop`](crate::inspect::last_loop).
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
    /// Example: see [`last_loop`](crate::inspect::last_loop).
    #[must_use]
    pub fn times_slower(&self) -> f64 {
        if self.alone.is_zero() {
            return 1.0;
        }
        ratio(self.shared, self.alone)
    }
}

/// What makes a word that of several.
pub(super) fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// 0 if the whole is.
pub(super) fn ratio(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() {
        return 0.0;
    }
    part.as_secs_f64() / whole.as_secs_f64()
}
