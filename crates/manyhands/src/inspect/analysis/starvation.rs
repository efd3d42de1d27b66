//! Starved runtimes: tasks wait in the queues, and no thread takes one.
//!
//! A runtime is starved from one look to a later one if tasks were queued at both, each of its workers was at the same piece
//! of work, blocked or not, and no worker could be added. A worker that has ended a piece of work, has stolen one or has
//! slept in between has looked into the queues.
//!
//! Pure functions of snapshots. Not here: the report of the runtime itself, when all its threads are blocked
//! (`runtime/monitor/stall.rs`).

use crate::inspect::printable::Printable;
use crate::inspect::tasks::snapshot::Snapshot;
use crate::recording::{NoMoreThreads, RuntimeSnapshot, WorkerSnapshot, WorkerState};
use std::fmt;
use std::time::Duration;

/// A runtime whose queued tasks no thread takes; found by [`Snapshot::starvations`].
///
/// Its text names each worker with the line on which its task was spawned.
///
/// Example: see [`Snapshot::starvations`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Starvation {
    /// The runtime, as it is now.
    pub runtime: RuntimeSnapshot,
    /// How many of its tasks are queued; of each queue up to 10,000 are counted.
    pub queued: usize,
    /// Why it gets no other thread.
    pub because: NoMoreThreads,
}

impl Snapshot {
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
    /// assert_eq!((starvation.runtime.name.as_str(), starvation.queued), ("small", 2));
    /// println!("{starvation}");
    /// drop(held);
    /// for task in tasks {
    ///     task.join()?;
    /// }
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn starvations(&self, earlier: &Self) -> Vec<Starvation> {
        starvations(&self.runtimes, &earlier.runtimes)
    }
}

/// As [`Snapshot::starvations`], of the runtimes in two snapshots.
pub(in crate::inspect) fn starvations(
    now: &[RuntimeSnapshot],
    earlier: &[RuntimeSnapshot],
) -> Vec<Starvation> {
    let before = |now: &RuntimeSnapshot| {
        let mut earlier = earlier.iter();
        earlier.find(|earlier| earlier.number == now.number)
    };
    let starved = now.iter().filter_map(|now| starvation(now, before(now)?));
    starved.collect()
}

fn starvation(now: &RuntimeSnapshot, earlier: &RuntimeSnapshot) -> Option<Starvation> {
    let because = now.no_more_threads?;
    let queued = queued(now);
    let is_starved = earlier.no_more_threads.is_some()
        && queued > 0
        && self::queued(earlier) > 0
        && have_all_stayed(now, earlier);
    is_starved.then(|| Starvation {
        runtime: now.clone(),
        queued,
        because,
    })
}

/// Tasks that wait for a worker.
fn queued(runtime: &RuntimeSnapshot) -> usize {
    let own: usize = runtime.workers.iter().map(|worker| worker.queued).sum();
    runtime.queued_outside + runtime.queued_with_priority + own
}

/// Whether each worker is still at the piece of work at which it was earlier. A runtime without workers has them all there
/// if the system lets it have none.
fn have_all_stayed(now: &RuntimeSnapshot, earlier: &RuntimeSnapshot) -> bool {
    let (workers, before) = (workers(now), workers(earlier));
    let has_stayed = |(now, earlier): (&&WorkerSnapshot, &&WorkerSnapshot)| {
        let what = |worker: &WorkerSnapshot| {
            let counts = (worker.completed, worker.steals, worker.parks);
            (worker.index, counts, worker.task_spawned_at)
        };
        now.state != WorkerState::Idle
            && earlier.state != WorkerState::Idle
            && what(now) == what(earlier)
    };
    workers.len() == now.threads
        && earlier.threads == now.threads
        && before.len() == workers.len()
        && (now.threads > 0 || now.no_more_threads == Some(NoMoreThreads::Refused))
        && workers.iter().zip(&before).all(has_stayed)
}

