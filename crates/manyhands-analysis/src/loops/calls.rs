//! The report of an async loop, as far as it differs from that of other loops: the calls that ran at once, and what their
//! number waited for.
//!
//! Not here: what kept the loop from being faster (`calls_verdict.rs`), and how it is counted
//! (`recording/enabled/loops/calls_account.rs` of the library).

use std::time::Duration;

/// The calls of an async loop: its items, each from when it begins to its end, also while it waits for a worker.
///
/// Example: see `inspect::last_loop` of the library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallsReport {
    /// How many were in flight when the first one ended.
    pub first_at_once: usize,
    /// How many were in flight at most.
    pub most_at_once: usize,
    /// The time of all, summed.
    pub in_flight: Duration,
    /// How many could run at once at first.
    pub allowed_first: usize,
    /// How many could run at once at most.
    pub allowed_most: usize,
    /// Where the number that could run at once at the end came from.
    pub limit: CallLimit,
    /// The last comparison that kept the number from rising; `None` if there was none.
    pub trial: Option<LevelTrial>,
    /// What a call took at first: the median of the first ones that ended, at most 32.
    pub took_first: Duration,
    /// What a call took at the end: the median of the last ones that ended, at most 32.
    pub took_last: Duration,
    /// The longest call.
    pub longest: Duration,
    /// How long as many were in flight as could be.
    pub full_for: Duration,
    /// How long more could have begun, but the source had no item ready.
    pub waited_for_source: Duration,
    /// How long no more began because results waited to be taken.
    pub waited_for_consumer: Duration,
    /// How long the last ones ran, when there were no more items.
    pub without_items_for: Duration,
}

/// Where the number of calls at a time of an async loop came from.
///
/// Example: see `inspect::last_loop` of the library.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallLimit {
    /// The caller has set it, or the highest one.
    Set,
    /// The loop has found it: more calls at a time were not worth it.
    Found,
    /// It is the highest that a loop tries by itself, 1,024.
    Highest,
    /// The loop ended before it was found.
    #[default]
    NotFound,
}

/// How two numbers of calls at a time of an async loop compare. The greater one was not worth it.
///
/// Example: see `inspect::last_loop` of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelTrial {
    /// The lower number.
    pub fewer: usize,
    /// The time from the end of one call to that of the next with it.
    pub fewer_every: Duration,
    /// The greater number.
    pub more: usize,
    /// The same with that.
    pub more_every: Duration,
}

/// The comparison of two numbers of calls at a time, the lower one first, each with the time from the end of one call to that
/// of the next.
#[must_use]
pub fn level_trial([fewer, more]: [(usize, Duration); 2]) -> LevelTrial {
    LevelTrial {
        fewer: fewer.0,
        fewer_every: fewer.1,
        more: more.0,
        more_every: more.1,
    }
}
