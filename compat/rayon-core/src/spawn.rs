//! Closures that nobody waits for.
//!
//! Unsafe: a job lives until it is performed; the pool sees to that, because a job is one of its users.

use crate::global;
use crate::job::{Awaited, HeapJob, JobRef};
use crate::registry::Registry;
use crate::worker::WorkerThread;
use std::sync::Arc;

/// Runs a closure on the calling thread's pool, or on the global one, at some time.
///
/// A thread runs what it has spawned newest first.
///
/// # Panics
/// Not here. A panic of the closure goes to the pool's panic handler; without one the process aborts.
///
/// # Examples
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_in(func, &global::current());
}

/// As [`spawn`]; a thread runs what it has spawned so oldest first.
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_fifo_in(func, &global::current());
}

pub(crate) fn spawn_in<F>(func: F, registry: &Arc<Registry>)
where
    F: FnOnce() + Send + 'static,
{
    let job = detached(func, registry);
    match WorkerThread::current_in(registry) {
        Some(worker) => worker.push_detached(job),
        None => registry.inject(job),
    }
}

pub(crate) fn spawn_fifo_in<F>(func: F, registry: &Arc<Registry>)
where
    F: FnOnce() + Send + 'static,
{
    let job = detached(func, registry);
    match WorkerThread::current_in(registry) {
        // SAFETY: the pool has one more user until the job has been performed.
        Some(worker) => unsafe { worker.push_detached_fifo(job) },
        None => registry.inject(job),
    }
}

/// A job for a closure that nobody waits for. It is a user of its pool until it has run and has dropped what it captures.
pub(crate) fn detached<F>(func: F, registry: &Arc<Registry>) -> JobRef
where
    F: FnOnce() + Send + 'static,
{
    registry.add_user();
    let registry = Arc::clone(registry);
    let closure = move || {
        registry.handlers().catch_unwind(func);
        registry.remove_user();
    };
    // SAFETY: it borrows nothing, and a pool runs all that was queued before it ends.
    unsafe { HeapJob::job(Awaited::NOBODY, closure) }
}