/// Without external threads, which run only what they wait for.
fn workers(runtime: &RuntimeSnapshot) -> Vec<&WorkerSnapshot> {
    let workers = runtime.workers.iter();
    let mut workers: Vec<_> = workers.filter(|worker| worker.index.is_some()).collect();
    workers.sort_unstable_by_key(|worker| worker.index);
    workers
}

impl fmt::Display for Starvation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = workers(&self.runtime);
        let tasks = match self.queued {
            1 => "1 task waits".to_owned(),
            count => format!("{count} tasks wait"),
        };
        write!(
            f,
            "runtime '{}' is starved: {tasks} for a thread, ",
            Printable(&self.runtime.name)
        )?;
        match workers.len() {
            0 => f.write_str("it has none")?,
            1 => f.write_str("its only worker is still busy with the same work")?,
            count => write!(f, "all {count} workers are still busy with the same work")?,
        }
        write!(f, ", and none is added because {}", self.because)?;
        for worker in workers.iter().take(SHOWN_MAX) {
            write!(f, "\n  {}", named(worker))?;
        }
        if workers.len() > SHOWN_MAX {
            write!(f, "\n  and {} more", workers.len() - SHOWN_MAX)?;
        }
        f.write_str(match self.because {
            NoMoreThreads::Limit => {
                "\n  raise RuntimeBuilder::max_threads, or neither block nor compute for long in its tasks"
            }
            NoMoreThreads::Memory => "\n  neither block nor compute for long in its tasks",
            NoMoreThreads::Refused => {
                "\n  raise the system's limits of processes and memory, or neither block nor \
                 compute for long in its tasks"
            }
        })
    }
}

/// A worker in a sentence.
fn named(worker: &WorkerSnapshot) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        if let Some(index) = worker.index {
            write!(f, "worker {index} ")?;
        }
        f.write_str(match worker.state {
            WorkerState::Blocked => "waits",
            _ if worker.sleeps_in_kernel => "sleeps in the kernel",
            _ => "runs",
        })?;
        match worker.task_spawned_at {
            Some(at) => write!(f, " in the task spawned at {}", Printable(&at.to_string())),
            None => Ok(()),
        }
    })
}

/// Two looks that find a runtime starved are at least so far apart: work that keeps all workers for a shorter time is usual.
pub(in crate::inspect) const STARVED_FOR: Duration = Duration::from_millis(400);
/// Workers that are named.
const SHOWN_MAX: usize = 16;

#[cfg(test)]
pub(in crate::inspect) mod tests {
    use super::{Starvation, starvations};
    use crate::recording::NoMoreThreads;
    use crate::recording::enabled::runtime_snapshot::{
        RuntimeSnapshot, WorkerSnapshot, WorkerState,
    };
    use std::panic::Location;

