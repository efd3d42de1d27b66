//! The public owner of a runtime: it makes one, describes it and ends it.
//!
//! Not here: the handle that others keep (`task/runtime_handle.rs`).

use crate::runtime::current::{self, EnterGuard};
use crate::runtime::sleep::blocking_on_others;
use crate::runtime::{
    LongJob, Metrics, RuntimeBuilder, RuntimeInner, ShutdownReport, SlotState, ThreadChange,
    UnfinishedWork, ending,
};
use crate::sync::atomic::Ordering;
use crate::sync::{clock, lock, thread};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A pool of workers that runs loops, forks and tasks together.
///
/// Most programs need no runtime of their own: the free functions use the current runtime of the calling thread. If
/// there is none they use a default one, made on first use, with one worker for each processor this process may use.
///
/// Worker threads start when there is work for them and sleep when there is none. An external thread that calls a loop
/// or a fork takes part in it, as one of the [`workers`](Self::workers) that run.
///
/// # Dropping
/// Dropping a runtime shuts it down; see [`shutdown_blocking`](Self::shutdown_blocking).
///
/// # Examples
/// ```
/// let runtime = manyhands::Runtime::builder().workers(2).build()?;
/// let (a, b) = runtime.install(|| manyhands::join(|| 1, || 2));
/// assert_eq!(a + b, 3);
/// # Ok::<(), manyhands::BuildError>(())
/// ```
#[doc(alias("ThreadPool", "TaskScheduler"))]
pub struct Runtime {
    shared: Arc<RuntimeInner>,
}

