//! The builder of a runtime.
//!
//! Not here: the settings that it makes (`settings.rs`).

use crate::job::{catch, dispose};
use crate::runtime::settings::Hook;
use crate::runtime::{Runtime, RuntimeInner, Settings, Stall, current};
use crate::sync::usable_processors;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

/// Configures a [`Runtime`]; made by [`Runtime::builder`].
///
/// # Examples
/// ```
/// let runtime = manyhands::Runtime::builder().workers(3).thread_name(|i| format!("crunch-{i}")).build()?;
/// assert_eq!(runtime.workers(), 3);
/// # Ok::<(), manyhands::BuildError>(())
/// ```
#[doc(alias = "ThreadPoolBuilder")]
#[derive(Debug, Default)]
#[must_use = "a builder does nothing until `build`"]
pub struct RuntimeBuilder {
    workers: Option<usize>,
    threads_max: Option<usize>,
    thread_name: Option<Hook<dyn Fn(usize) -> String + Send + Sync>>,
    /// All but these.
    settings: Settings,
}

impl RuntimeBuilder {
    /// How many threads run at once, external threads in a call included. The default is the number
    /// of processors this process may use: the smaller of its affinity mask and its cgroup quota.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().workers(2).build()?;
    /// assert_eq!(runtime.workers(), 2);
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias("worker_threads", "num_threads", "SetMinThreads"))]
    pub fn workers(mut self, count: usize) -> Self {
        self.workers = Some(count);
        self
    }

    /// How many worker threads may exist at once, including those started in place of blocked ones. The default is the
    /// number of workers plus 256.
    ///
    /// # Examples
    /// ```
    /// let refused = manyhands::Runtime::builder().workers(4).max_threads(2).build();
    /// assert_eq!(refused.unwrap_err().to_string(), "`max_threads` is 2, which is less than the 4 workers");
    /// ```
    #[doc(alias("max_blocking_threads", "SetMaxThreads"))]
    pub fn max_threads(mut self, count: usize) -> Self {
        self.threads_max = Some(count);
        self
    }

    /// How long a thread beyond the number of workers is kept without work before it ends. The default is 5 seconds.
    ///
    /// A thread on which [`task::spawn_local`](crate::task::spawn_local) was ever called is kept.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let runtime = manyhands::Runtime::builder().thread_keep_alive(Duration::from_secs(60)).build()?;
    /// # drop(runtime);
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn thread_keep_alive(mut self, time: Duration) -> Self {
        self.settings.thread_keep_alive = time;
        self
    }

    /// Whether the number of running threads follows measured throughput: between the number of workers and the
    /// thread limit, the runtime tries more threads at intervals, and keeps them where throughput rises.
    /// Off by default, because the monitor detects blocked threads one by one without it.
    ///
    /// Enable it if your tasks wait in ways that look like computing, such as spinning for a device or sleeping for a
    /// millisecond at a time, or where the system does not report what a thread does. Throughput is counted in pieces of work, so it helps where these
    /// are many and alike. [`thread_changes`](Runtime::thread_changes) lists every change.
    ///
    /// # Cost
    /// A sample for each 10 to 200 ms in which there is work, and the extra threads that bring no gain, usually one
    /// at a time.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().hill_climbing(true).build()?;
    /// # drop(runtime);
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn hill_climbing(mut self, is_on: bool) -> Self {
        self.settings.hill_climbing = is_on;
        self
    }

    /// Stack size of each worker thread in bytes. The default is the standard library's.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().workers(1).stack_size(8 << 20).build()?;
    /// let deep = runtime.install(|| manyhands::task::run(|| std::hint::black_box([1_u8; 1 << 20]).len()));
    /// assert_eq!(deep.join().unwrap(), 1 << 20);
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "thread_stack_size")]
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.settings.stack_size = Some(bytes);
        self
    }

    /// Names the runtime, for diagnostics. The default is `manyhands`.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().name("requests").build()?;
    /// assert_eq!(runtime.name(), "requests");
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Names each worker thread by its index. The default is the runtime's name with the index after it:
    /// `manyhands-0`, `manyhands-1`, …
    ///
    /// The function is called by [`build`](Self::build), once for each thread that there may be at once
    /// ([`max_threads`](Self::max_threads)), and not when a thread starts. When it panics it is not called again, and the
    /// threads that have no name yet have the default ones.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// let runtime = Runtime::builder().workers(1).thread_name(|i| format!("crunch-{i}")).build()?;
    /// let name = runtime.install(|| task::run(|| std::thread::current().name().map(str::to_owned)));
    /// assert_eq!(name.join().unwrap().as_deref(), Some("crunch-0"));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "thread_name_fn")]
    pub fn thread_name(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        self.thread_name = Some(Hook(Box::new(name)));
        self
    }

    /// Runs on each worker thread when it starts, which is when it is first needed. A panic is ignored.
    ///
    /// The work for which the thread was started waits for the end of the hook, or for a thread that is free before. A hook
    /// that waits should wait for nothing that the pool does: another thread takes its place only after 50 ms, on Linux,
    /// and runs the same hook first.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// use std::sync::mpsc;
    ///
    /// let (started, starts) = mpsc::channel();
    /// let runtime = Runtime::builder().workers(1).on_thread_start(move |i| drop(started.send(i))).build()?;
    /// runtime.install(|| task::run(|| ())).join().unwrap();
    /// assert_eq!(starts.recv(), Ok(0));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "start_handler")]
    pub fn on_thread_start(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.settings.on_start = Some(Hook(Box::new(hook)));
        self
    }

    /// Runs on each worker thread before it ends. A panic is ignored.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// use std::sync::mpsc;
    ///
    /// let (stopped, stops) = mpsc::channel();
    /// let runtime = Runtime::builder().workers(1).on_thread_stop(move |i| drop(stopped.send(i))).build()?;
    /// runtime.install(|| task::run(|| ())).join().unwrap();
    /// runtime.shutdown_blocking();
    /// assert_eq!(stops.recv(), Ok(0));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "exit_handler")]
    pub fn on_thread_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.settings.on_stop = Some(Hook(Box::new(hook)));
        self
    }

    /// Runs when the pool stalls: work waits, every thread is blocked, and none may be added; or the
    /// system refuses threads and there is none ([`build`](Self::build) says what waits then).
    /// The [`Stall`] says which thread waits for what. It is reported once, until the pool goes on. Without a hook the
    /// report is one line on the standard error stream. A panic is ignored.
    ///
    /// The hook runs on the monitor's thread, which it must not block. Where the system refuses even that thread, it
    /// runs on one that waits.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// use std::sync::mpsc;
    ///
    /// let (reports, stalls) = mpsc::channel();
    /// let runtime = Runtime::builder()
    ///     .workers(1)
    ///     .max_threads(1)
    ///     .on_stall(move |stall| drop(reports.send(stall.threads)))
    ///     .build()?;
    /// let (go, gate) = mpsc::channel();
    /// let waiting = runtime.install(|| task::run(move || task::blocking(|| gate.recv())));
    /// let behind = runtime.install(|| task::run(|| ()));           // no thread is left to run it
    /// assert_eq!(stalls.recv(), Ok(1));
    /// go.send(()).unwrap();
    /// waiting.join().unwrap().unwrap();
    /// behind.join().unwrap();
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn on_stall(mut self, hook: impl Fn(&Stall) + Send + Sync + 'static) -> Self {
        self.settings.on_stall = Some(Hook(Box::new(hook)));
        self
    }

    /// Makes the runtime. No thread is started yet: each starts when there is work for it.
    ///
    /// The system may refuse a thread, because of a limit of processes or of memory. The pool's monitor then tries again,
    /// and so does each thread that pushes work. If the system refuses even the monitor's thread, each thread that enters a
    /// runtime or waits in this library tries in its place. Meanwhile callers run their own loops, joins and scopes, and
    /// [`JoinHandle::join`](crate::task::JoinHandle::join) runs a closure that no thread has begun. Work that only a
    /// worker may run waits for a thread, for as long as it takes: futures, detached tasks, continuations and async
    /// loops. Threads that wait for these go on waiting, because a waiting thread runs only what it waits for: it may
    /// hold a lock that another task wants. All of it goes on as soon as the system grants one thread. A runtime that
    /// is shut down drops the work that still waits, and threads that wait for its tasks get an error.
    ///
    /// When there has been no thread for a tenth of a second, the runtime reports this to [`on_stall`](Self::on_stall) with the
    /// reason [`NotStarted`](crate::diagnostics::ThreadChangeReason::NotStarted). After ten seconds without any thread while work
    /// waits, threads that wait in this runtime for a task, a future or a channel panic, unless their wait ends by a
    /// time limit of the library, such as [`recv_timeout_blocking`](crate::channel::Receiver::recv_timeout_blocking). The
    /// work stays queued. The end of a [`scope_blocking`](crate::task::scope_blocking()) cannot unwind, because its
    /// futures borrow, so there the process aborts.
    ///
    /// One case goes unseen while the system refuses even the first thread: a thread that waits outside this library,
    /// such as in a channel of the standard library, does not try again, nor does one that slept in a channel of this
    /// library before the first refusal. If every thread of the program waits so, nothing goes on or is reported until one
    /// pushes work, enters a runtime, or begins to wait here.
    ///
    /// # Errors
    /// [`BuildError`] when a number is zero or too large, or the thread limit is below the worker count; with tokio,
    /// also when the system refuses a resource that tokio needs. A later call tries again; a refused one leaves nothing
    /// behind.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{BuildError, Runtime};
    /// let refused: BuildError = Runtime::builder().workers(0).build().unwrap_err();
    /// assert_eq!(refused.to_string(), "a runtime needs at least one worker");
    /// ```
    pub fn build(self) -> Result<Runtime, BuildError> {
        self.build_shared().map(Runtime::from_shared)
    }

    fn build_shared(self) -> Result<Arc<RuntimeInner>, BuildError> {
        let workers = self.workers.unwrap_or_else(usable_processors);
        let usual = || Settings::for_workers(workers).threads_max;
        let threads_max = self.threads_max.unwrap_or_else(usual);
        if workers == 0 {
            return Err(BuildError::of("a runtime needs at least one worker"));
        }
        if threads_max < workers {
            return Err(BuildError::of(format!(
                "`max_threads` is {threads_max}, which is less than the {workers} workers"
            )));
        }
        if threads_max > THREADS_MAX {
            return Err(BuildError::of(format!(
                "{threads_max} threads are more than the {THREADS_MAX} a runtime can hold"
            )));
        }
        // Not called again once it has panicked.
        let thread_names = self.thread_name.map_or_else(Vec::new, |name| {
            let own = |index| catch(|| name.0(index)).map_err(dispose);
            (0..threads_max)
                .map_while(|index| own(index).ok())
                .collect()
        });
        let tokio_context = self.settings.tokio_context.start();
        let tokio_context = tokio_context.map_err(|error| BuildError {
            what: format!("tokio's runtime cannot start: {error}"),
            refusal: Some(Arc::new(error)),
        })?;
        Ok(RuntimeInner::new(Settings {
            workers,
            threads_max,
            tokio_context,
            thread_names,
            ..self.settings
        }))
    }

    /// Makes the runtime that is used where no other is current, as configured here; see
    /// [`Runtime::default_runtime`]. Without a call of this it is made with default settings on first use, so call
    /// it at the beginning of `main`.
    ///
    /// # Errors
    /// [`BuildError`] when it exists already, and as for [`build`](Self::build).
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// let runtime = Runtime::builder().workers(3).name("service").build_default()?;
    /// assert_eq!(Runtime::default_runtime().name(), "service");
    /// assert_eq!(task::run(|| 6 * 7).join().unwrap(), 42);       // on one of its workers
    /// assert_eq!(
    ///     Runtime::builder().build_default().unwrap_err().to_string(),
    ///     "the default runtime has been made already"
    /// );
    /// # let _ = runtime;
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias("build_global", "RAYON_NUM_THREADS"))]
    pub fn build_default(self) -> Result<&'static Runtime, BuildError> {
        let exists = || BuildError::of("the default runtime has been made already");
        // First, because making one may start tokio's driver.
        if current::DEFAULT.get().is_some() {
            return Err(exists());
        }
        let set = current::DEFAULT.set(self.build_shared()?);
        set.map_err(|superfluous| {
            drop(Runtime::from_shared(superfluous));
            exists()
        })?;
        Ok(Runtime::default_runtime())
    }
}

