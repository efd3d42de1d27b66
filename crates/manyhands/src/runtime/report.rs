//! What a runtime's end left undone, as users see it.
//!
//! Not here: the end (`ending.rs`).

use crate::runtime::WorkerSlot;
use crate::sync::lock;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// What a shutdown left undone.
///
/// # Examples
/// ```
/// use manyhands::{Runtime, task};
/// let runtime = Runtime::builder().workers(1).build()?;
/// let (started, start) = std::sync::mpsc::channel();
/// let waiting = runtime.install(|| {
///     task::spawn(async move {
///         started.send(()).unwrap();
///         std::future::pending::<()>().await;
///     })
/// });
/// start.recv().unwrap();
/// assert!(runtime.shutdown_blocking().dropped <= 1); // 0 if the future was still being polled
/// assert!(waiting.join().unwrap_err().is_cancelled());
/// # Ok::<(), manyhands::BuildError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Closures that had not started, and futures that were queued or waiting. They were dropped, and threads and
    /// tasks that await them get a cancellation error. A future that was being polled and wanted to wait is dropped
    /// too, but not counted.
    pub dropped: usize,
    /// What still runs, one entry for each worker that runs something: where the limit of
    /// [`shutdown_timeout_blocking`](crate::Runtime::shutdown_timeout_blocking) was over before, or where the runtime
    /// was shut down by one of its own workers.
    pub unfinished: Vec<UnfinishedWork>,
    /// Threads of workers that have not ended. Those that run nothing of `unfinished` are in a hook of the builder, or in the
    /// destructor of a task that was dropped, or stay for the call of a thread outside, or are about to end.
    pub threads: usize,
}

/// Work that a shutdown did not wait for any longer.
///
/// Example: see [`Runtime::shutdown_timeout_blocking`](crate::Runtime::shutdown_timeout_blocking).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnfinishedWork {
    /// The worker that runs it.
    pub worker: usize,
    /// Where the task was spawned. `None` for a part of a loop or a fork that another thread has begun.
    pub task: Option<&'static Location<'static>>,
    /// The name of the task, if it has one.
    pub name: Option<Arc<str>>,
}

impl UnfinishedWork {
    /// What the worker on this slot runs, if it runs anything.
    pub(super) fn on(slot: &'static WorkerSlot) -> Option<Self> {
        let worker = slot.worker()?;
        (slot.executions.outermost() != 0).then(|| Self {
            worker,
            task: slot.task(),
            name: lock(&slot.task_name).clone(),
        })
    }
}

impl fmt::Display for UnfinishedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {} runs ", self.worker)?;
        match (&self.name, self.task) {
            (Some(name), Some(task)) => write!(f, "the task `{name}` of {task}"),
            (None, Some(task)) => write!(f, "the task of {task}"),
            _ => write!(f, "a part of a loop or of a fork"),
        }
    }
}