impl Runtime {
    /// Starts the configuration of a runtime.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().workers(2).name("requests").build()?;
    /// assert_eq!((runtime.workers(), runtime.name()), (2, "requests"));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias("new_multi_thread", "new_current_thread"))]
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// The runtime that is used where no other is current. It is made on first use, with default settings, or by
    /// [`RuntimeBuilder::build_default`] before that. It is never shut down.
    ///
    /// # Panics
    /// In a child of `fork`, when the parent has made a runtime.
    ///
    /// # Examples
    /// ```
    /// let workers = manyhands::Runtime::default_runtime().workers();
    /// assert!(workers >= 1);
    /// ```
    pub fn default_runtime() -> &'static Self {
        static DEFAULT: OnceLock<Runtime> = OnceLock::new();
        DEFAULT.get_or_init(|| Self::from_shared(current::default_runtime().to_arc()))
    }

    /// Runs `f` on the calling thread with this runtime as the current one. Meanwhile that thread counts as one of the
    /// runtime's running threads.
    ///
    /// # Blocking
    /// Only as far as `f` does.
    ///
    /// # Panics
    /// If `f` does.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, query::prelude::*, task};
    /// let runtime = Runtime::builder().workers(2).build()?;
    /// let sum: u64 = runtime.install(|| (0..1000_u64).into_par_query().sum());
    /// let answer = runtime.install(|| task::spawn(async { 42 }));
    /// assert_eq!((sum, answer.join().unwrap()), (499_500, 42));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn install<R>(&self, f: impl FnOnce() -> R) -> R {
        current::install(&self.shared, f)
    }

    /// Makes this runtime the current one of the calling thread while the guard lives.
    ///
    /// Guards must be dropped in the reverse order of their making. A guard that is forgotten leaves the runtime
    /// current for this thread until the runtime is closed. It does not keep the runtime from being dropped; only its
    /// memory is kept until the thread ends. A task that forgets a guard ends the process with a message, because the
    /// next tasks of its worker would go to that runtime. That goes unseen on a worker that has run a
    /// [local task](crate::task::spawn_local()), which may keep a guard while it waits.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().workers(1).build()?;
    /// let entered = runtime.enter();
    /// manyhands::parallel::for_each(0..10, |_| {});
    /// drop(entered);
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard::new(&self.shared)
    }

    /// The name from [`RuntimeBuilder::name`].
    ///
    /// Example: see [`Runtime::builder`].
    pub fn name(&self) -> &str {
        &self.shared.settings.name
    }

    /// How many threads run at once.
    ///
    /// Example: see [`Runtime::builder`].
    #[doc(alias = "current_num_threads")]
    pub fn workers(&self) -> usize {
        self.shared.idle.limit
    }

    /// Worker threads that exist or are about to, including sleeping ones and those started in place of blocked ones.
    ///
    /// They start when there is work for them; those beyond [`workers`](Self::workers) end after
    /// [`thread_keep_alive`](RuntimeBuilder::thread_keep_alive) without work.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// let runtime = Runtime::builder().workers(2).build()?;
    /// assert_eq!(runtime.threads(), 0);
    /// runtime.install(|| task::run(|| ())).join().unwrap();
    /// assert!((1..=2).contains(&runtime.threads()));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn threads(&self) -> usize {
        self.shared.idle.threads()
    }

    /// The index of the calling thread, if it is a worker of this runtime: the one that
    /// [`RuntimeBuilder::thread_name`] was given. An index is below [`workers`](Self::workers), or belongs to a thread
    /// beyond them.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// let runtime = Runtime::builder().workers(1).build_default()?;
    /// assert_eq!(runtime.worker_index(), None);
    /// assert_eq!(task::run(|| runtime.worker_index()).join().unwrap(), Some(0));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "current_thread_index")]
    pub fn worker_index(&self) -> Option<usize> {
        let (slot, shared) = current::worker()?;
        std::ptr::eq(shared, self.shared()).then(|| slot.worker())?
    }

    /// What the runtime does now, and what it has done so far.
    ///
    /// # Cost
    /// Some loads for each thread the runtime has ever had. Each task queue is locked while its tasks are counted.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().workers(2).build()?;
    /// runtime.install(|| manyhands::task::run(|| 6 * 7)).join().unwrap();
    /// let metrics = runtime.metrics();
    /// assert_eq!(metrics.workers, 2);
    /// assert!((1..=2).contains(&metrics.threads_started));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        Metrics::of(&self.shared)
    }

    /// Why the number of threads changed: the latest 200 changes, the oldest of them first. A thread that starts may run
    /// work a moment before its change is listed.
    ///
    /// # Examples
    /// ```
    /// use manyhands::diagnostics::ThreadChangeReason;
    /// use manyhands::{Runtime, task};
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// runtime.install(|| task::run(|| ())).join().unwrap();
    /// let changes = runtime.thread_changes();
    /// assert_eq!((changes[0].threads, changes[0].reason), (1, ThreadChangeReason::Warmup));
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn thread_changes(&self) -> Vec<ThreadChange> {
        self.shared.changes.latest.to_vec()
    }

    /// Computations that kept a worker for more than 10 ms while every place was taken: the latest 64, the oldest
    /// of them first. Short tasks pass them on a thread beyond the workers. Tasks of types that compute for long
    /// themselves wait until the runtime adds a thread for them: after half a second, or after five seconds where the
    /// workers do not have a processor each. Such a computation should be a loop or a `join`, or await at intervals.
    ///
    /// The monitor sees them in its sweeps, so it misses some.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().workers(1).build()?;
    /// for job in runtime.long_jobs() {
    ///     println!("{:?} in the task of {:?}", job.running_for, job.task);
    /// }
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn long_jobs(&self) -> Vec<LongJob> {
        self.shared.long_jobs.to_vec()
    }

    /// Ends the runtime: each worker finishes the closure, loop or poll that it runs; closures that have not started,
    /// and futures that are not ready, are dropped.
    ///
    /// They are dropped on the workers and on the calling thread. On both this runtime is the current one meanwhile: what
    /// a destructor spawns is dropped too and does not run, as it is after a shutdown in tokio, and waiting for that gives
    /// a cancellation error. Futures of [`spawn_local`](crate::task::spawn_local) are dropped on their workers.
    ///
    /// # Blocking
    /// Waits for the running work of its workers and for destructors, but not for itself when called from one of its own
    /// workers, nor for threads outside that take part in a call: threads of the runtime stay, and help, until such calls have
    /// ended. Nor does it wait for what a thread drops that a [`Handle`](crate::Handle) has brought when the end had begun. A
    /// destructor that waits keeps its thread, and up to
    /// [`max_threads`](RuntimeBuilder::max_threads) others go on. If the calling
    /// thread belongs to another runtime, a worker of that runs in its place meanwhile.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let waiting = runtime.install(|| task::spawn(std::future::pending::<()>()));
    /// runtime.shutdown_blocking();
    /// assert!(waiting.join().unwrap_err().is_cancelled());
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "shutdown")]
    pub fn shutdown_blocking(self) -> ShutdownReport {
        self.shared.close(None)
    }

    /// As [`shutdown_blocking`](Self::shutdown_blocking), but returns after `limit` at the latest, and reports what
    /// still runs.
    ///
    /// That goes on, with the help of the threads that it needs, until it ends or the process does. A thread that blocks
    /// or computes for ever is kept for ever.
    ///
    /// # Blocking
    /// Up to `limit` for the running work; and as long as the destructors take that run on the calling thread.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{Runtime, task};
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let (started, start) = mpsc::channel();
    /// let (let_go, gate) = mpsc::channel::<()>();
    /// let stuck = runtime.install(|| {
    ///     task::Builder::new().name("stuck").run(move || {
    ///         started.send(()).unwrap();
    ///         let _ = gate.recv();
    ///     })
    /// });
    /// start.recv().unwrap();
    /// let report = runtime.shutdown_timeout_blocking(Duration::from_millis(10));
    /// assert_eq!(report.unfinished[0].name.as_deref(), Some("stuck"));
    /// println!("not waited for: {}", report.unfinished[0]);
    /// drop(let_go);
    /// stuck.join().unwrap();
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    #[doc(alias = "shutdown_timeout")]
    pub fn shutdown_timeout_blocking(self, limit: Duration) -> ShutdownReport {
        self.shared.close(Some(limit))
    }

    /// As [`shutdown_timeout_blocking`](Self::shutdown_timeout_blocking) with a limit of zero: it may be called
    /// where blocking is not allowed, such as in a task of another runtime.
    ///
    /// # Examples
    /// ```
    /// let runtime = manyhands::Runtime::builder().workers(1).build()?;
    /// assert!(runtime.shutdown_background().unfinished.is_empty());
    /// # Ok::<(), manyhands::BuildError>(())
    /// ```
    pub fn shutdown_background(self) -> ShutdownReport {
        self.shutdown_timeout_blocking(Duration::ZERO)
    }

    pub(crate) fn from_shared(shared: Arc<RuntimeInner>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> &RuntimeInner {
        &self.shared
    }
}