    /// What is different at one of two looks, whether the runtime is starved then, and how it comes to be different.
    type Case = (&'static str, bool, fn(&mut RuntimeSnapshot));

    /// A runtime of two workers at its limit, with a task in its queue.
    pub(in crate::inspect) fn starved() -> RuntimeSnapshot {
        RuntimeSnapshot {
            number: 1,
            name: "test".to_owned(),
            limit: 2,
            threads: 2,
            threads_max: 2,
            no_more_threads: Some(NoMoreThreads::Limit),
            queued_outside: 1,
            queued_with_priority: 0,
            started_for_declared: 0,
            started_for_detected: 0,
            started_for_starved: 0,
            workers: vec![worker(Some(0)), worker(Some(1))],
        }
    }

    fn worker(index: Option<usize>) -> WorkerSnapshot {
        WorkerSnapshot {
            index,
            state: WorkerState::Running,
            sleeps_in_kernel: false,
            task_spawned_at: Some(Location::caller()),
            queued: 0,
            forks: 0,
            completed: 7,
            steals: 2,
            parks: 3,
            thread: 0,
        }
    }

    fn found(now: RuntimeSnapshot, earlier: RuntimeSnapshot) -> Vec<Starvation> {
        starvations(&[now], &[earlier])
    }

    #[test]
    fn workers_that_stay_at_the_same_work_starve_a_runtime_that_gets_no_more_threads() {
        let changes: [Case; 8] = [
            ("nothing", true, |_| ()),
            ("blocked", true, |now| {
                now.workers[1].state = WorkerState::Blocked;
            }),
            ("more tasks come", true, |now| now.queued_outside = 9),
            ("tasks of a worker", true, |now| {
                now.queued_outside = 0;
                now.workers[0].queued = 1;
            }),
            ("tasks with a priority", true, |now| {
                now.queued_outside = 0;
                now.queued_with_priority = 1;
            }),
            ("forks wait for their own task", true, |now| {
                now.workers[0].forks = 3;
            }),
            ("an external thread comes", true, |now| {
                now.workers.push(WorkerSnapshot {
                    state: WorkerState::Idle,
                    ..worker(None)
                });
            }),
            ("the order", true, |now| now.workers.reverse()),
        ];
        let ends: [Case; 10] = [
            ("nothing is queued", false, |now| now.queued_outside = 0),
            ("one may be added", false, |now| now.no_more_threads = None),
            ("idle", false, |now| {
                now.workers[0].state = WorkerState::Idle;
            }),
            ("completed", false, |now| now.workers[1].completed += 1),
            ("stole", false, |now| now.workers[1].steals += 1),
            ("slept", false, |now| now.workers[1].parks += 1),
            ("another task", false, |now| {
                now.workers[0].task_spawned_at = None;
            }),
            ("a thread begins", false, |now| now.threads = 3),
            ("a worker has come", false, |now| {
                now.workers.push(worker(Some(2)));
                now.threads = 3;
            }),
            ("another runtime", false, |now| now.number = 2),
        ];
        for (what, is_starved, change) in changes.into_iter().chain(ends) {
            let mut now = starved();
            change(&mut now);
            assert_eq!(
                found(now.clone(), starved()).len(),
                usize::from(is_starved),
                "{what}"
            );
            assert_eq!(
                found(starved(), now).len(),
                usize::from(is_starved),
                "before: {what}"
            );
        }
    }

    #[test]
    fn a_runtime_without_threads_is_starved_only_if_the_system_refuses_them() {
        for (because, count) in [
            (NoMoreThreads::Limit, 0),
            (NoMoreThreads::Memory, 0),
            (NoMoreThreads::Refused, 1),
        ] {
            let mut none = starved();
            none.workers.clear();
            none.threads = 0;
            none.no_more_threads = Some(because);
            assert_eq!(found(none.clone(), none).len(), count, "{because}");
        }
    }

    #[test]
    fn the_text_says_who_does_what_why_no_thread_comes_and_what_helps() {
        let mut runtime = starved();
        runtime.name = "evil\x1b[2J".to_owned();
        runtime.workers[0].state = WorkerState::Blocked;
        runtime.workers[1].sleeps_in_kernel = true;
        let [starvation] = &found(runtime.clone(), runtime.clone())[..] else {
            panic!("it is starved");
        };
        let text = starvation.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "runtime 'evil\\u{1b}[2J' is starved: 1 task waits for a thread, all 2 workers are \
             still busy with the same work, and none is added because the limit is reached"
        );
        assert!(
            lines[1].starts_with("  worker 0 waits in the task spawned at "),
            "{text}"
        );
        assert!(
            lines[2].starts_with("  worker 1 sleeps in the kernel in the task "),
            "{text}"
        );
        assert!(lines[1].contains("starvation.rs:"), "{text}");
        assert!(
            lines[3].contains("raise RuntimeBuilder::max_threads"),
            "{text}"
        );
        runtime.workers = (0..20).map(|index| worker(Some(index))).collect();
        runtime.threads = 20;
        let text = found(runtime.clone(), runtime)[0].to_string();
        assert!(text.contains("\n  worker 15 runs in the task") && text.contains("and 4 more"));
    }
}
