//! How many calls of an async loop may run at once, and why it begins no more: what the loop tells its record.
//!
//! Not here: what is made of it (`recording/enabled/loops/calls_report.rs`).

use std::time::{Duration, Instant};

/// What happens in an async loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AsyncLoopEvent {
    /// It is polled.
    PollBegins(Instant),
    /// One of this number of calls has ended.
    CallEnds { running: usize, taken: Duration },
    /// A poll ends: it begins no more calls for this reason, while `running` run of those that are allowed.
    PollEnds {
        because: BeginsNoMore,
        running: usize,
        allowed: usize,
        /// What it knows, if it is over.
        found: Option<FoundConcurrency>,
        now: Instant,
    },
    /// A result is given away: until the next poll it is the taker's.
    GivesResult,
    /// It ends its calls.
    Stops,
}

/// Why an async loop begins no more calls at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BeginsNoMore {
    /// As many run as may.
    Full,
    /// The source has none yet, and wakes the loop.
    SourcePending,
    /// The source takes long for each.
    SourceBusy,
    /// As many results wait to be taken as may.
    Consumer,
    /// There are no more.
    SourceEnded,
}

/// What an async loop knows at its end of the number of calls at a time: where it came from, and the last comparison.
pub(crate) type FoundConcurrency = (CallLimit, Option<LevelTrial>);

/// Where the number of calls at a time of an async loop came from.
///
/// Example: see [`last_loop`](crate::inspect::last_loop).
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
/// Example: see [`last_loop`](crate::inspect::last_loop).
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
