//! One closure on every thread of a pool.

use crate::global;
use crate::latch::CountLatch;
use crate::registry::Registry;
use crate::spawn::detached;
use crate::stack_job::StackJob;
use crate::worker::WorkerThread;
use std::fmt;
use std::iter;
use std::marker::PhantomData;
use std::sync::Arc;

/// Runs `op` on every thread of the calling thread's pool, or of the global one, and returns the results in the
/// order of the threads' indices.
///
/// Each thread runs it when it has nothing of its own left, before it takes work from others.
///
/// # Panics
/// If `op` does on any thread; it runs on the others all the same.
///
/// # Examples
/// ```
/// let squares = rayon_core::broadcast(|context| context.index() * context.index());
/// assert_eq!(squares.len(), rayon_core::current_num_threads());
/// assert_eq!(squares.last(), Some(&((squares.len() - 1) * (squares.len() - 1))));
/// ```
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    // A worker of manyhands runs its own part, as a thread of the pool.
    let _lent = match WorkerThread::current() {
        Some(_) => None,
        None => global::lend_slot(),
    };
    broadcast_in(op, &global::current())
}

/// Runs `op` on every thread of the calling thread's pool, or of the global one, at some time.
///
/// # Panics
/// Not here. A panic of the closure goes to the pool's panic handler; without one the process aborts.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    spawn_broadcast_in(op, &global::current());
}

/// What a broadcast closure learns.
pub struct BroadcastContext<'a> {
    worker: &'a WorkerThread,
    /// Neither `Send` nor covariant.
    here: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    /// Calls `f` with the context of the calling thread, which has a slot.
    pub(crate) fn with<R>(f: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        let worker = WorkerThread::current().expect("jobs run on threads in a slot");
        f(BroadcastContext {
            worker,
            here: PhantomData,
        })
    }

    /// The index of the calling thread in its pool.
    #[inline]
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// The number of threads of the pool.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.worker.registry().num_threads()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .field("pool_id", &self.worker.registry().id())
            .finish()
    }
}

pub(crate) fn broadcast_in<OP, R>(op: OP, registry: &Arc<Registry>) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let count = registry.num_threads();
    let current = WorkerThread::current();
    let all = CountLatch::new(count, current, registry);
    let jobs: Vec<_> = (0..count)
        .map(|_| StackJob::new(&all, |_| BroadcastContext::with(&op)))
        .collect();
    registry.inject_broadcast(&jobs.iter().map(StackJob::as_job).collect::<Vec<_>>());
    match current {
        Some(worker) => worker.wait_until(all.latch()),
        None => all.latch().wait_outside(),
    }
    jobs.into_iter().map(StackJob::into_result).collect()
}

pub(crate) fn spawn_broadcast_in<OP>(op: OP, registry: &Arc<Registry>)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let jobs = shared(op, registry.num_threads()).map(|op| detached(op, registry));
    registry.inject_broadcast(&jobs.collect::<Vec<_>>());
}

/// `op` for each of `count` threads. The last one that has run it drops what it captures.
pub(crate) fn shared<OP>(op: OP, count: usize) -> impl Iterator<Item = impl FnOnce() + Send>
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync,
{
    iter::repeat_n(Arc::new(op), count)
        .map(|op| move || BroadcastContext::with(|context| op(context)))
}
