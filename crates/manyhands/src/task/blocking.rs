//! Declared blocking.

use crate::runtime::blocking_outside;

/// Runs `closure`, which may block the thread, on the calling thread; on a thread of the pool, another worker
/// runs in its place meanwhile.
///
/// For files, foreign locks, calls of other libraries: all waits outside of this library. The waits
/// of this library, such as on a channel or [`JoinHandle::join`](super::JoinHandle::join), declare themselves. The
/// monitor also detects undeclared blocking, but that takes it some milliseconds.
///
/// `task::run(|| task::blocking(|| …))` is what other libraries call `spawn_blocking`: there is no second
/// pool. Threads are added up to the limit given by [`RuntimeBuilder::max_threads`](crate::RuntimeBuilder::max_threads), and
/// end when they are not needed any more.
///
/// While the closure runs, other workers may take the worker's queued tasks, and the monitor fires its timers;
/// only tasks that no other worker may run, those of [`spawn_local`](super::spawn_local), wait.
/// A long computation is no reason to call this: it needs the processor that its worker has.
///
/// # Cost
/// Two atomic read-modify-writes if nothing else is to be done; a wake-up, or the start of a thread, if
/// work waits.
///
/// # Panics
/// If `closure` does.
///
/// # Examples
/// ```
/// use manyhands::task;
/// let read = task::run(|| task::blocking(|| std::fs::read_to_string("/dev/null")));
/// assert!(read.join().unwrap().is_ok_and(|text| text.is_empty()));
/// ```
#[doc(alias("block_in_place", "spawn_blocking", "unblock"))]
pub fn blocking<R>(closure: impl FnOnce() -> R) -> R {
    blocking_outside(closure)
}
