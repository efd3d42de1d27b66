//! What a program does at one moment.
//!
//! Not here: taking it (`take.rs`), and how what follows from it is found (the crate `manyhands-analysis`).

use manyhands_analysis::{self as analysis, Ring, SeenTasks};
use manyhands_wire::{Channel, Deadlock, Loop, Runtime, Starvation, Task};

/// What the program does, in the words of the socket; made by [`snapshot`](crate::inspect::snapshot).
///
/// Each task and each worker is as it was at one moment; those of different ones lie a moment apart.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::{Runtime, inspect, task};
/// manyhands::diagnostics::open();
/// let runtime = Runtime::builder().workers(1).name("inspected").build()?;
/// let waiting = runtime.install(|| task::spawn(std::future::pending::<()>()));
/// let snapshot = inspect::snapshot();
/// assert!(snapshot.runtimes.iter().any(|runtime| runtime.name == "inspected"));
/// let spawned_at = Some(waiting.location().to_string());
/// assert!(snapshot.tasks.iter().any(|task| task.spawned_at == spawned_at));
/// # }
/// # Ok::<(), manyhands::BuildError>(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Snapshot {
    /// The runtimes that exist.
    pub runtimes: Vec<Runtime>,
    /// The tasks that were recorded and have not ended, in the order of their numbers.
    pub tasks: Vec<Task>,
    /// The parallel loops that run, the oldest first.
    pub loops: Vec<Loop>,
    /// The channels that exist, the oldest first.
    pub channels: Vec<Channel>,
    /// The records of these tasks, in which deadlocks are looked for.
    pub(in crate::inspect) seen: SeenTasks,
}

impl Snapshot {
    /// The deadlocks in this snapshot. `earlier` is one that was taken before, by some ten milliseconds best: only
    /// waits that both contain and that have not changed count, so there are no false ones among tasks that go on.
    ///
    /// A deadlock lasts until a task of it is cancelled. Waits are followed to tasks: for a task, for the end of a
    /// [`scope_blocking`](crate::task::scope_blocking()), for the next task of a [`TaskGroup`](crate::task::TaskGroup) or
    /// of [`when_each`](crate::task::when_each()), for all handles of [`when_all`](crate::task::when_all()), if these were made
    /// while recording was open. A `when_all` of other futures leads to no task, because these may wait for anything. A wait
    /// for a channel or a completion leads to none, because it is not known who will serve it: each end can be cloned, and
    /// moved into any task, thread or callback, of which the library learns nothing.
    ///
    /// # Examples
    /// Two closures that join each other:
    /// ```
    /// # #[cfg(feature = "inspect-unstable")] {
    /// use manyhands::{channel, inspect, task};
    /// use std::time::{Duration, Instant};
    ///
    /// manyhands::diagnostics::open();
    /// let pass = || channel::bounded::<task::JoinHandle<()>>(1);
    /// let ((to_a, from_b), (to_b, from_a)) = (pass(), pass());
    /// let a = task::Builder::new().name("a").run(move || drop(from_b.recv_blocking().unwrap().join()));
    /// let b = task::Builder::new().name("b").run(move || drop(from_a.recv_blocking().unwrap().join()));
    /// to_a.send_blocking(b)?;
    /// to_b.send_blocking(a)?;
    ///
    /// let deadline = Instant::now() + Duration::from_secs(30);
    /// let mut earlier = inspect::snapshot();
    /// let deadlock = loop {
    ///     assert!(Instant::now() < deadline);
    ///     let now = inspect::snapshot();
    ///     if let Some(deadlock) = now.deadlocks(&earlier).pop() {
    ///         break deadlock;
    ///     }
    ///     earlier = now;
    /// };
    /// let names: Vec<_> = deadlock.tasks.iter().filter_map(|task| task.name.as_deref()).collect();
    /// assert!(deadlock.certain && names.len() == 2 && names.contains(&"a"));
    /// println!("{}", deadlock.text);
    /// # std::process::exit(0); // the two wait for ever
    /// # }
    /// # Ok::<(), manyhands::channel::SendError<manyhands::task::JoinHandle<()>>>(())
    /// ```
    #[must_use]
    pub fn deadlocks(&self, earlier: &Self) -> Vec<Deadlock> {
        let rings = analysis::deadlocks(&self.seen, &earlier.seen);
        rings.iter().map(Ring::shown).collect()
    }

    /// The runtimes that were starved from `earlier` to this snapshot: tasks were queued, all workers were blocked in the
    /// same pieces of work or busy with them, and no thread could be added. Between the two should lie more time than a
    /// piece of work may keep a worker: some hundred milliseconds.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "inspect-unstable")] {
    /// use manyhands::{Runtime, inspect, task};
    /// use std::sync::Mutex;
    /// use std::time::{Duration, Instant};
    ///
    /// static LOCK: Mutex<()> = Mutex::new(());
    /// let held = LOCK.lock().unwrap();
    /// let runtime = Runtime::builder().workers(1).max_threads(1).name("small").build()?;
    /// let tasks = runtime.install(|| [0; 3].map(|_| task::run(|| drop(LOCK.lock().unwrap()))));
    ///
    /// let deadline = Instant::now() + Duration::from_secs(30);
    /// let starvation = loop {
    ///     assert!(Instant::now() < deadline);
    ///     let earlier = inspect::snapshot();
    ///     std::thread::sleep(Duration::from_millis(200));
    ///     if let Some(starvation) = inspect::snapshot().starvations(&earlier).pop() {
    ///         break starvation;
    ///     }
    /// };
    /// assert_eq!((starvation.name.as_str(), starvation.queued), ("small", 2));
    /// println!("{}", starvation.text);
    /// drop(held);
    /// for task in tasks {
    ///     task.join()?;
    /// }
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn starvations(&self, earlier: &Self) -> Vec<Starvation> {
        analysis::starvations(&self.runtimes, &earlier.runtimes)
    }
}
