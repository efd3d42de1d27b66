//! How many calls of an async loop may run at once, and why it begins no more: what the loop tells its record.
//!
//! Not here: what is made of it (`recording/enabled/loops/calls_account.rs`).

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

/// What an async loop knows at its end of the number of calls at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundConcurrency {
    /// How many may run.
    pub(crate) level: usize,
    /// How few and how many the caller allows.
    pub(crate) limits: (usize, usize),
    /// The most that a loop tries by itself.
    pub(crate) tried_most: usize,
    /// The two numbers that were compared last, the lower one first, each with the time from the end of one call to that of the
    /// next; `None` if the greater one was worth it.
    pub(crate) not_worth: Option<[(usize, Duration); 2]>,
}
