//! The builder of pools.
//!
//! Not here: how threads are started (`threads.rs`).

use crate::settings::Settings;
use crate::threads::{self, CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};
use crate::unwind::Payload;
use crate::{ThreadPool, ThreadPoolBuildError, global};
use std::fmt;
use std::io;
use std::thread;

/// Configures a [`ThreadPool`], or the global one.
///
/// # Examples
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build()?;
/// assert_eq!(pool.current_num_threads(), 3);
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    settings: Settings,
    spawn: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// A builder with default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool whose threads may borrow, and calls `with_pool` with it. Each thread calls `wrapper`, which
    /// should do what it has to around [`ThreadBuilder::run`]. Returns when all threads have ended.
    ///
    /// # Errors
    /// As for [`build`](Self::build).
    ///
    /// # Examples
    /// ```
    /// use rayon_core::ThreadPoolBuilder;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let ended = AtomicUsize::new(0); // borrowed by the threads
    /// let wrapper = |thread: rayon_core::ThreadBuilder| {
    ///     thread.run();
    ///     ended.fetch_add(1, Ordering::Relaxed);
    /// };
    /// let builder = ThreadPoolBuilder::new().num_threads(2);
    /// let sum = builder.build_scoped(wrapper, |pool| pool.install(|| 1 + 1))?;
    /// assert_eq!((sum, ended.into_inner()), (2, 2));
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let wrapper = &wrapper;
            let spawn = |thread: ThreadBuilder| {
                threads::builder_for(&thread).spawn_scoped(scope, move || wrapper(thread))?;
                Ok(())
            };
            let pool = self.spawn_handler(spawn).build()?;
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool with threads of its own.
    ///
    /// # Errors
    /// When the system refuses a thread, or the current thread is to be used and already is in a pool.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let registry = threads::build(self.settings, self.spawn)?;
        Ok(ThreadPool { registry })
    }

    /// Makes the global pool as configured here. Without a call of this it is made on first use.
    ///
    /// It is on the default runtime of manyhands, which is made with this number of threads, their names and stack
    /// size unless it exists already. With a [`spawn_handler`](Self::spawn_handler), or with names or a stack size
    /// for threads of a runtime that already exists, it has threads of its own.
    ///
    /// Threads of the runtime start when there is work. If the system refuses them then, calls wait until it allows them.
    ///
    /// # Errors
    /// When there is a global pool, and as for [`build`](Self::build).
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        global::init(self.settings, self.spawn)?.wait_until_started();
        Ok(())
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Starts threads by calling `spawn`, which should call [`ThreadBuilder::run`] on another thread. The threads
    /// end some time after the pool was dropped.
    ///
    /// # Examples
    /// ```
    /// let builder = rayon_core::ThreadPoolBuilder::new().num_threads(2);
    /// let pool = builder.spawn_handler(|thread| {
    ///     std::thread::spawn(|| thread.run());
    ///     Ok(())
    /// });
    /// assert_eq!(pool.build()?.install(|| 1 + 1), 2);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            settings: self.settings,
            spawn: CustomSpawn(spawn),
        }
    }

    /// Names each thread by its index.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.settings.thread_name = Some(Box::new(closure));
        self
    }

    /// How many threads the pool has. 0, the default, means the number in the environment variable
    /// `RAYON_NUM_THREADS`, else one for each processor that this process may use.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.settings.num_threads = num_threads;
        self
    }

    /// Takes the calling thread into the pool, with index 0 and for life. It runs the pool's work only while it
    /// waits for some, or yields to it.
    ///
    /// Not a worker of manyhands' default runtime, whose task calls this: it would be in the pool in all later tasks, too. Such a
    /// pool has a thread of its own more, and the global one is served by that worker as ever.
    pub fn use_current_thread(mut self) -> Self {
        self.settings.uses_current_thread = true;
        self
    }

    /// Called with the payload of a panic that has no other place to go, such as that of a closure given to
    /// [`spawn`](crate::spawn()). Without a handler, and where the handler panics, the process aborts.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Payload) + Send + Sync + 'static,
    {
        self.settings.handlers.panic = Some(Box::new(panic_handler));
        self
    }

    /// The stack size of each thread in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.settings.stack_size = Some(stack_size);
        self
    }

    /// Makes each thread run what it has spawned oldest first.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.settings.is_breadth_first = true;
        self
    }

    /// Called with its index on each thread when it starts. A panic goes to the panic handler.
    ///
    /// In the global pool, whose threads belong to a runtime, it is called where a thread gets that index for the
    /// first time.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.settings.handlers.start = Some(Box::new(start_handler));
        self
    }

    /// Called with its index on each thread before it ends. A panic goes to the panic handler. The threads of the
    /// global pool never end.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.settings.handlers.exit = Some(Box::new(exit_handler));
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let closure = |is_there: bool| is_there.then_some(format_args!("<closure>"));
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.settings.num_threads)
            .field("use_current_thread", &self.settings.uses_current_thread)
            .field(
                "get_thread_name",
                &closure(self.settings.thread_name.is_some()),
            )
            .field(
                "panic_handler",
                &closure(self.settings.handlers.panic.is_some()),
            )
            .field("stack_size", &self.settings.stack_size)
            .field(
                "start_handler",
                &closure(self.settings.handlers.start.is_some()),
            )
            .field(
                "exit_handler",
                &closure(self.settings.handlers.exit.is_some()),
            )
            .field("breadth_first", &self.settings.is_breadth_first)
            .finish()
    }
}
