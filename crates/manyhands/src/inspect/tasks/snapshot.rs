//! What a program does at one moment, as plain values, and a task as its record shows it.
//!
//! Not here: taking it of all tasks (`take.rs`), and what follows from it (`analysis/deadlock.rs`).

use crate::inspect::tasks::outside;
use crate::priority::Priority;
use crate::recording::{
    AwaitedSet, ChannelSnapshot, Frame, Frames, LastWaker, LoopSnapshot, Record, RuntimeSnapshot,
    TaskKind, TaskNumber, TaskState, WaitKind, WaitRecord, elapsed,
};
use crate::sync::clock;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::panic::Location;
use std::time::Duration;

/// What the program does; made by [`snapshot`](crate::inspect::snapshot).
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
/// assert!(snapshot.tasks.iter().any(|task| task.spawned_at == Some(waiting.location())));
/// # }
/// # Ok::<(), manyhands::BuildError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The runtimes that exist.
    pub runtimes: Vec<RuntimeSnapshot>,
    /// The tasks that were recorded and have not ended, in the order of their numbers.
    pub tasks: Vec<TaskSnapshot>,
    /// The parallel loops that run, the oldest first.
    pub loops: Vec<LoopSnapshot>,
    /// The channels that exist, the oldest first.
    pub channels: Vec<ChannelSnapshot>,
    /// How many tasks of each scope and group there are.
    pub(in crate::inspect) set_sizes: BTreeMap<NonZeroU32, usize>,
}

/// A task that has not ended.
///
/// # Examples
/// A closure that looks at its own task:
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::inspect::{self, TaskKind, TaskState};
/// use manyhands::task;
/// manyhands::diagnostics::open();
/// let seen = task::Builder::new().name("clerk").run(|| {
///     let tasks = inspect::snapshot().tasks;
///     tasks.into_iter().find(|task| task.name.as_deref() == Some("clerk"))
/// });
/// let clerk = seen.join()?.unwrap();
/// assert_eq!((clerk.state, clerk.kind), (TaskState::Running, TaskKind::Closure));
/// assert!(clerk.polls == 1 && clerk.waits.is_empty() && clerk.busy <= clerk.age);
/// # }
/// # Ok::<(), manyhands::task::JoinError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskSnapshot {
    /// Its number.
    pub number: TaskNumber,
    /// What it is.
    pub kind: TaskKind,
    /// What its [`TaskId`](crate::task::TaskId) prints, in hexadecimal digits; 0 for a thread.
    pub id: usize,
    /// The name from [`task::Builder::name`](crate::task::Builder::name), or of the thread.
    pub name: Option<String>,
    /// The type of its closure or future; empty for a thread.
    pub type_name: &'static str,
    /// Its priority, from [`task::Builder::priority`](crate::task::Builder::priority); `None` for a thread.
    pub priority: Option<Priority>,
    /// Where it was spawned.
    pub spawned_at: Option<&'static Location<'static>>,
    /// The task that spawned it.
    pub parent: Option<TaskNumber>,
    /// The number of the runtime and of the worker that ran it last.
    pub ran_on: Option<(u32, usize)>,
    /// What it does.
    pub state: TaskState,
    /// How long it has been in this state.
    pub in_state: Duration,
    /// How long ago it was spawned, or first seen.
    pub age: Duration,
    /// How long it has run, waits of its thread not counted.
    pub busy: Duration,
    /// How often it was polled or run; not counted beyond [`u32::MAX`].
    pub polls: u64,
    /// How often it was woken; not counted beyond [`u32::MAX`].
    pub wakes: u64,
    /// Who has woken it last; `None` if nobody has.
    pub last_waker: Option<LastWaker>,
    /// What it waits for: any one of these lets it go on. What is outside this library comes last.
    pub waits: Vec<WaitSnapshot>,
    /// Recorded waits beyond the eight that are kept, first those inside combinators. One counts for each time that it was
    /// polled in the last poll of the task, also if it was given up in that.
    pub waits_left_out: u32,
    /// The frames that it is in, each behind the one around it.
    pub frames: Vec<FrameSnapshot>,
    /// Frames beyond the 32 that are kept, the innermost ones.
    pub frames_left_out: u32,
    /// The task may wait for something that is not recorded: more wakers of it exist than recorded waits, or it is not known.
    pub may_wait_for_more: bool,
    /// A number that changes with each poll, each wake, and each change of its waits.
    pub changes: u64,
    /// The scope or group that it belongs to.
    pub(in crate::inspect) set: Option<NonZeroU32>,
    /// How many wakers of it exist, if that is known.
    pub(in crate::inspect) wakers: Option<u32>,
    /// How many of `waits_left_out` wake it directly.
    pub(in crate::inspect) direct_waits_left_out: u32,
}

