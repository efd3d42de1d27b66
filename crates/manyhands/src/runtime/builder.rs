//! The builder of a runtime, and its settings.

use crate::integrations::tracing_events;
use crate::job::{catch, contain, dispose};
use crate::runtime::io::tokio_context::TokioContext;
use crate::runtime::{Runtime, RuntimeInner, Stall, current, topology};
use std::error::Error;
use std::io::Write;
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
pub struct Builder {
    workers: Option<usize>,
    threads_max: Option<usize>,
    thread_keep_alive: Option<Duration>,
    hill_climbing: bool,
    stack_size: Option<usize>,
    name: Option<String>,
    thread_name: Option<NameFn>,
    on_start: Option<HookFn>,
    on_stop: Option<HookFn>,
    on_stall: Option<StallFn>,
    pub(super) tokio_context: TokioContext,
}

impl Builder {
    /// How many threads run at once, external threads in a call included. The default is the number
    /// of processors this process may use: the smaller of its affinity mask and its cgroup quota.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().workers(2).build()?;
    /// assert_eq!(runtime.workers(), 2);
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "worker_threads")]
    #[doc(alias = "num_threads")]
    #[doc(alias = "SetMinThreads")]
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
    /// assert_eq!(refused.unwrap_err().to_string(), "the limit of 2 threads is below the 4 workers");
    /// ```
    #[doc(alias = "max_blocking_threads")]
    #[doc(alias = "SetMaxThreads")]
    pub fn max_threads(mut self, count: usize) -> Self {
        self.threads_max = Some(count);
        self
    }

    /// How long a thread beyond the number of workers, started in place of a blocked one, is kept without work before
    /// it ends. The default is 5 seconds.
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
        self.thread_keep_alive = Some(time);
        self
    }

    /// Whether the number of running threads follows measured throughput: between the number of workers and the
    /// thread limit, the runtime tries more threads at intervals, and keeps them where throughput rises.
    /// Off by default, because the monitor detects blocked threads one by one without it.
    ///
    /// Enable it if your tasks wait in ways that look like computing, such as spinning for a device, or where the
    /// system does not report what a thread does. Throughput is counted in pieces of work, so it helps where these
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
    #[doc(alias = "HillClimbing")]
    pub fn hill_climbing(mut self, is_on: bool) -> Self {
        self.hill_climbing = is_on;
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
        self.stack_size = Some(bytes);
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
        self.name = Some(name.into());
        self
    }

    /// Names each worker thread by its index. The default is the runtime's name with the index after it:
    /// `manyhands-0`, `manyhands-1`, …
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
        self.thread_name = Some(NameFn(Box::new(name)));
        self
    }

    /// Runs on each worker thread when it starts, which is when it is first needed. A panic is ignored.
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
        self.on_start = Some(HookFn(Box::new(hook)));
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
    /// runtime.shutdown();
    /// assert_eq!(stops.recv(), Ok(0));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "exit_handler")]
    pub fn on_thread_stop(mut self, hook: impl Fn(usize) + Send + Sync + 'static) -> Self {
        self.on_stop = Some(HookFn(Box::new(hook)));
        self
    }

    /// Runs when the pool stalls: work waits, every thread is blocked, and none may be added; or the
    /// system has refused threads for a second and there is none ([`build`](Self::build) says what waits then).
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
        self.on_stall = Some(StallFn(Box::new(hook)));
        self
    }

    /// Makes the runtime. No thread is started yet: each starts when there is work for it.
    ///
    /// The system may refuse a thread, because of a limit of processes or of memory. The pool then tries again by
    /// itself, and so does each thread that pushes work or enters the runtime, and every few milliseconds each thread
    /// that waits in this library. Meanwhile callers run their own loops, joins and scopes, and
    /// [`JoinHandle::join`](crate::task::JoinHandle::join) runs a closure that no thread has begun. Work that only a
    /// worker may run waits for a thread, for as long as it takes: futures, detached tasks, continuations and async
    /// loops. Threads that wait for these go on waiting, because a waiting thread runs only what it waits for: it may
    /// hold a lock that another task wants. All of it goes on as soon as the system grants one thread. A runtime that
    /// is shut down drops the work that still waits, and threads that wait for its tasks get an error.
    ///
    /// When there has been no thread for a second, the runtime reports this to [`on_stall`](Self::on_stall) with the
    /// reason [`NotStarted`](crate::ThreadChangeReason::NotStarted). One case goes unseen while the system refuses
    /// even the first thread: a thread that waits outside this library, such as in a channel of the standard library,
    /// does not try again. If every thread of the program waits so, nothing goes on or is reported until one pushes
    /// work, enters a runtime, or waits here.
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
        let workers = self.workers.unwrap_or_else(topology::default_workers);
        let threads_max = self
            .threads_max
            .unwrap_or_else(|| workers.saturating_add(SPARES_DEFAULT));
        if workers == 0 {
            return Err(BuildError(Fault::NoWorkers));
        }
        if threads_max < workers {
            return Err(BuildError(Fault::LimitBelowWorkers {
                workers,
                threads_max,
            }));
        }
        if threads_max > THREADS_MAX {
            return Err(BuildError(Fault::TooManyThreads(threads_max)));
        }
        let tokio_context = self.tokio_context.start();
        Ok(Runtime::from_shared(RuntimeInner::new(Settings {
            workers,
            threads_max,
            thread_keep_alive: self.thread_keep_alive.unwrap_or(KEEP_ALIVE_DEFAULT),
            hill_climbing: self.hill_climbing,
            stack_size: self.stack_size,
            name: self.name.unwrap_or_else(|| NAME_DEFAULT.to_owned()),
            thread_name: self.thread_name,
            on_start: self.on_start,
            on_stop: self.on_stop,
            on_stall: self.on_stall,
            tokio_context: tokio_context
                .map_err(|error| BuildError(Fault::Tokio(Refusal(Arc::new(error)))))?,
        })))
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
    #[doc(alias = "build_global")]
    pub fn build_default(self) -> Result<&'static Runtime, BuildError> {
        current::make_default_runtime(self)
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError(Fault);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    NoWorkers,
    LimitBelowWorkers { workers: usize, threads_max: usize },
    TooManyThreads(usize),
    DefaultExists,
    Tokio(Refusal),
}