impl RuntimeInner {
    /// Ends the runtime: workers finish what they run, what did not run is dropped and counted.
    ///
    /// It waits for them up to `limit`, if there is one; not at all when called from one of its own workers.
    pub(crate) fn close(&self, limit: Option<Duration>) -> ShutdownReport {
        if self.is_the_parent_s() {
            // The threads to wait for are not in this process.
            return ShutdownReport::default();
        }
        ending::close(self, || {
            let here = thread::current().id();
            let is_here = |thread: &thread::JoinHandle<()>| thread.thread().id() == here;
            if lock(&self.threads).iter().any(is_here) {
                return false;
            }
            blocking_on_others(|| self.await_threads(limit))
        });
        ShutdownReport {
            // Relaxed: an exact count once the threads have ended.
            dropped: self.dropped.load(Ordering::Relaxed),
            unfinished: self.all_slots().filter_map(UnfinishedWork::on).collect(),
            // Relaxed: as above.
            threads: self.alive.load(Ordering::Relaxed),
        }
    }

    /// Waits until no worker runs any more, up to `limit`, if there is one. Returns whether all have ended: those stay that
    /// calls of threads outside may need. With a limit it joins none: its thread-local destructors may take longer; so may a
    /// hook that the monitor runs, which ends with the last owner of this.
    fn await_threads(&self, limit: Option<Duration>) -> bool {
        let begun = clock::now();
        // Acquire: sees what they did.
        let is_alive = || self.alive.load(Ordering::Acquire) > 0;
        // Until the runtime has ended a worker may start, for a call or a task that a thread brings just now. A simulation starts none; and
        // where one was refused, and nobody takes part, perhaps nobody comes for what is queued.
        let is_simulated = self.clock.is_virtual();
        let may_come = || !self.refusal.is_refused() || self.idle.taking_part() != (0, 0);
        let may_start = || !is_simulated && !ending::is_over(self) && may_come();
        while may_start() || is_alive() {
            let left = limit.map(|limit| limit.saturating_sub(clock::now() - begun));
            if ending::is_left_to_calls(self) || left == Some(Duration::ZERO) {
                return false;
            }
            self.closing_waits.park_timeout(left);
        }
        if limit.is_some() {
            lock(&self.threads).clear();
            return true;
        }
        // Threads may still be started while others are waited for, until the runtime has ended.
        let next_thread = || lock(&self.threads).pop();
        while let Some(thread) = next_thread() {
            // A worker never panics: jobs do not unwind, hooks are caught. Held by
            // `tests/it/survival.rs::a_task_that_panics_when_dropped_is_contained_however_often_it_does` and
            // `tests/it/survival.rs::hooks_and_names_that_panic_with_anything_keep_no_worker_from_its_work`.
            let _ = thread.join();
        }
        self.monitor.close();
        self.close_timers();
        true
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // It may have been shut down, with a limit.
        if !self.shared.is_closing() {
            self.shared.close(None);
        }
    }
}

