//! What has changed since it was sent last: for a client that asks again and again. For one that has been sent nothing that is
//! a snapshot of all.
//!
//! All tasks are looked through each time, but only those that have changed become text.
//!
//! Not here: how news are found (`Sent` of `manyhands-analysis`), and snapshots inside the program (`take.rs`).

use crate::inspect::serve::wire::{say, say_all, say_end, task_line};
use crate::inspect::take::{find_owners, for_each_of_oldest, seen};
use crate::recording::enabled::loops::running as loops;
use crate::recording::{channels, runtimes};
use crate::sync::clock;
use manyhands_analysis::{SeenTask, Sent, TaskNumber};
use manyhands_wire::{Gone, Line, Load};
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
    channels: Sent<u64, Option<Load>>,
}

impl SentOfProgram {
    /// Sends all runtimes and loops, and what is new or has changed since the last call of the oldest tasks and channels, at
    /// most `tasks_max` each, as the answer to a request for `of`. A task that is not among these any more is gone.
    pub(super) fn send(
        &mut self,
        answers: &mut impl Write,
        of: &str,
        tasks_max: usize,
    ) -> io::Result<()> {
        clock::calibrate();
        let mut tasks = Vec::new();
        let tasks_left_out = for_each_of_oldest(tasks_max, |number, version, record| {
            let key = (number.shard(), number.place(), number);
            if self.tasks.is_news(key, version) || self.without_owner.contains(&number) {
                tasks.push(seen(number, record));
            }
        });
        tasks.sort_unstable_by_key(|task| task.number);
        find_owners(&mut tasks);
        let lacks_owner = |task: &mut SeenTask| {
            let mut waits = task.record.waits.without_owner();
            waits.next().map(|_| task.number)
        };
        self.without_owner = tasks.iter_mut().filter_map(lacks_owner).collect();
        let mut channels_seen = 0;
        let channels = channels::read(|number, load| {
            channels_seen += 1;
            channels_seen <= tasks_max && self.channels.is_news(number, load)
        });
        let channels_left_out = channels_seen.saturating_sub(tasks_max);
        say_all(answers, runtimes::read().into_iter().map(Line::Runtime))?;
        say_all(answers, tasks.iter().map(task_line))?;
        say_all(answers, loops::read().into_iter().map(Line::Loop))?;
        let channels = channels.into_iter().map(Box::new);
        say_all(answers, channels.map(Line::Channel))?;
        let (tasks_gone, channels) = (self.tasks.end(), self.channels.end());
        if !tasks_gone.is_empty() || !channels.is_empty() {
            let gone = tasks_gone.iter().map(|(.., number)| number.to_string());
            let tasks = gone.collect();
            say(answers, &Line::Gone(Gone { tasks, channels }))?;
        }
        say_end(answers, of, |end| {
            end.tasks = Some(tasks.len());
            end.tasks_left_out = Some(tasks_left_out);
            end.channels_left_out = Some(channels_left_out);
        })
    }
}
