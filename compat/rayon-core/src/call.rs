//! Calls into a pool, which return when a thread there has run what was called.

use crate::latch::Latch;
use crate::registry::Registry;
use crate::stack_job::StackJob;
use crate::worker::WorkerThread;

/// Calls `op` on a thread with a slot in this pool: on the calling one if it has, else on any. `op` gets whether it was
/// sent there.
pub(crate) fn in_pool<OP, R>(registry: &Registry, op: OP) -> R
where
    OP: FnOnce(&WorkerThread, bool) -> R + Send,
    R: Send,
{
    match WorkerThread::current() {
        Some(worker) if worker.registry().id() == registry.id() => op(worker, false),
        worker => send(registry, worker, op),
    }
}

/// Sends `op` to a pool and waits there, or as an external thread.
pub(crate) fn send<OP, R>(registry: &Registry, worker: Option<&WorkerThread>, op: OP) -> R
where
    OP: FnOnce(&WorkerThread, bool) -> R + Send,
    R: Send,
{
    let job = StackJob::new(Latch::new(worker, registry), |_| {
        let there = WorkerThread::current().expect("jobs run on threads in a slot");
        op(there, true)
    });
    registry.inject(job.as_job());
    match worker {
        Some(worker) => worker.wait_until(job.latch()),
        None => job.latch().wait_outside(),
    }
    job.into_result()
}
