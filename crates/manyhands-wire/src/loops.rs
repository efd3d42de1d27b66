//! Loops that run, and the reports of those that have ended.

use serde::{Deserialize, Serialize};

/// A parallel loop that runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loop {
    /// The function that is its body, or in which the closure is written that is.
    #[serde(deserialize_with = "crate::text::without_closure")]
    pub body: String,
    /// File, line and column of the call.
    pub called_at: Option<String>,
    /// How many items it has; none if that is not known, of a loop over an iterator or an async one.
    pub items: Option<u64>,
    /// How many of them have been run.
    pub done: u64,
    /// How many threads run it now; of an async loop how many items.
    pub runners: usize,
    /// How many threads can run it, 1 until it is opened to others; of an async loop how many items.
    pub threads: usize,
    /// The number of the task that has called it.
    pub task: Option<String>,
    /// Microseconds since it began.
    pub age_us: u64,
}

/// How the last loop of a place ran that has ended, and what kept it from being faster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopReport {
    /// The function that is its body, or in which the closure is written that is.
    #[serde(deserialize_with = "crate::text::without_closure")]
    pub body: String,
    /// File, line and column of the call.
    pub called_at: String,
    /// `scaled`, `too_short`, `too_few_items`, `shared_late`, `long_item`, `bodies_slow_each_other`, `source_slow`,
    /// `helpers_elsewhere`, `off_processor`, `one_runner`, `no_place`; of async loops `concurrency_set` or
    /// `consumer_slow`; and of both `stopped`.
    pub verdict: String,
    /// A sentence: how it ran.
    pub ran: String,
    /// A sentence: what kept it from being faster.
    pub why: String,
    /// How many items it had, run or not.
    pub items: u64,
    /// In how many blocks items were run; 0 of an async loop.
    pub blocks: u64,
    /// How many threads have run items; of an async loop, how many calls were in flight at most.
    pub runners: usize,
    /// How many threads could have run it at once, fewer than `runners` where one was added for another that blocked; 1 if
    /// it was not opened to others. Of an async loop, how many calls could at its end.
    pub threads: usize,
    /// Microseconds that the call took.
    pub elapsed_us: u64,
    /// Microseconds that its runners ran items, summed.
    pub busy_us: u64,
    /// Microseconds in which the caller was alone.
    pub alone_us: u64,
    /// The time of the runner that worked longest, in per cent of the mean time; 100 is balanced.
    pub imbalance_percent: u64,
    /// The calls of an async loop.
    #[serde(default)]
    pub in_flight: Option<InFlight>,
    /// How many loops of this place have ended, since the program keeps its reports.
    pub calls: u64,
    /// Microseconds since it has ended.
    pub ended_us: u64,
}

/// The calls of an async loop that were in flight at the same time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// How many when the first one ended.
    pub first: usize,
    /// How many at most.
    pub most: usize,
    /// Their mean number, in hundredths.
    pub mean_percent: u64,
    /// Where the number that could run at once came from: `set`, `found`, `highest` or `not_found`.
    pub limit: String,
    /// Microseconds that one of the first calls took, the median.
    pub first_us: u64,
    /// Microseconds that one of the last calls took, the median.
    pub last_us: u64,
}
