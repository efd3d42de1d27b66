//! The report of a stall: which thread waits for what.
//!
//! Not here: detecting it (`stalled.rs`), and reading what the threads wait for (`stalled_threads.rs`).

use crate::runtime::ThreadChangeReason;
use std::fmt;
use std::panic::Location;

/// Work waits, every thread is blocked, and none may be added; given to the hook of
/// [`RuntimeBuilder::on_stall`](crate::RuntimeBuilder::on_stall).
///
/// # Examples
/// The only thread waits for a message, and there may be no other one to run what is queued:
/// ```
/// use manyhands::diagnostics::{ThreadChangeReason, Wait};
/// use manyhands::{Runtime, task};
/// use std::sync::mpsc;
/// let (reports, stalls) = mpsc::channel();
/// let runtime = Runtime::builder()
///     .workers(1)
///     .max_threads(1)
///     .on_stall(move |stall| drop(reports.send(stall.clone())))
///     .build()?;
/// let (go, gate) = mpsc::channel();
/// let waiting = runtime.install(|| task::run(move || task::blocking(|| gate.recv())));
/// let behind = runtime.install(|| task::run(|| ()));
/// let stall = stalls.recv().unwrap();
/// assert_eq!((stall.reason, stall.threads), (ThreadChangeReason::LimitReached, 1));
/// let blocked = stall.blocked[0];
/// assert_eq!((blocked.worker, blocked.waits), (Some(0), Wait::Declared));
/// assert_eq!(blocked.task.map(|place| place.line()), Some(waiting.location().line()));
/// go.send(()).unwrap();
/// waiting.join().unwrap().unwrap();
/// behind.join().unwrap();
/// # Ok::<(), manyhands::BuildError>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Stall {
    /// Why no thread can be added.
    pub reason: ThreadChangeReason,
    /// Worker threads that exist.
    pub threads: usize,
    /// The threads that are blocked inside a piece of work, external threads included.
    pub blocked: Vec<StalledThread>,
}

/// A thread that is blocked inside a piece of work.
///
/// Example: see [`Stall`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct StalledThread {
    /// Its number among the workers; `None` for an external thread.
    pub worker: Option<usize>,
    /// Where the task that it runs was spawned, if it runs one.
    pub task: Option<&'static Location<'static>>,
    /// What it waits for.
    pub waits: Wait,
}

/// What a thread waits for.
///
/// Example: see [`Stall`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// For work that this worker runs.
    Worker(usize),
    /// It is in a declared wait: one of this library, or [`task::blocking`](crate::task::blocking).
    Declared,
    /// Something that the library does not know.
    Unknown,
}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.reason {
            ThreadChangeReason::NotStarted => "because the system starts no more",
            _ => "because the limit is reached",
        };
        match self.threads {
            0 => write!(f, "work waits, there is no thread")?,
            1 => write!(f, "work waits, the only thread is blocked")?,
            threads => write!(f, "work waits, all {threads} threads are blocked")?,
        }
        write!(f, ", and none is added {why}")?;
        for thread in self.blocked.iter().take(SHOWN_MAX) {
            write!(f, "; {thread}")?;
        }
        match self.blocked.len().saturating_sub(SHOWN_MAX) {
            0 => Ok(()),
            more => write!(f, "; {more} more"),
        }
    }
}

impl fmt::Display for StalledThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.worker {
            Some(worker) => write!(f, "worker {worker}")?,
            None => write!(f, "a caller from outside")?,
        }
        if let Some(task) = self.task {
            write!(f, " in the task of {task}")?;
        }
        match self.waits {
            Wait::Worker(worker) => write!(f, " waits for worker {worker}"),
            Wait::Declared => write!(f, " waits"),
            Wait::Unknown => write!(f, " sleeps in the kernel"),
        }
    }
}

/// Threads that are named in one line.
const SHOWN_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_says_how_many_threads_are_blocked() {
        let text = |threads| {
            let stall = Stall {
                reason: ThreadChangeReason::NotStarted,
                threads,
                blocked: Vec::new(),
            };
            stall.to_string()
        };
        let why = "and none is added because the system starts no more";
        assert_eq!(text(0), format!("work waits, there is no thread, {why}"));
        assert_eq!(
            text(1),
            format!("work waits, the only thread is blocked, {why}")
        );
        assert_eq!(
            text(2),
            format!("work waits, all 2 threads are blocked, {why}")
        );
    }
}
