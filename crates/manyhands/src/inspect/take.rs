//! Taking a snapshot.

use crate::inspect::snapshot::Snapshot;
use crate::recording::enabled::loops::running as loops;
use crate::recording::enabled::waits::task_set;
use crate::recording::{channels, moment, runtimes, table};
use crate::sync::clock;
use manyhands_analysis::{Look, Record, SeenTask, SeenTasks, TaskNumber, WaitRecord, may_be_stuck};
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;

/// What the program does now. Without [`open`](crate::diagnostics::open) before it there are no tasks in it.
///
/// # Cost
/// A copy of what is recorded, up to 512 tasks at a time. A task that is among those that are being copied waits until that
/// is done before it runs, waits or ends.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::{inspect, task};
/// manyhands::diagnostics::open();
/// let task = task::spawn(std::future::pending::<()>());
/// assert!(!inspect::snapshot().tasks.is_empty());
/// task.abort();
/// # }
/// ```
#[must_use]
pub fn snapshot() -> Snapshot {
    clock::calibrate();
    let seen = seen_tasks(|_| true);
    Snapshot {
        runtimes: runtimes::read(),
        tasks: seen.tasks.iter().map(SeenTask::shown).collect(),
        loops: loops::read(),
        channels: channels::read(|_, _| true),
        seen,
    }
}

/// A copy of this record, in whose shard nothing changes meanwhile.
pub(in crate::inspect) fn seen(number: TaskNumber, record: &Record) -> SeenTask {
    SeenTask::new(number, record, moment(), task_set::name_of)
}

/// A look at what all runtimes do now.
pub(in crate::inspect) fn look_at_runtimes() -> Look {
    Look {
        at: clock::now(),
        runtimes: runtimes::read(),
    }
}

/// Calls `see` for the `tasks_max` tasks that have the lowest numbers, in the order of [`table::for_each`]. Returns how many
/// others there are: they are only counted, so a million tasks that nobody asked for cost little.
#[cfg(unix)]
pub(in crate::inspect) fn for_each_of_oldest(
    tasks_max: usize,
    mut see: impl FnMut(TaskNumber, u32, &Record),
) -> usize {
    let count = table::len();
    if tasks_max == 0 {
        return count;
    }
    let mut numbers = Vec::new();
    if count > tasks_max {
        table::for_each(|number, _, _| numbers.push(number));
    }
    let place = tasks_max.min(numbers.len()).checked_sub(1);
    // The highest of the lowest numbers; none if all are wanted.
    let last = place.map(|place| *numbers.select_nth_unstable(place).1);
    let (mut seen, mut left_out) = (0, 0);
    table::for_each(|number, version, record| {
        // Others may have begun meanwhile.
        if seen == tasks_max || last.is_some_and(|last| number > last) {
            left_out += 1;
        } else {
            seen += 1;
            see(number, version, record);
        }
    });
    left_out
}

/// The tasks that a deadlock can be of, and nothing else.
pub(in crate::inspect) fn tasks_that_wait_for_tasks() -> SeenTasks {
    seen_tasks(may_be_stuck)
}

/// The tasks that are wanted; sets are counted with all their tasks.
fn seen_tasks(is_wanted: impl Fn(&Record) -> bool) -> SeenTasks {
    let mut tasks = Vec::new();
    let mut set_sizes: BTreeMap<NonZeroU32, usize> = BTreeMap::new();
    table::for_each(|number, _, record| {
        if let Some(set) = record.set {
            *set_sizes.entry(set).or_default() += 1;
        }
        if is_wanted(record) {
            tasks.push(seen(number, record));
        }
    });
    tasks.sort_unstable_by_key(|task| task.number);
    find_owners(&mut tasks);
    SeenTasks { tasks, set_sizes }
}

/// Names the owners of waits that are older than the record of the task waited for. One that was spawned before the
/// recording was opened is recorded when it first runs.
pub(in crate::inspect) fn find_owners(tasks: &mut [SeenTask]) {
    let waits = tasks.iter_mut();
    let waits = waits.flat_map(|task| task.record.waits.without_owner());
    let waits: Vec<&mut WaitRecord> = waits.collect();
    let mut owners: HashMap<usize, Option<TaskNumber>> =
        waits.iter().map(|wait| (wait.resource, None)).collect();
    if owners.is_empty() {
        return;
    }
    // The handle that is waited on keeps the task's cell, so no other task has its address.
    table::for_each(|number, _, record| {
        if let Some(owner) = owners.get_mut(&record.id()) {
            *owner = Some(number);
        }
    });
    for wait in waits {
        wait.owner = owners[&wait.resource];
    }
}
