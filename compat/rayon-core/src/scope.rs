//! Any number of closures that borrow, all finished when the scope ends.
//!
//! Not here: the wait (`wait.rs`).
//!
//! Unsafe: closures borrow for `'scope`, which is erased in queues; a scope is left only when all have run.

use crate::broadcast::{self, BroadcastContext};
use crate::global::{self, in_worker};
use crate::job::{FifoQueue, HeapJob, JobRef};
use crate::latch::CountLatch;
use crate::registry::Registry;
use crate::unwind::{Payload, discard, halt_unwinding};
use crate::worker::WorkerThread;
use std::fmt;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Spawns closures that may borrow what outlives the scope. Made by [`scope`].
pub struct Scope<'scope> {
    base: ScopeBase<'scope>,
}

/// Spawns closures that each thread runs oldest first. Made by [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    base: ScopeBase<'scope>,
    /// For each slot, what its thread has spawned.
    queues: Box<[FifoQueue]>,
}

struct ScopeBase<'scope> {
    registry: Arc<Registry>,
    /// The body, and the closures that have not run to their ends.
    running: CountLatch,
    /// The first of their panics.
    panic: Mutex<Option<Payload>>,
    /// Invariant in `'scope`.
    borrows: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

/// Calls `op` in a pool with a scope that spawns closures, and returns when all of these have finished.
///
/// A thread runs what it has spawned newest first.
///
/// # Panics
/// If `op` or a closure does; all closures run all the same.
///
/// # Examples
/// ```
/// let mut squares = [1, 2, 3, 4];
/// rayon_core::scope(|s| {
///     for square in &mut squares {
///         s.spawn(move |_| *square *= *square);
///     }
/// });
/// assert_eq!(squares, [1, 4, 9, 16]);
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_worker(|worker, _| {
        let scope = Scope::new(Some(worker), worker.registry());
        scope.base.complete(Some(worker), || op(&scope))
    })
}

/// As [`scope`]; a thread runs what it has spawned oldest first.
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    in_worker(|worker, _| ScopeFifo::run(Some(worker), worker.registry(), op))
}

/// As [`scope`]; `op` runs on the calling thread, even if that is in no pool.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    match WorkerThread::current() {
        Some(worker) => in_place_scope_in(worker.registry(), op),
        None => in_place_scope_in(global::registry(), op),
    }
}

/// As [`scope_fifo`]; `op` runs on the calling thread, even if that is in no pool.
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    match WorkerThread::current() {
        Some(worker) => in_place_scope_fifo_in(worker.registry(), op),
        None => in_place_scope_fifo_in(global::registry(), op),
    }
}

pub(crate) fn in_place_scope_in<'scope, OP, R>(registry: &Arc<Registry>, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    let worker = WorkerThread::current();
    let scope = Scope::new(worker, registry);
    scope.base.complete(worker, || op(&scope))
}

pub(crate) fn in_place_scope_fifo_in<'scope, OP, R>(registry: &Arc<Registry>, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    ScopeFifo::run(WorkerThread::current(), registry, op)
}

impl<'scope> Scope<'scope> {
    fn new(owner: Option<&WorkerThread>, registry: &Arc<Registry>) -> Self {
        Self {
            base: ScopeBase::new(owner, registry),
        }
    }

    /// Runs `body` in the scope's pool at some time before the scope ends. It may spawn more.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Self) + Send + 'scope,
    {
        let this = ScopePtr(self);
        let job = self.base.job(move || {
            // SAFETY: the scope waits for this closure.
            body(unsafe { this.get() });
        });
        let registry = &self.base.registry;
        match WorkerThread::current_in(registry) {
            Some(worker) => worker.push_spawned(job),
            None => registry.hand_over(job),
        }
    }

    /// Runs `body` on every thread of the scope's pool at some time before the scope ends. It may spawn more.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let this = ScopePtr(self);
        self.base.broadcast(move |context| {
            // SAFETY: the scope waits for this closure.
            body(unsafe { this.get() }, context);
        });
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Runs `body` in a scope of the calling thread, and waits for all closures.
    fn run<R>(
        owner: Option<&WorkerThread>,
        registry: &Arc<Registry>,
        body: impl FnOnce(&Self) -> R,
    ) -> R {
        let mut scope = Self {
            base: ScopeBase::new(owner, registry),
            queues: (0..registry.num_threads())
                .map(|_| FifoQueue::new())
                .collect(),
        };
        // The latch's name is its place, which is the last one only here.
        let awaited = scope.base.running.latch().awaited();
        for queue in &mut scope.queues {
            queue.set_awaited(awaited);
        }
        scope.base.complete(owner, || body(&scope))
    }

