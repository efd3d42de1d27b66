//! Frozen tasks: a client of `inspect` may have a future held back instead of polled, until it is thawed.
//!
//! # States
//! A task is here or not, and with or without a waker:
//! - not here: workers poll it.
//! - *marked*: here, without a waker. It runs, waits, or is queued; no poll was held back.
//! - *held*: here, with a waker of its own. A poll was due, and a worker has left the waker here in place of it.
//!
//! ```text
//!              freeze              hold
//!   not here ─────────► marked ─────────► held
//!       ▲                 │                 │
//!       └─────────────────┴─────────────────┘
//!         thaw: the waker is woken · the task ends: the waker is dropped
//! ```
//!
//! # Threads
//! `freeze` is called by the thread of a connection, `hold` by the worker that has taken the task from a queue and would
//! poll it now, `thaw` by any connection's thread, `forget` by the thread that ends the task. A connection that ends thaws what it
//! has frozen (`inspect/serve/freezer.rs`).
//!
//! # Locks
//! The lock of the task's shard in the table of records, then that of `TASKS`. `freeze`, `hold` and `thaw` have both.
//! Nothing is woken or dropped under either: a wake records itself in the table, and the last waker frees a cell.
//!
//! # Why no frozen task is polled
//! A worker records that it begins a run under the lock of the shard, and calls `hold` under the same one. So of a freeze and
//! a run one is first. If the run is, `freeze` finds the task running, and says so. If the freeze is, `hold` finds the mark,
//! and the run ends without a poll. Between a freeze that found the task not running and the thaw there is no poll.
//!
//! # Why a thawed task is polled
//! A poll that was held back has to be made up for. The worker leaves a waker here and then ends its run as if the future had
//! been pending: the state word releases the runner, and the task is registered as waiting. Thawing takes the waker and
//! wakes the task. What is left to decide is whether that wake comes before the run has ended, and the state word decides
//! it, as for every wake: before, it is noted, and the runner queues the task; after it, the thawing thread does. Either way
//! the task is queued once, in the runtime, priority and worker's queue that its state leads to, and by one thread. If the
//! thaw finds no waker, no poll was held back since the mark: the mark is gone, so the next run polls.
//!
//! A wake of a held task queues it, and the worker that takes it holds it again, with the waker that is here already. A task
//! that is woken a thousand times while it is frozen is taken from a queue as often, and polled once after the thaw.
//!
//! # What freezing does not keep from happening
//! A poll that runs goes on. A cancelled task is dropped, whether it is frozen or not: its next run drops the future and
//! asks nobody here. So are the tasks of a runtime that ends: a held task is registered as waiting, and cancelled with the
//! others. A held task that has lost its handle and all other wakers is not dropped: the waker here is one.
//!
//! Closures cannot be frozen: they have no wakers, and a thread that joins one runs it in place.
//!
//! # Simulations
//! A simulation with a held task could go on, as soon as that is thawed: it waits for that, and its clock stands still
//! meanwhile. A thaw counts as under way until its waker was woken, so a simulation that finds none sees what earlier ones
//! have queued.
//!
//! Not here: which client may freeze (`inspect/serve/server.rs`, `inspect/serve/freezer.rs`), and the state word (`task/state.rs`).

use crate::recording::enabled::TaskNumber;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, lock};
use std::collections::BTreeMap;
use std::task::Waker;

/// A task that is here.
#[derive(Default)]
struct Frozen {
    /// The number of the freezer, a connection, that asked for it last.
    by: u64,
    /// Of a task that is held.
    waker: Option<Waker>,
    /// The runtime that holds it, if it is held.
    held_in: Option<u32>,
}

/// The tasks that are here, and those that are on their way out.
struct Tasks {
    frozen: BTreeMap<TaskNumber, Frozen>,
    /// How many were taken out and have not been woken or dropped yet.
    leaving: usize,
    /// How many have left.
    left: u64,
}

/// A task that was taken out. Its waker, if it was held, must be woken or dropped without the lock of the shard.
#[must_use]
pub(crate) struct TakenOut(Option<Waker>);