#[cfg(feature = "tokio")]
impl RuntimeBuilder {
    /// Puts tokio around every worker, and around every thread while it has [entered](crate::Runtime::enter) the
    /// runtime or is in [`install`](crate::Runtime::install) or [`Handle::block_on`](crate::Handle::block_on): its sockets
    /// and timers work there as they are. Elsewhere tokio panics, because "there is no reactor running": also in
    /// [`task::block_on`](crate::task::block_on) on the main thread, which has not entered the default runtime.
    ///
    /// The workers still run everything; [`tokio_driver`](crate::integrations::tokio_driver) says what tokio does, and what does
    /// not work. Guards of [`enter`](crate::Runtime::enter) must then be dropped in the reverse order of their
    /// making, or tokio panics.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// use tokio::io::{AsyncReadExt, AsyncWriteExt};
    /// use tokio::net::{TcpListener, TcpStream};
    ///
    /// let runtime = Runtime::builder().tokio().build().unwrap();
    /// let _entered = runtime.enter();
    /// let greeting = task::block_on(async {
    ///     let listener = TcpListener::bind("127.0.0.1:0").await?;
    ///     let mut client = TcpStream::connect(listener.local_addr()?).await?;
    ///     task::spawn(async move {
    ///         let (mut stream, _from) = listener.accept().await?;
    ///         stream.write_all(b"hello").await
    ///     });
    ///     let mut greeting = String::new();
    ///     client.read_to_string(&mut greeting).await?;
    ///     Ok::<_, std::io::Error>(greeting)
    /// });
    /// assert_eq!(greeting.unwrap(), "hello");
    /// ```
    #[doc(alias("enable_all", "enable_io"))]
    pub fn tokio(mut self) -> Self {
        self.settings.tokio_context = crate::runtime::TokioContext::OwnTokio(None);
        self
    }