    /// Runs `body` in the scope's pool at some time before the scope ends. It may spawn more.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Self) + Send + 'scope,
    {
        let this = ScopePtr(self);
        let job = self.base.job(move || {
            // SAFETY: the scope waits for this closure.
            body(unsafe { this.get() });
        });
        let registry = &self.base.registry;
        match WorkerThread::current_in(registry) {
            Some(worker) => {
                // SAFETY: the scope, which has the queue, waits for the job.
                worker.push_spawned(unsafe { self.queues[worker.index()].push(job) });
            }
            None => registry.hand_over(job),
        }
    }

    /// Runs `body` on every thread of the scope's pool at some time before the scope ends. It may spawn more.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let this = ScopePtr(self);
        self.base.broadcast(move |context| {
            // SAFETY: the scope waits for this closure.
            body(unsafe { this.get() }, context);
        });
    }
}

impl<'scope> ScopeBase<'scope> {
    /// A scope of the calling thread, `owner` or an external one, whose closures run in `registry`.
    fn new(owner: Option<&WorkerThread>, registry: &Arc<Registry>) -> Self {
        Self {
            registry: Arc::clone(registry),
            running: CountLatch::new(1, owner, registry),
            panic: Mutex::new(None),
            borrows: PhantomData,
        }
    }

    /// Runs the body and waits for all closures.
    fn complete<R>(&self, owner: Option<&WorkerThread>, body: impl FnOnce() -> R) -> R {
        let value = halt_unwinding(body)
            .map_err(|payload| self.keep(payload))
            .ok();
        // SAFETY: this frame waits for the latch below, and knows how to wake itself.
        unsafe { CountLatch::decrement(&raw const self.running) };
        match owner {
            Some(worker) => worker.wait_until(self.running.latch()),
            None => self.running.latch().wait_outside(),
        }
        let panic = self.first_panic().take();
        match (panic, value) {
            (Some(payload), _) => resume_unwind(payload),
            (None, Some(value)) => value,
            (None, None) => unreachable!("a body without a value has panicked"),
        }
    }

    /// A job for a closure of this scope.
    fn job(&self, closure: impl FnOnce() + Send + 'scope) -> JobRef {
        self.running.increment();
        let this = ScopePtr(self);
        let awaited = self.running.latch().awaited();
        let closure = move || {
            // SAFETY: the closure is counted.
            unsafe { Self::execute(this, closure) };
        };
        // SAFETY: the scope waits until the closure has run, and `'scope` outlives the scope.
        unsafe { HeapJob::job(awaited, closure) }
    }

    fn broadcast(&self, body: impl Fn(BroadcastContext<'_>) + Send + Sync + 'scope) {
        let count = self.registry.num_threads();
        let jobs = broadcast::shared(body, count).map(|body| self.job(body));
        self.registry.inject_broadcast(&jobs.collect::<Vec<_>>());
    }

    /// Runs a closure of the scope and drops what it captures. The scope may be gone afterwards.
    ///
    /// # Safety
    /// The closure is counted, and runs on a thread of the scope's pool.
    unsafe fn execute(this: ScopePtr<Self>, closure: impl FnOnce()) {
        if let Err(payload) = halt_unwinding(closure) {
            // SAFETY: the scope waits for this closure.
            unsafe { this.get() }.keep(payload);
        }
        // SAFETY: as above.
        let running = unsafe { &raw const (*this.0).running };
        // SAFETY: 1. the scope waits for this closure. 2. As promised.
        unsafe { CountLatch::decrement(running) };
    }

    /// Keeps a panic if it is the first. Does not unwind.
    fn keep(&self, payload: Payload) {
        let mut first = self.first_panic();
        if first.is_none() {
            *first = Some(payload);
        } else {
            // Its destructor is the user's.
            drop(first);
            discard(payload);
        }
    }

    fn first_panic(&self) -> MutexGuard<'_, Option<Payload>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A scope, for closures that it waits for.
struct ScopePtr<T>(*const T);

impl<T> Clone for ScopePtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ScopePtr<T> {}

// SAFETY: a scope is shared by its closures.
unsafe impl<T: Sync> Send for ScopePtr<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for ScopePtr<T> {}

impl<T> ScopePtr<T> {
    /// The scope.
    ///
    /// # Safety
    /// It has not ended, and does not before the caller's last use.
    unsafe fn get<'any>(&self) -> &'any T {
        // SAFETY: as promised.
        unsafe { &*self.0 }
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.describe("Scope", f)
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.describe("ScopeFifo", f)
    }
}

impl ScopeBase<'_> {
    fn describe(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_panicked = self.first_panic().is_some();
        f.debug_struct(name)
            .field("pool_id", &self.registry.id())
            .field("has_panicked", &has_panicked)
            .finish_non_exhaustive()
    }
}
