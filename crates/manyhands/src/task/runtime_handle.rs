//! The handle of a runtime that others keep: it brings tasks to the runtime, and keeps nothing alive.
//!
//! Not here: the owner of a runtime, which ends it (`runtime/owner.rs`).
//!
//! Unsafe: a new task's cell is passed to a queue by pointer.

use crate::runtime::enqueue::{discard_new, enqueue_in};
use crate::runtime::{EnterGuard, Metrics, Priority, Runtime, RuntimeInner, TokioContext, current};
use crate::sync::process;
use crate::task::builder::NewTask;
use crate::task::{JoinHandle, block_on, builder};
use std::fmt;
#[cfg(feature = "futures")]
use std::ptr;
use std::sync::Weak;

/// A handle of a runtime, to be kept wherever tasks are brought to it: in a service, in a callback, on a thread that
/// another library has made.
///
/// It keeps no thread of the runtime, and of its memory only a block of fixed size. When the runtime is shut down, what the
/// handle spawns is dropped, and waiting for that gives a cancellation error.
///
/// It is an executor and a timer of hyper and a spawner of `futures`, with the features of those names.
///
/// # Cost
/// A spawn by a handle looks whether the runtime is still open, which [`task::spawn`](crate::task::spawn) on one of its
/// threads need not.
///
/// # Examples
/// ```
/// use manyhands::{Handle, Runtime, task};
/// let runtime = Runtime::builder().workers(2).build()?;
/// let handle = runtime.handle();
/// // A thread that knows nothing of the runtime:
/// let sum = std::thread::spawn(move || {
///     let six = handle.run(|| 2 * 3);
///     handle.block_on(async { six.await.unwrap() + 1 })
/// });
/// assert_eq!(sum.join().unwrap(), 7);
///
/// let inside = runtime.install(|| task::run(Handle::current)).join().unwrap();
/// runtime.shutdown_blocking();
/// assert!(inside.spawn(async { 1 }).join().unwrap_err().is_cancelled());
/// # Ok::<(), manyhands::BuildError>(())
/// ```
#[doc(alias("TokioExecutor", "TokioTimer", "Spawn"))]
#[derive(Clone)]
pub struct Handle {
    shared: Weak<RuntimeInner>,
    tokio_context: TokioContext,
}

impl Handle {
    /// Returns a handle of the calling thread's current runtime: the one that [`task::spawn`](crate::task::spawn)
    /// would use. If there is none, the default one, which is made if need be.
    ///
    /// # Panics
    /// As [`Runtime::default_runtime`].
    ///
    /// Example: see [`Handle`].
    #[must_use]
    pub fn current() -> Self {
        current::with_runtime(Self::of)
    }

    /// As [`current`](Self::current), but `None` where a runtime would have to be made.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Handle, Runtime};
    /// assert!(Handle::try_current().is_none());
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// assert!(runtime.install(Handle::try_current).is_some());
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[must_use]
    pub fn try_current() -> Option<Self> {
        current::with_existing_runtime(Self::of)
    }

    fn of(shared: &RuntimeInner) -> Self {
        Self {
            shared: shared.weak(),
            tokio_context: shared.settings.tokio_context.clone(),
        }
    }

    /// [`task::spawn`](crate::task::spawn) in this runtime. While that ends, the future is dropped on the calling thread, and
    /// perhaps other tasks of the runtime are, too.
    ///
    /// # Panics
    /// In a child of `fork`.
    ///
    /// Example: see [`Handle`].
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        process::refuse_forked();
        self.queue(builder::new_future((), future))
    }

    /// [`task::run`](crate::task::run) in this runtime; otherwise as [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// In a child of `fork`.
    ///
    /// Example: see [`Handle`].
    #[doc(alias = "spawn_blocking")]
    #[track_caller]
    pub fn run<F, T>(&self, closure: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        process::refuse_forked();
        self.queue(builder::new_closure((), closure))
    }

    /// [`task::block_on`](crate::task::block_on) with this runtime as the current one.
    ///
    /// # Blocking
    /// # Panics
    /// As [`task::block_on`](crate::task::block_on).
    ///
    /// Example: see [`Handle`].
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _entered = self.enter();
        block_on(future)
    }

    /// As [`Runtime::enter`]. When the runtime has been shut down, the current one stays what it was.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, parallel};
    /// let runtime = Runtime::builder().workers(2).build()?;
    /// let handle = runtime.handle();
    /// let _entered = handle.enter();
    /// parallel::for_each(0..10, |_| {}); // on that runtime
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        let open = self.shared.upgrade().filter(|shared| !shared.is_closing());
        EnterGuard::of_handle(open, &self.tokio_context)
    }

    /// As [`Runtime::metrics`]; `None` when the runtime has ended.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().workers(2).build()?;
    /// let handle = runtime.handle();
    /// assert_eq!(handle.metrics().unwrap().workers, 2);
    /// drop(runtime);
    /// assert!(handle.metrics().is_none());
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[must_use]
    pub fn metrics(&self) -> Option<Metrics> {
        let shared = self.shared.upgrade()?;
        Some(Metrics::of(&shared))
    }

    /// As [`Runtime::name`]; `None` when the runtime has ended.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().name("requests").build()?;
    /// assert_eq!(runtime.handle().name().as_deref(), Some("requests"));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let shared = self.shared.upgrade()?;
        Some(shared.settings.name.clone())
    }

    /// Whether the calling thread is a worker of this runtime.
    #[cfg(feature = "futures")]
    pub(crate) fn is_on_worker(&self) -> bool {
        current::slot_of_runtime()
            .is_some_and(|(slot, shared)| slot.is_worker() && ptr::eq(self.shared.as_ptr(), shared))
    }

    /// Queues a new task.
    fn queue<T>(&self, (queued, part): NewTask<T>) -> JoinHandle<T> {
        let job = queued.into_job();
        match self.shared.upgrade() {
            Some(shared) => enqueue_in(&shared, job, Priority::Normal),
            None => discard_new(job),
        }
        JoinHandle { part }
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Handle");
        if let Some(shared) = self.shared.upgrade() {
            fields.field("name", &shared.settings.name);
        }
        fields.finish_non_exhaustive()
    }
}

impl Runtime {
    /// A handle of this runtime, to be kept by others.
    ///
    /// Example: see [`Handle`].
    #[doc(alias("block_on", "spawn"))]
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle::of(self.shared())
    }
}
