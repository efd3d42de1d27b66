//! What has changed since it was told last: for who looks at a program again and again.
//!
//! All tasks are looked through each time, but only those that have changed become text.
//!
//! Not here: how news are found (`told.rs`), and a look at everything (`take.rs`).

use crate::inspect::channel_snapshot::{ChannelLoad, ChannelSnapshot};
use crate::inspect::loop_snapshot::LoopSnapshot;
use crate::inspect::snapshot::{RuntimeSnapshot, TaskSnapshot};
use crate::inspect::table::{Place, Record, TaskNumber};
use crate::inspect::take::{find_owners, for_each_of_oldest, task_of};
use crate::inspect::task_state::TaskState;
use crate::inspect::told::Told;
use crate::inspect::wait_kind::WaitKind;
use crate::inspect::{channels, loops, runtimes};
use crate::sync::clock;

/// What one connection was told.
#[derive(Debug)]
pub(super) struct ToldOfProgram {
    tasks: Told<(Place, TaskNumber), Seen>,
    channels: Told<u64, Option<ChannelLoad>>,
}

/// Tells one moment of a task from another. All else of it that is shown follows from these, or never changes.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    changes: u64,
    state: TaskState,
    since: u64,
}

/// What there is to tell.
#[derive(Debug)]
pub(super) struct Changes {
    /// All.
    pub(super) runtimes: Vec<RuntimeSnapshot>,
    /// Those that are new or have changed.
    pub(super) tasks: Vec<TaskSnapshot>,
    /// All.
    pub(super) loops: Vec<LoopSnapshot>,
    /// Those that are new or have changed.
    pub(super) channels: Vec<ChannelSnapshot>,
    pub(super) tasks_gone: Vec<TaskNumber>,
    pub(super) channels_gone: Vec<u64>,
    pub(super) tasks_left_out: usize,
    pub(super) channels_left_out: usize,
}

impl ToldOfProgram {
    /// Nothing yet.
    pub(super) fn nothing() -> Self {
        Self {
            tasks: Told::nothing(),
            channels: Told::nothing(),
        }
    }

    /// What has changed since the last call, of the oldest tasks and channels, at most `tasks_max` each. A task that is not
    /// among these any more is gone.
    pub(super) fn changes(&mut self, tasks_max: usize) -> Changes {
        clock::calibrate();
        let mut tasks = Vec::new();
        let mut telling = self.tasks.begin();
        let tasks_left_out = for_each_of_oldest(tasks_max, |number, record| {
            let is_news = telling.is_news((number.in_table(), number), seen(record));
            if is_news || lacks_owner(record) {
                tasks.push(task_of(number, record));
            }
        });
        let tasks_gone = self.tasks.end(telling);
        find_owners(&mut tasks);
        let mut channels = channels::read();
        let channels_left_out = channels.len().saturating_sub(tasks_max);
        channels.truncate(tasks_max);
        let mut telling = self.channels.begin();
        channels.retain(|channel| telling.is_news(channel.number, channel.load));
        Changes {
            runtimes: runtimes::read(),
            tasks,
            loops: loops::read(),
            channels,
            tasks_gone: tasks_gone.into_iter().map(|(_, number)| number).collect(),
            channels_gone: self.channels.end(telling),
            tasks_left_out,
            channels_left_out,
        }
    }
}

fn seen(record: &Record) -> Seen {
    Seen {
        changes: record.changes,
        state: record.state,
        since: record.since,
    }
}

/// Whether it waits for a task that was not recorded yet. Once that is, this one is shown differently without a change of
/// its own.
fn lacks_owner(record: &Record) -> bool {
    let mut waits = record.waits.list.iter();
    waits.any(|wait| wait.kind == WaitKind::Task && wait.owner.is_none())
}
