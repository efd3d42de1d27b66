//! What has changed since it was sent last: for a client that asks again and again. For one that has been sent nothing that is
//! a snapshot of all.
//!
//! All tasks are looked through each time, but only those that have changed become text.
//!
//! Not here: how news are found (`sent.rs`), and snapshots inside the program (`tasks/take.rs`).

use crate::inspect::serve::sent::Sent;
use crate::inspect::tasks::snapshot::TaskSnapshot;
use crate::inspect::tasks::take::{find_owners, for_each_of_oldest};
use crate::recording::enabled::loops::running as loops;
use crate::recording::{
    ChannelLoad, ChannelSnapshot, LoopSnapshot, RuntimeSnapshot, TaskNumber, WaitKind, channels,
    runtimes,
};
use crate::sync::clock;
use std::collections::HashSet;

/// What one connection was sent.
#[derive(Debug, Default)]
pub(super) struct SentOfProgram {
    /// With the version of the record.
    tasks: Sent<((usize, usize), TaskNumber), u32>,
    /// Tasks that waited for one that was not recorded yet. Once that is, they are shown differently without a change of
    /// their own.
    without_owner: HashSet<TaskNumber>,
    channels: Sent<u64, Option<ChannelLoad>>,
}

/// What there is to tell.
#[derive(Debug)]
pub(super) struct Changes {
    /// All.
    pub(super) runtimes: Vec<RuntimeSnapshot>,
    /// Those that are new or have changed, in the order of their numbers.
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

impl SentOfProgram {
    /// What has changed since the last call, of the oldest tasks and channels, at most `tasks_max` each. A task that is not
    /// among these any more is gone.
    pub(super) fn changes(&mut self, tasks_max: usize) -> Changes {
        clock::calibrate();
        let mut tasks = Vec::new();
        let mut sending = self.tasks.begin();
        let without_owner = &self.without_owner;
        let tasks_left_out = for_each_of_oldest(tasks_max, |entry| {
            let number = entry.number;
            let is_news = sending.is_news((number.in_table(), number), entry.version);
            if is_news || (!without_owner.is_empty() && without_owner.contains(&number)) {
                tasks.push(TaskSnapshot::of(number, entry.record()));
            }
        });
        let tasks_gone = self.tasks.end(sending);
        tasks.sort_unstable_by_key(|task| task.number);
        find_owners(&mut tasks);
        let without_owner = tasks.iter().filter(|task| lacks_owner(task));
        self.without_owner = without_owner.map(|task| task.number).collect();
        let mut channels = channels::read();
        let channels_left_out = channels.len().saturating_sub(tasks_max);
        channels.truncate(tasks_max);
        let mut sending = self.channels.begin();
        channels.retain(|channel| sending.is_news(channel.number, channel.load));
        Changes {
            runtimes: runtimes::read(),
            tasks,
            loops: loops::read(),
            channels,
            tasks_gone: tasks_gone.into_iter().map(|(_, number)| number).collect(),
            channels_gone: self.channels.end(sending),
            tasks_left_out,
            channels_left_out,
        }
    }
}

fn lacks_owner(task: &TaskSnapshot) -> bool {
    let mut waits = task.waits.iter();
    waits.any(|wait| wait.kind == WaitKind::Task && wait.owner.is_none())
}
