//! The threads of a pool that has its own, and how pools are built.
//!
//! Not here: what the threads do (`worker.rs`).
//!
//! Unsafe: a thread that is taken into a pool for life is in its slot on leaked memory.

use crate::ThreadPoolBuildError;
use crate::registry::Registry;
use crate::settings::Settings;
use crate::unwind::AbortIfPanic;
use crate::worker::{SlotGuard, WorkerThread};
use std::fmt;
use std::io;
use std::mem;
use std::sync::Arc;
use std::thread;

/// A thread of a pool that is about to be started; given to the function of
/// [`ThreadPoolBuilder::spawn_handler`](crate::ThreadPoolBuilder::spawn_handler).
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    worker: WorkerThread,
}

impl ThreadBuilder {
    /// The thread's index in the pool, in `0..num_threads`.
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// What [`ThreadPoolBuilder::thread_name`](crate::ThreadPoolBuilder::thread_name) says of this thread.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What was given to [`ThreadPoolBuilder::stack_size`](crate::ThreadPoolBuilder::stack_size).
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Runs the pool's main loop on the calling thread. Returns when the pool has been dropped and has done its work.
    pub fn run(self) {
        run(&self.worker);
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &self.worker.registry().id())
            .field("index", &self.index())
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish()
    }
}

/// How a builder starts threads. Reachable only as a bound, and implemented here only.
pub trait ThreadSpawn {
    /// Whether the threads may as well be others.
    #[doc(hidden)]
    const IS_DEFAULT: bool;

    /// Starts a thread that calls [`ThreadBuilder::run`].
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder, _: Sealed) -> io::Result<()>;
}

/// Nobody else can name it, so nobody else can implement the trait.
#[derive(Debug)]
pub struct Sealed;

/// Starts threads of the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    const IS_DEFAULT: bool = true;

    fn spawn(&mut self, thread: ThreadBuilder, _: Sealed) -> io::Result<()> {
        builder_for(&thread).spawn(|| thread.run())?;
        Ok(())
    }
}

/// A builder of the standard library with a thread's name and stack size.
pub(crate) fn builder_for(thread: &ThreadBuilder) -> thread::Builder {
    let mut builder = thread::Builder::new();
    if let Some(name) = thread.name() {
        builder = builder.name(name.to_owned());
    }
    if let Some(size) = thread.stack_size() {
        builder = builder.stack_size(size);
    }
    builder
}

/// Starts threads with a function of the user's.
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    const IS_DEFAULT: bool = false;

    fn spawn(&mut self, thread: ThreadBuilder, _: Sealed) -> io::Result<()> {
        (self.0)(thread)
    }
}

/// Builds a pool with threads of its own.
pub(crate) fn build<S: ThreadSpawn>(
    mut settings: Settings,
    mut spawn: S,
) -> Result<Arc<Registry>, ThreadPoolBuildError> {
    let takes_current = settings.takes_current_thread()?;
    let count = settings.count_threads();
    let (registry, workers) = WorkerThread::of_new_pool(
        count,
        settings.is_breadth_first,
        None,
        mem::take(&mut settings.handlers),
    );
    let unfinished = EndOnDrop(&registry);
    for worker in workers {
        let index = worker.index();
        let name = settings.name_of(index);
        if index == 0 && takes_current {
            take_current_thread(worker);
            registry.threads().note_started();
            continue;
        }
        let thread = ThreadBuilder {
            name,
            stack_size: settings.stack_size,
            worker,
        };
        let started = spawn.spawn(thread, Sealed);
        started.map_err(ThreadPoolBuildError::io)?;
    }
    mem::forget(unfinished);
    Ok(registry)
}

/// The main loop of a pool's own thread, until the pool ends.
fn run(worker: &WorkerThread) {
    let registry = Arc::clone(worker.registry());
    // SAFETY: borrowed for the whole call.
    let guard = unsafe { SlotGuard::begin(worker) };
    registry.threads().note_started();
    // A job does not unwind. If this loop does, its pool is broken.
    let frame = AbortIfPanic;
    let (handlers, index) = (registry.handlers(), worker.index());
    if let Some(handler) = &handlers.start {
        handlers.catch_unwind(|| handler(index));
    }
    worker.run();
    frame.disarm();
    registry.threads().note_stopped();
    if let Some(handler) = &handlers.exit {
        handlers.catch_unwind(|| handler(index));
    }
    drop(guard);
}

/// Slots the calling thread, which has no slot, for life.
pub(crate) fn take_current_thread(worker: WorkerThread) {
    let worker: &'static WorkerThread = Box::leak(Box::new(worker));
    // SAFETY: leaked, and given to nobody else.
    mem::forget(unsafe { SlotGuard::begin(worker) });
}

/// Ends a pool that could not be finished, be it by a panic.
struct EndOnDrop<'pool>(&'pool Arc<Registry>);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.remove_user();
    }
}

#[cfg(test)]
mod tests {
    use crate::search::Searched;
    use crate::{ThreadPoolBuilder, join};
    use std::sync::Arc;

    fn fork(depth: u32) {
        if depth > 0 {
            join(|| fork(depth - 1), || fork(depth - 1));
        }
    }

    #[test]
    fn the_threads_of_a_dropped_pool_leave() {
        let pool = ThreadPoolBuilder::new().num_threads(9).build().unwrap();
        pool.install(|| fork(9));
        let registry = Arc::clone(&pool.registry);
        assert!(!registry.has_ended());
        drop(pool);
        registry.wait_until_stopped();
        assert!(registry.has_ended());
        let counts = registry.sleep().counts();
        assert_eq!(
            (counts.idle(), counts.searching()),
            (0, 0),
            "exit handlers run"
        );
    }
}