    /// As [`tokio`](Self::tokio), with a tokio runtime that exists already and that another thread drives, such as
    /// that of `#[tokio::main]`.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// use std::time::Duration;
    ///
    /// let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// let runtime = Runtime::builder().tokio_handle(tokio.handle().clone()).build().unwrap();
    /// let handle = runtime.install(|| {
    ///     task::spawn(async {
    ///         tokio::time::sleep(Duration::from_millis(5)).await;
    ///         6 * 7
    ///     })
    /// });
    /// assert_eq!(tokio.block_on(handle).unwrap(), 42);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn tokio_handle(mut self, handle: tokio::runtime::Handle) -> Self {
        self.settings.tokio_context = crate::runtime::TokioContext::Tokio(handle);
        self
    }
}

/// Why a runtime could not be made. Where the system has refused something, its
/// [`source`](std::error::Error::source) is the [`io::Error`] that says what.
///
/// # Examples
/// ```
/// let error = manyhands::Runtime::builder().workers(0).build().unwrap_err();
/// assert_eq!(error.to_string(), "a runtime needs at least one worker");
/// ```
#[derive(Debug, Clone)]
pub struct BuildError {
    what: String,
    /// The system's error, which `what` tells, too.
    refusal: Option<Arc<io::Error>>,
}

impl BuildError {
    fn of(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            refusal: None,
        }
    }
}

impl PartialEq for BuildError {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
    }
}

impl Eq for BuildError {}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.refusal.as_deref().map(|refusal| refusal as _)
    }
}

/// Worker slots are numbered with 16 bits, and other runtimes and external threads need some too.
const THREADS_MAX: usize = 32_768;

#[cfg(test)]
mod tests {
    use crate::Runtime;

    #[test]
    fn bad_numbers_are_refused_with_a_sentence() {
        let message = |builder: super::RuntimeBuilder| builder.build().unwrap_err().to_string();
        assert_eq!(
            message(Runtime::builder().workers(0)),
            "a runtime needs at least one worker"
        );
        assert_eq!(
            message(Runtime::builder().workers(4).max_threads(3)),
            "`max_threads` is 3, which is less than the 4 workers"
        );
        assert!(message(Runtime::builder().workers(100_000)).contains("100256 threads are more"));
    }
}
