//! What a program does at one moment, and a task as its record shows it.
//!
//! Not here: taking it of all tasks (`take.rs`), and what follows from it (`analysis/deadlock.rs`).

use crate::inspect::tasks::outside;
use crate::recording::{Frame, Frames, Record, TaskNumber, TaskState, WaitRecord, moment};
use manyhands_analysis::{self as analysis, Moment};
use manyhands_wire::{
    self as wire, Channel, Loop, Runtime, Starvation, Task, Wait, place, printable, word,
};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

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

/// Copies of records, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(in crate::inspect) struct SeenTasks {
    pub(in crate::inspect) tasks: Vec<SeenTask>,
    /// How many tasks of each scope and group there are.
    pub(in crate::inspect) set_sizes: BTreeMap<NonZeroU32, usize>,
}

/// A copy of a task's record.
#[derive(Debug, Clone)]
pub(in crate::inspect) struct SeenTask {
    pub(in crate::inspect) number: TaskNumber,
    /// When it was made.
    at: Moment,
    pub(in crate::inspect) record: Record,
}

impl SeenTask {
    /// Of this record, in whose shard nothing changes meanwhile.
    pub(in crate::inspect) fn new(number: TaskNumber, record: &Record) -> Self {
        Self {
            number,
            // Nothing that is recorded there is later.
            at: moment(),
            record: record.clone(),
        }
    }

    /// What is shown of it. A wait for a task that is not recorded yet has no owner.
    pub(in crate::inspect) fn shown(&self) -> Task {
        let record = &self.record;
        let passed = |from: u64| self.at.micros_since(from);
        let busy = match record.state {
            TaskState::Running => record.busy + self.at.ticks.saturating_sub(record.since),
            _ => record.busy,
        };
        let waits = &record.waits;
        let frames = waits.frames.as_deref();
        let ordered = frames.map_or_else(Vec::new, Frames::in_order);
        let wait = |wait: WaitRecord| Wait {
            kind: word(wait.kind),
            name: wait.group_name().as_deref().map(printable),
            resource: format!("{:x}", wait.resource),
            owner: wait.owner.map(|owner| owner.to_string()),
            at: place(record.line_of(&wait)),
            waiting_us: match wait.since {
                0 => 0,
                since => passed(since),
            },
            direct: wait.is_direct,
            frame: Frames::place_in(&ordered, wait.frame),
        };
        let outside = outside::waits_outside(record);
        let listed = waits.current().chain(outside);
        let frame = |&(frame, outer): &(Frame, _)| wire::Frame {
            name: printable(frame.name),
            at: place(frame.at),
            outer,
        };
        Task {
            number: self.number.to_string(),
            kind: record.kind().to_owned(),
            id: format!("{:x}", record.id()),
            name: record.name.as_deref().map(printable),
            type_name: printable(record.type_name()),
            priority: record.origin.map(|origin| word(origin.priority)),
            spawned_at: record.spawned_at().map(place),
            parent: record.parent.map(|parent| parent.to_string()),
            runtime: record.ran_on.map(|(runtime, _)| runtime),
            worker: record.ran_on.map(|(_, worker)| worker),
            state: word(record.state),
            in_state_us: passed(record.since),
            age_us: passed(record.spawned),
            busy_us: self.at.micros(busy),
            polls: record.polls.into(),
            wakes: record.wakes.into(),
            last_waker: record.woken_in_tokio.map(|in_tokio| {
                let name = if in_tokio { "tokio" } else { "other" };
                name.to_owned()
            }),
            waits: listed.map(wait).collect(),
            waits_left_out: waits.left_out,
            frames: ordered.iter().map(frame).collect(),
            frames_left_out: frames.map_or(0, |frames| frames.left_out),
            may_wait_for_more: outside::may_wait_for_more(record),
            changes: record.changes.into(),
        }
    }
}
