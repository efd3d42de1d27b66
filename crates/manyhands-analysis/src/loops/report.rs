//! The report that a loop leaves, with its runners.
//!
//! Not here: what kept the loop from being faster (`verdict.rs`), and how it is added up (`part.rs`).

use crate::loops::calls::CallsReport;
use std::panic::Location;
use std::time::Duration;

/// How a loop ran; given by `last_loop` of the library. As text it is two sentences: what happened, and
/// what kept the loop from being faster.
///
/// Example: see `inspect::last_loop` of the library.
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
    /// It was cancelled or stopped, a body has failed or panicked, or no more items were wanted, perhaps at its last item. How
    /// many items ran is then known by blocks only.
    pub is_stopped: bool,
    /// It has panicked.
    pub has_panicked: bool,
    /// How long the call took; of an async loop, the time from the first poll to the end of the last item.
    pub elapsed: Duration,
    /// The threads that joined it, in the order in which they ended. One that joined late may have run no item.
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
/// Example: see `inspect::last_loop` of the library.
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
    /// How many items it ran. Of a loop that was stopped, a block counts with all its items although some may not have run, and
    /// one in which a body has panicked does not count.
    pub items: u64,
    /// In how many blocks. A block is what a runner takes at a time, about 10 µs of items.
    pub blocks: u64,
    /// Its longest block.
    pub longest_block: BlockReport,
}

/// A block of items that one thread has run.
///
/// Example: see `inspect::last_loop` of the library.
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
/// Example: see `inspect::last_loop` of the library.
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

/// Why a loop ran on its caller alone.
///
/// Example: see `inspect::last_loop` of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AloneBecause {
    /// All calls from this place were so short that nothing is measured any more.
    AlwaysShort,
    /// What was left never paid for handing it over.
    TooShort,
    /// One runner is what the caller asked for.
    OneAllowed,
    /// To take an item from the iterator, which one thread can do at a time, took longer than its body.
    SourceSlow,
    /// Earlier calls from this place became slower when they were shared.
    SharingHurt,
    /// Too many loops, scopes and invokes of this thread are open, or the thread has no place among the external ones.
    NoPlace,
}