/// Prints what every thread does, for a watchdog to show when something hangs.
impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = |is_empty: bool| if is_empty { "none" } else { "waiting" };
        let shared = self.shared();
        let (workers, idle) = (self.workers(), &shared.idle);
        writeln!(f, "Runtime with {workers} workers, {idle:?}")?;
        let outside = waiting(!shared.has_tasks_outside());
        writeln!(f, "tasks from outside: {outside}")?;
        let mut slots = shared.all_slots();
        slots.try_for_each(|slot| {
            let (number, state, awaits) = (slot.number, slot.occupant(), slot.awaiting());
            if state == SlotState::None {
                return Ok(());
            }
            let (forks, private) = (slot.deque.len(), slot.deque.has_private(0));
            let private = if private { "some" } else { "none" };
            let (calls, counters) = (&*slot.open_calls, &*slot.counters);
            let tasks = waiting(slot.tasks.is_empty());
            write!(f, "worker slot {number}: {state:?}, awaits {awaits:?}, ")?;
            write!(f, "{forks} forks ({private} private), slots {calls:?}, ")?;
            writeln!(f, "tasks {tasks}, {counters:?}")
        })
    }
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use crate::runtime::{Activity, ending};
    use crate::{Runtime, task};
    use std::thread;

    #[test]
    fn an_end_waits_until_no_worker_may_start_for_a_task_that_is_brought_meanwhile() {
        let runtime = Runtime::builder().workers(1).build();
        let runtime = runtime.expect("the number is right");
        let shared = runtime.shared().to_arc();
        // Somebody seems to search, so no worker starts.
        shared.idle.begin(Activity::Searching);
        let brought = runtime.handle().run(|| ());
        shared.idle.end(Activity::Searching);
        let queue = shared.injector.shard(0);
        let job = queue.take_first().expect("nobody takes it");
        ending::close(&*shared, || {
            // After the closing thread has dropped what it found. The thread that brings it has not woken a worker yet.
            queue.push(job);
            thread::scope(|scope| {
                scope.spawn(|| shared.wake_if_nobody_searches());
                let have_all_ended = shared.await_threads(None);
                assert!(shared.ending.has_ended(), "a worker may start");
                have_all_ended
            })
        });
        let outcome: Result<(), task::JoinError> = brought.join();
        assert!(outcome.is_err_and(|error| error.is_cancelled()));
    }
}
