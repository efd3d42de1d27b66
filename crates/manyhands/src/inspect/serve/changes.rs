//! What has changed since it was sent last: for a client that asks again and again. For one that has been sent nothing that is
//! a snapshot of all.
//!
//! All tasks are looked through each time, but only those that have changed become text.
//!
//! Not here: how news are found (`sent.rs`), and snapshots inside the program (`tasks/take.rs`).

use crate::inspect::serve::sent::Sent;
use crate::inspect::serve::wire::{self, say, say_all};
use crate::inspect::tasks::snapshot::{TaskSnapshot, WaitSnapshot};
use crate::inspect::tasks::take::{find_owners, for_each_of_oldest};
use crate::recording::enabled::loops::running as loops;
use crate::recording::{ChannelLoad, TaskNumber, channels, runtimes};
use crate::sync::clock;
use std::collections::HashSet;
use std::io::{self, Write};

/// What one connection was sent.
#[derive(Default)]
pub(super) struct SentOfProgram {
    /// By shard, place and number, which rise from one record to the next of the table; with the version of the record.
    tasks: Sent<(usize, usize, TaskNumber), u32>,
    /// Tasks that waited for one that was not recorded yet. Once that is, they are shown differently without a change of
    /// their own.
    without_owner: HashSet<TaskNumber>,
    channels: Sent<u64, Option<ChannelLoad>>,
}

impl SentOfProgram {
    /// Sends all runtimes and loops, and what is new or has changed since the last call of the oldest tasks and channels, at
    /// most `tasks_max` each, as the answer to a request for `of`. A task that is not among these any more is gone.
    pub(super) fn send(
        &mut self,
        answers: &mut impl Write,
        of: &'static str,
        tasks_max: usize,
    ) -> io::Result<()> {
        clock::calibrate();
        let mut tasks = Vec::new();
        let tasks_left_out = for_each_of_oldest(tasks_max, |number, version, record| {
            let key = (number.shard(), number.place(), number);
            if self.tasks.is_news(key, version) || self.without_owner.contains(&number) {
                tasks.push(TaskSnapshot::of(number, record));
            }
        });
        tasks.sort_unstable_by_key(|task| task.number);
        find_owners(&mut tasks);
        let lacks_owner = |task: &&TaskSnapshot| task.waits.iter().any(WaitSnapshot::lacks_owner);
        let without_owner = tasks.iter().filter(lacks_owner);
        self.without_owner = without_owner.map(|task| task.number).collect();
        let mut channels = channels::read();
        let channels_left_out = channels.len().saturating_sub(tasks_max);
        channels.truncate(tasks_max);
        channels.retain(|channel| self.channels.is_news(channel.number, channel.load));
        say_all(answers, runtimes::read().iter().map(wire::runtime))?;
        say_all(answers, tasks.iter().map(wire::task))?;
        say_all(answers, loops::read().iter().map(wire::running_loop))?;
        say_all(answers, channels.iter().map(wire::channel))?;
        let (tasks_gone, channels_gone) = (self.tasks.end(), self.channels.end());
        if !tasks_gone.is_empty() || !channels_gone.is_empty() {
            let tasks_gone = tasks_gone.iter().map(|(.., number)| number);
            say(answers, &wire::gone(tasks_gone, channels_gone))?;
        }
        let end = wire::end(of)
            .with("tasks", tasks.len())
            .with("tasks_left_out", tasks_left_out)
            .with("channels_left_out", channels_left_out);
        say(answers, &end.line())
    }
}
