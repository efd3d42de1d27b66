//! A loop that runs, as plain values.

use crate::recording::enabled::TaskNumber;
use std::panic::Location;
use std::time::Duration;

/// A parallel loop or query, or an async loop, that runs now.
///
/// # Examples
/// A body that looks at its own loop:
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::{inspect, parallel};
/// manyhands::diagnostics::open();
/// parallel::Options::new().degree_of_parallelism(1).unwrap().for_each(0..3_u64, |_| {
///     let loops = inspect::snapshot().loops;
///     let own = loops.iter().find(|running| running.items == Some(3)).unwrap();
///     assert_eq!((own.runners, own.called_at.file()), (1, file!()));
/// });
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopSnapshot {
    /// The function or closure that is its body, or, if that is not found, the type of what takes the items.
    pub body: &'static str,
    /// The line that called it; of a query the one that asked for the result, of an async loop the one that made it.
    pub called_at: &'static Location<'static>,
    /// How many items it has; `None` of a loop over an iterator and of an async loop.
    pub items: Option<u64>,
    /// How many of them have been run. Those of a block are counted when the whole block has been run.
    pub done: u64,
    /// How many threads run it now; of an async loop how many of its items run.
    pub runners: usize,
    /// How many threads can run it, 1 until it is opened to others; of an async loop how many items can run at once.
    pub threads: usize,
    /// The task that has called it.
    pub task: Option<TaskNumber>,
    /// How long ago it began.
    pub age: Duration,
}
