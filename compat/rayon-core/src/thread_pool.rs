//! A pool with threads of its own, and what a thread of any pool may ask.

use crate::broadcast::{BroadcastContext, broadcast_in, spawn_broadcast_in};
use crate::registry::Registry;
use crate::scope::{in_place_scope_fifo_in, in_place_scope_in};
use crate::spawn::{spawn_fifo_in, spawn_in};
use crate::worker::WorkerThread;
use crate::{Scope, ScopeFifo, Yield, call, global, join, scope, scope_fifo};
use std::fmt;
use std::sync::Arc;

/// A pool with threads of its own. Made by [`ThreadPoolBuilder`](crate::ThreadPoolBuilder).
///
/// # Dropping
/// The threads end when they have run all that was spawned. Dropping does not wait for that.
///
/// # Examples
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let index = pool.install(|| rayon_core::current_thread_index().unwrap());
/// assert!(index < 2);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    pub(crate) registry: Arc<Registry>,
}

impl ThreadPool {
    /// Runs `op` on a thread of this pool, and waits. What `op` calls uses this pool.
    ///
    /// # Panics
    /// If `op` does.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        call::in_pool(&self.registry, |_, _| op())
    }

    /// As [`broadcast`](crate::broadcast()), in this pool.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast_in(op, &self.registry)
    }

    /// The number of threads.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// The index of the calling thread, if it is one of this pool.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        WorkerThread::current_in(&self.registry).map(WorkerThread::index)
    }

    /// Whether the calling thread has spawned what still waits, if it is one of this pool.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        WorkerThread::current_in(&self.registry).map(WorkerThread::has_pending)
    }

    /// As [`join`](crate::join()), in this pool.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| join(oper_a, oper_b))
    }

    /// As [`scope`](crate::scope()), in this pool.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope(op))
    }

    /// As [`scope_fifo`](crate::scope_fifo()), in this pool.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope_fifo(op))
    }

    /// As [`in_place_scope`](crate::in_place_scope()); closures run in this pool.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        in_place_scope_in(&self.registry, op)
    }

    /// As [`in_place_scope_fifo`](crate::in_place_scope_fifo()); closures run in this pool.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        in_place_scope_fifo_in(&self.registry, op)
    }

    /// As [`spawn`](crate::spawn()), in this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn_in(op, &self.registry);
    }

    /// As [`spawn_fifo`](crate::spawn_fifo()), in this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn_fifo_in(op, &self.registry);
    }

    /// As [`spawn_broadcast`](crate::spawn_broadcast()), in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        spawn_broadcast_in(op, &self.registry);
    }

    /// As [`yield_now`](crate::yield_now()), if the calling thread is one of this pool.
    pub fn yield_now(&self) -> Option<Yield> {
        WorkerThread::current_in(&self.registry).map(WorkerThread::yield_now)
    }

    /// As [`yield_local`](crate::yield_local()), if the calling thread is one of this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        WorkerThread::current_in(&self.registry).map(WorkerThread::yield_local)
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.registry.remove_user();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &self.registry.id())
            .finish()
    }
}

/// The number of threads of the calling thread's pool, or of the global one if it has none.
pub fn current_num_threads() -> usize {
    match WorkerThread::current() {
        Some(worker) => worker.registry().num_threads(),
        None => global::registry().num_threads(),
    }
}

/// The index of the calling thread in its pool; `None` if it is in none. No two threads of a pool have the same
/// index at the same time.
///
/// # Examples
/// ```
/// assert_eq!(rayon_core::current_thread_index(), None);
/// let index = rayon_core::scope(|_| rayon_core::current_thread_index());
/// assert!(index < Some(rayon_core::current_num_threads()));
/// ```
#[inline]
pub fn current_thread_index() -> Option<usize> {
    WorkerThread::current().map(WorkerThread::index)
}

/// Whether the calling thread has spawned what still waits; `None` if it is in no pool.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    WorkerThread::current().map(WorkerThread::has_pending)
}

/// Runs one piece of work of the calling thread's pool, if there is one; `None` if the thread is in no pool.
pub fn yield_now() -> Option<Yield> {
    WorkerThread::current().map(WorkerThread::yield_now)
}

/// Runs one piece of work of the calling thread's own, if there is one; `None` if the thread is in no pool.
pub fn yield_local() -> Option<Yield> {
    WorkerThread::current().map(WorkerThread::yield_local)
}