impl TakenOut {
    /// Wakes it if a poll was held back.
    pub(crate) fn wake(mut self) {
        self.0.take().into_iter().for_each(Waker::wake);
    }
}

impl Drop for TakenOut {
    fn drop(&mut self) {
        drop(self.0.take());
        let mut tasks = lock(&TASKS);
        tasks.leaving -= 1;
        tasks.left += 1;
        LEFT.notify_all();
    }
}

/// Marks a task for this freezer. One that is here already stays as it is, but for whose it is.
///
/// The caller has the lock of the task's shard, and has found its record there.
pub(crate) fn mark(number: TaskNumber, by: u64) {
    change(|tasks| tasks.frozen.entry(number).or_default().by = by);
}

/// A task is about to be polled in this runtime. True if it is not to be, because it is frozen: its waker is then here.
///
/// The caller has the lock of the task's shard.
pub(crate) fn hold(
    number: TaskNumber,
    runtime: Option<u32>,
    waker: impl FnOnce() -> Option<Waker>,
) -> bool {
    if !is_any() {
        return false;
    }
    let mut tasks = lock(&TASKS);
    let Some(frozen) = tasks.frozen.get_mut(&number) else {
        return false;
    };
    frozen.held_in = runtime;
    frozen.waker = frozen.waker.take().or_else(waker);
    frozen.waker.is_some()
}

/// Takes a task out.
pub(crate) fn take(number: TaskNumber) -> Option<TakenOut> {
    change(|tasks| {
        let frozen = tasks.frozen.remove(&number)?;
        tasks.leaving += 1;
        Some(TakenOut(frozen.waker))
    })
}

/// Waits until a task is thawed that this runtime holds. False, at once, if it holds none: what was thawed before has been
/// queued.
pub(crate) fn wait_for_thaw(runtime: u32) -> bool {
    let tasks = lock(&TASKS);
    let is_held = |frozen: &Frozen| frozen.waker.is_some() && frozen.held_in == Some(runtime);
    if tasks.leaving == 0 && !tasks.frozen.values().any(is_held) {
        return false;
    }
    let left = tasks.left;
    drop(LEFT.wait_while(tasks, |tasks| tasks.left == left));
    true
}

/// The task has ended, and its record is gone.
#[inline]
pub(crate) fn forget(number: TaskNumber) {
    if is_any() {
        drop(take(number));
    }
}

/// Whether a task is here.
pub(crate) fn is_frozen(number: TaskNumber) -> bool {
    is_any() && lock(&TASKS).frozen.contains_key(&number)
}

/// Whether a task is here, and this freezer's.
pub(crate) fn is_frozen_by(number: TaskNumber, by: u64) -> bool {
    let tasks = lock(&TASKS);
    let frozen = tasks.frozen.get(&number);
    frozen.is_some_and(|frozen| frozen.by == by)
}

/// The tasks that this freezer was the last to freeze.
pub(crate) fn all_of(by: u64) -> Vec<TaskNumber> {
    let tasks = lock(&TASKS);
    let all = tasks.frozen.iter().filter(|(_, frozen)| frozen.by == by);
    all.map(|(number, _)| *number).collect()
}

/// Whether any task is here.
#[inline]
fn is_any() -> bool {
    // Relaxed: a thread that asks about a task that was marked before has had the lock of its shard, or its record is gone, since
    // then; and each later count has that task in it until it is taken out.
    COUNT.load(Ordering::Relaxed) > 0
}

fn change<R>(change: impl FnOnce(&mut Tasks) -> R) -> R {
    let mut tasks = lock(&TASKS);
    let result = change(&mut tasks);
    // Relaxed: see `is_any`.
    COUNT.store(tasks.frozen.len(), Ordering::Relaxed);
    result
}

static TASKS: Mutex<Tasks> = Mutex::new(Tasks {
    frozen: BTreeMap::new(),
    leaving: 0,
    left: 0,
});

/// A task has left.
static LEFT: Condvar = Condvar::new();

/// How many they are.
static COUNT: AtomicUsize = AtomicUsize::new(0);