/// The system's error.
#[derive(Debug, Clone)]
struct Refusal(Arc<io::Error>);

impl PartialEq for Refusal {
    fn eq(&self, other: &Self) -> bool {
        let of = |refusal: &Self| (refusal.0.kind(), refusal.0.raw_os_error());
        of(self) == of(other)
    }
}

impl Eq for Refusal {}

impl BuildError {
    /// There is a default runtime.
    pub(super) fn default_exists() -> Self {
        Self(Fault::DefaultExists)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::NoWorkers => write!(f, "a runtime needs at least one worker"),
            Fault::LimitBelowWorkers {
                workers,
                threads_max,
            } => {
                write!(
                    f,
                    "the limit of {threads_max} threads is below the {workers} workers"
                )
            }
            Fault::TooManyThreads(count) => {
                write!(
                    f,
                    "{count} threads are more than the {THREADS_MAX} a runtime can hold"
                )
            }
            Fault::DefaultExists => write!(f, "the default runtime has been made already"),
            Fault::Tokio(refusal) => write!(f, "tokio's runtime cannot start: {}", refusal.0),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Fault::Tokio(refusal) => Some(&*refusal.0),
            Fault::NoWorkers
            | Fault::LimitBelowWorkers { .. }
            | Fault::TooManyThreads(_)
            | Fault::DefaultExists => None,
        }
    }
}

