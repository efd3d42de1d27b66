//! Long jobs, as users see them: computations that keep a worker while every place is taken.
//!
//! Not here: detecting them (`starved.rs`).

use std::panic::Location;
use std::time::{Duration, Instant};

/// A computation that kept a worker for more than 10 ms while every place was taken, whether or not other work waited; see
/// [`Runtime::long_jobs`](crate::Runtime::long_jobs).
///
/// Example: see [`Runtime::long_jobs`](crate::Runtime::long_jobs).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LongJob {
    /// When it was noticed.
    pub at: Instant,
    /// How long it had been running then, as far as the monitor saw.
    pub running_for: Duration,
    /// The worker that it keeps; `None` for an external thread.
    pub worker: Option<usize>,
    /// Where the task was spawned, if it is a task.
    pub task: Option<&'static Location<'static>>,
}