impl TaskSnapshot {
    /// What a record shows. A wait for a task that is not recorded yet has no owner.
    pub(in crate::inspect) fn of(number: TaskNumber, record: &Record) -> Self {
        // Read under the shard's lock, so nothing recorded there is later.
        let now = clock::ticks();
        let passed = |from: u64| elapsed(now.saturating_sub(from));
        let busy = match record.state {
            TaskState::Running => record.busy + now.saturating_sub(record.since),
            _ => record.busy,
        };
        let waits = &record.waits;
        let frames = waits.frames.as_deref();
        let ordered = frames.map_or_else(Vec::new, Frames::in_order);
        let wait = |wait: WaitRecord| WaitSnapshot {
            kind: wait.kind,
            name: wait.group_name(),
            resource: wait.resource,
            owner: wait.owner,
            at: record.line_of(&wait),
            waiting_for: match wait.since {
                0 => Duration::ZERO,
                since => passed(since),
            },
            set: wait.set,
            is_direct: wait.is_direct,
            frame: Frames::place_in(&ordered, wait.frame),
        };
        let outside = outside::waits_outside(record);
        let listed = waits.current().chain(outside);
        let frame = |&(frame, outer): &(Frame, _)| FrameSnapshot {
            name: frame.name,
            at: frame.at,
            outer,
        };
        Self {
            number,
            kind: record.kind(),
            id: record.id(),
            name: record.name.as_deref().map(str::to_owned),
            type_name: record.type_name(),
            priority: record.origin.map(|origin| origin.priority),
            spawned_at: record.spawned_at(),
            parent: record.parent,
            ran_on: record.ran_on,
            state: record.state,
            in_state: passed(record.since),
            age: passed(record.spawned),
            busy: elapsed(busy),
            polls: record.polls.into(),
            wakes: record.wakes.into(),
            last_waker: record.last_waker,
            waits: listed.map(wait).collect(),
            waits_left_out: waits.left_out,
            frames: ordered.iter().map(frame).collect(),
            frames_left_out: frames.map_or(0, |frames| frames.left_out),
            may_wait_for_more: outside::may_wait_for_more(record),
            changes: record.changes.into(),
            set: record.set,
            wakers: waits.wakers,
            direct_waits_left_out: waits.direct_left_out,
        }
    }
}

/// One thing that a task waits for.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::{channel, inspect, task};
/// use std::time::{Duration, Instant};
/// manyhands::diagnostics::open();
/// let (sender, receiver) = channel::bounded::<u32>(1);
/// let reader = task::Builder::new().name("reader").spawn(async move { receiver.recv().await });
/// let deadline = Instant::now() + Duration::from_secs(10);
/// let wait = loop {
///     let tasks = inspect::snapshot().tasks;
///     let reader = tasks.iter().find(|task| task.name.as_deref() == Some("reader"));
///     match reader.and_then(|reader| reader.waits.first()) {
///         Some(wait) => break wait.clone(),
///         None => assert!(Instant::now() < deadline),
///     }
/// };
/// assert_eq!((wait.kind, wait.owner), (inspect::WaitKind::Receive, None));
/// sender.send_blocking(7).unwrap();
/// assert_eq!(reader.join().unwrap(), Ok(7));
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitSnapshot {
    /// Of what kind.
    pub kind: WaitKind,
    /// The name of the group of tasks that it waits for, from [`TaskGroup::named`](crate::task::TaskGroup::named).
    pub name: Option<String>,
    /// A number that is the same for all waits for the same channel, completion, token or task.
    pub resource: usize,
    /// The task that it waits for, if it is a task and recorded.
    pub owner: Option<TaskNumber>,
    /// The line that waits: of the `.await`, or of the call. In another library if that polls it.
    pub at: &'static Location<'static>,
    /// For how long. A task that is polled again before this is there goes on with the same wait.
    pub waiting_for: Duration,
    /// The end of the wait wakes the task itself, not a combinator in it, which may hold more waits than these.
    pub is_direct: bool,
    /// The innermost frame that it is in, by its place in [`TaskSnapshot::frames`].
    pub frame: Option<usize>,
    /// The scope or group whose tasks it waits for.
    pub(in crate::inspect) set: Option<AwaitedSet>,
}

impl WaitSnapshot {
    /// It is for a task that was not recorded when it began.
    pub(in crate::inspect) fn lacks_owner(&self) -> bool {
        self.kind == WaitKind::Task && self.owner.is_none()
    }
}

/// A part of a task, made by [`diagnostics::framed`](crate::diagnostics::framed), that has begun and not ended.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::{channel, inspect, task};
/// use std::time::{Duration, Instant};
/// manyhands::diagnostics::open();
/// let (sender, receiver) = channel::bounded::<u32>(1);
/// let next = manyhands::diagnostics::framed("next order", async move { receiver.recv().await });
/// let shop = task::spawn(manyhands::diagnostics::framed("serve", next));
/// let deadline = Instant::now() + Duration::from_secs(10);
/// let frames = loop {
///     let mut tasks = inspect::snapshot().tasks.into_iter();
///     let shop = tasks.find(|task| task.spawned_at == Some(shop.location()) && !task.waits.is_empty());
///     match shop {
///         Some(shop) => break shop.frames,
///         None => assert!(Instant::now() < deadline),
///     }
/// };
/// assert_eq!((frames[0].name, frames[0].outer), ("serve", None));
/// assert_eq!((frames[1].name, frames[1].outer), ("next order", Some(0)));
/// sender.send_blocking(7).unwrap();
/// assert_eq!(shop.join().unwrap(), Ok(7));
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameSnapshot {
    /// Its name.
    pub name: &'static str,
    /// The line that calls [`diagnostics::framed`](crate::diagnostics::framed).
    pub at: &'static Location<'static>,
    /// The frame around it, by its place in [`TaskSnapshot::frames`].
    pub outer: Option<usize>,
}