/// A checked configuration.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) workers: usize,
    pub(crate) threads_max: usize,
    pub(crate) thread_keep_alive: Duration,
    pub(crate) hill_climbing: bool,
    pub(crate) stack_size: Option<usize>,
    pub(crate) name: String,
    thread_name: Option<NameFn>,
    pub(crate) on_start: Option<HookFn>,
    pub(crate) on_stop: Option<HookFn>,
    on_stall: Option<StallFn>,
    pub(crate) tokio_context: TokioContext,
}

impl Settings {
    /// Settings of a runtime that starts no threads, because the calling thread is its worker.
    pub(crate) fn for_one_thread() -> Self {
        Self {
            workers: 1,
            threads_max: 1,
            thread_keep_alive: KEEP_ALIVE_DEFAULT,
            hill_climbing: false,
            stack_size: None,
            name: NAME_DEFAULT.to_owned(),
            thread_name: None,
            on_start: None,
            on_stop: None,
            on_stall: None,
            tokio_context: TokioContext::Nothing,
        }
    }

    /// The name of worker `index`. A naming function that panics gets the default name.
    pub(crate) fn name_of(&self, index: usize) -> String {
        let own = self
            .thread_name
            .as_ref()
            .and_then(|name| catch(|| name.0(index)).map_err(dispose).ok());
        // A name with a null byte cannot be given to a thread.
        let can_be_given = |name: &String| !name.contains('\0');
        own.filter(can_be_given)
            .or_else(|| Some(format!("{}-{index}", self.name)).filter(can_be_given))
            .unwrap_or_else(|| format!("{NAME_DEFAULT}-{index}"))
    }

    /// Runs a hook and contains its panic.
    pub(crate) fn run_hook(hook: Option<&HookFn>, index: usize) {
        if let Some(hook) = hook {
            contain(|| hook.0(index));
        }
    }
}

impl Settings {
    /// Reports a stall to the user.
    pub(crate) fn report_stall(&self, stall: &Stall) {
        tracing_events::stall(&self.name, stall);
        match &self.on_stall {
            Some(hook) => {
                contain(|| hook.0(stall));
            }
            None => warn(stall),
        }
    }
}

/// Prints a stall, so that a program does not hang silently; a hook replaces this.
fn warn(stall: &Stall) {
    let line = format!("manyhands: {stall}\n");
    // A closed stream or a broken pipe is ignored.
    let _ = io::stderr().write_all(line.as_bytes());
}

struct NameFn(Box<dyn Fn(usize) -> String + Send + Sync>);

/// A start or stop hook.
pub(crate) struct HookFn(Box<dyn Fn(usize) + Send + Sync>);

impl fmt::Debug for NameFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a naming function")
    }
}

struct StallFn(Box<dyn Fn(&Stall) + Send + Sync>);

impl fmt::Debug for StallFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hook")
    }
}

impl fmt::Debug for HookFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a hook")
    }
}

const NAME_DEFAULT: &str = "manyhands";
/// Threads that may run in place of blocked ones, by default.
const SPARES_DEFAULT: usize = 256;
/// Longer than the pauses of most bursts, short enough that the pool is back at its size ten seconds after.
const KEEP_ALIVE_DEFAULT: Duration = Duration::from_secs(5);
/// Worker slots are numbered with 16 bits, and other runtimes and external threads need some too.
const THREADS_MAX: usize = 32_768;

#[cfg(test)]
mod tests {
    use crate::Runtime;

    #[test]
    fn bad_numbers_are_refused_with_a_sentence() {
        let message = |builder: super::Builder| builder.build().unwrap_err().to_string();
        assert_eq!(
            message(Runtime::builder().workers(0)),
            "a runtime needs at least one worker"
        );
        assert_eq!(
            message(Runtime::builder().workers(4).max_threads(3)),
            "the limit of 3 threads is below the 4 workers"
        );
        assert!(message(Runtime::builder().workers(100_000)).contains("100256 threads are more"));
    }
}
