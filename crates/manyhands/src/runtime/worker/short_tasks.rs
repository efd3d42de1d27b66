//! Short tasks while long ones occupy every worker: where a thread beyond the limit finds one.
//!
//! When every thread that may run is inside a job for long, a task that waits has to wait for the end of one of them. The
//! monitor sees that and lets a thread beyond the limit run, for *short tasks* only: those whose kind, the type of
//! their closure or future, it has not seen to compute for long. So a cheap request passes expensive ones, and
//! expensive ones do not compete with each other for processors.
//!
//! No task depends on this: it only comes earlier. Every worker takes tasks of all kinds when a place is free.
//!
//! A short task may lie behind any number of long ones. So a search goes through a queue to its first short task, and sets
//! the long ones aside, in a queue of their own: the next search does not meet them again, and workers take from there
//! before they take newer tasks.
//!
//! Not here: seeing that every worker is occupied (`monitor/overcommit.rs`), which kinds are long (`job/long_kinds.rs`), and
//! waking the thread (`sleep/waking.rs`).
//!
//! Unsafe: jobs are reached by pointer.

use crate::job::Job;
use crate::queue::{Run, TaskQueue, Unqueued};
use crate::runtime::policy::TASKS_TAKEN_MAX;
use crate::runtime::{OccupiedSlot, RuntimeInner, waking};

/// Worker beyond the limit: takes a short task that waits anywhere, but for those bound to other workers.
pub(crate) fn find(shared: &RuntimeInner, slot: &'static OccupiedSlot) -> Option<Unqueued<Job>> {
    let interactive = &shared.priority_queues.interactive;
    let interactive = interactive.take(|| slot.home_shard(), 1);
    let take = |queue| take_short(shared, slot, queue);
    let take_of_others = || {
        let others = shared.other_slots(slot, slot.next_random() as usize);
        let mut others = others.filter(|other| !slot.is_in_grace(other));
        others.find_map(|other| take(&other.tasks))
    };
    let found = interactive
        .map(|run| run.split_first().0)
        .or_else(|| take(&slot.tasks))
        .or_else(take_of_others)
        .or_else(|| shared.injector.shards().find_map(take))?;
    shared.short_tasks_found.bump();
    Some(found)
}

/// Takes tasks up to the first short one, sets the long ones before it aside, and keeps short ones that it took with it as
/// the worker's own.
fn take_short(
    shared: &RuntimeInner,
    slot: &OccupiedSlot,
    queue: &TaskQueue<Job>,
) -> Option<Unqueued<Job>> {
    loop {
        let run = queue.take(TASKS_TAKEN_MAX)?;
        if let Some(short) = split(shared, slot, run) {
            return Some(short);
        }
    }
}

/// Sets the long tasks of a run aside, and puts the short ones behind the first into the worker's own queue.
fn split(shared: &RuntimeInner, slot: &OccupiedSlot, run: Run<Job>) -> Option<Unqueued<Job>> {
    let is_long = |job: &Job| shared.long_kinds.has(job.kind());
    let [short, long] = run.partition(is_long);
    if let Some(long) = long {
        shared.set_aside.append(long);
        // A worker may have looked for work while they were in no queue.
        waking::leave_rest(shared, true);
    }
    let (first, others) = short?.split_first();
    if let Some(others) = others {
        slot.steal_grace.end();
        slot.tasks.append(others);
    }
    Some(first)
}
