//! Tasks that are in the same place, counted: what a million waiting tasks come down to.
//!
//! Two tasks are in the same place if they are of the same type, were spawned on the same line, are in the same state, and
//! wait for something of the same kind on the same line, in the same frames, and, if that is a group of tasks, of the same
//! name. Counted while the table of tasks is read, so no list of all tasks is made.

use crate::inspect::serve::wire::{say, say_all};
use crate::inspect::tasks::outside;
use crate::recording::{Frames, Record, TaskKind, TaskNumber, TaskState, WaitKind, micros, table};
use crate::sync::clock;
use manyhands_wire::{self as wire, End, GroupFrame, Line, place, printable, word};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{self, Write};
use std::panic::Location;

/// Where tasks are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    kind: TaskKind,
    type_name: &'static str,
    spawned_at: Option<&'static Location<'static>>,
    state: TaskState,
    /// The first of its waits that wakes it itself; if there is none, the first one; if none is recorded, what is outside.
    waits: Option<(WaitKind, &'static Location<'static>)>,
    /// The name of what it waits for, if that is a group of tasks that has one.
    awaited: Option<String>,
    /// Those around this wait, or if there is none around the last thing that was polled; the outermost first.
    frames: Vec<(&'static str, &'static Location<'static>)>,
}

/// The tasks there.
#[derive(Debug, Default)]
struct Group {
    tasks: usize,
    examples: Vec<TaskNumber>,
    /// The earliest time since when one of them has been there, in ticks.
    since: Option<u64>,
}

/// The groups, and the present row: tasks that were spawned one after the other lie side by side in the table, and are alike more
/// often than not.
#[derive(Debug, Default)]
struct Counted {
    groups: HashMap<Key, Group>,
    row: Option<(Key, Group)>,
}

/// Sends a line for each group, that with the most tasks first, and the last line.
pub(super) fn send(answers: &mut impl Write) -> io::Result<()> {
    clock::calibrate();
    let mut counted = Counted::default();
    table::for_each(|number, _, record| counted.add(key(record), number, record.since));
    let groups = counted.sorted();
    let sent = groups.len().min(GROUPS_MAX);
    say_all(answers, groups[..sent].iter().map(line))?;
    let end = Line::End(End {
        end: "groups".to_owned(),
        groups: Some(sent),
        groups_left_out: Some(groups.len() - sent),
        ..End::default()
    });
    say(answers, &end)
}

fn key(record: &Record) -> Key {
    let mut direct = record.waits.current().filter(|wait| wait.is_direct);
    let recorded = direct.next().or_else(|| record.waits.current().next());
    let outside = match recorded {
        Some(_) => Vec::new(),
        None => outside::waits_outside(record),
    };
    let wait = recorded.or(outside.last().copied());
    let chain = |frames: &Frames| match &wait {
        Some(wait) => frames.chain(wait.frame),
        None => frames.last_chain(),
    };
    let frames = record.waits.frames.as_deref();
    let chain = frames.map_or_else(Vec::new, chain);
    Key {
        kind: record.kind(),
        type_name: record.type_name(),
        spawned_at: record.spawned_at(),
        state: record.state,
        waits: wait.map(|wait| (wait.kind, record.line_of(&wait))),
        awaited: wait.and_then(|wait| wait.group_name()),
        frames: chain.iter().map(|frame| (frame.name, frame.at)).collect(),
    }
}

impl Counted {
    fn add(&mut self, key: Key, number: TaskNumber, since: u64) {
        if self.row.as_ref().is_none_or(|(last, _)| *last != key) {
            self.end_row();
        }
        let (_, group) = self.row.get_or_insert_with(|| (key, Group::default()));
        group.add(number, since);
    }

    fn end_row(&mut self) {
        if let Some((key, group)) = self.row.take() {
            self.groups.entry(key).or_default().add_all(group);
        }
    }

    /// That with the most tasks first.
    fn sorted(mut self) -> Vec<(Key, Group)> {
        self.end_row();
        let mut groups: Vec<(Key, Group)> = self.groups.into_iter().collect();
        groups.sort_by_key(|(_, group)| (Reverse(group.tasks), group.examples.first().copied()));
        groups
    }
}

impl Group {
    fn add(&mut self, number: TaskNumber, since: u64) {
        self.since = self.since.into_iter().chain([since]).min();
        self.tasks += 1;
        if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(number);
        }
    }

    fn add_all(&mut self, other: Self) {
        self.since = self.since.into_iter().chain(other.since).min();
        self.tasks += other.tasks;
        self.examples.extend(other.examples);
        self.examples.sort_unstable();
        self.examples.truncate(EXAMPLES_MAX);
    }
}

fn line((key, group): &(Key, Group)) -> Line {
    let frame = |&(name, at): &(&str, &Location<'_>)| GroupFrame {
        name: printable(name),
        at: place(at),
    };
    let now = clock::ticks();
    Line::Group(wire::Group {
        kind: word(key.kind),
        type_name: printable(key.type_name),
        spawned_at: key.spawned_at.map(place),
        state: word(key.state),
        waits_for: key.waits.map(|(kind, _)| word(kind)),
        name: key.awaited.as_deref().map(printable),
        at: key.waits.map(|(_, at)| place(at)),
        frames: key.frames.iter().map(frame).collect(),
        tasks: group.tasks,
        examples: group.examples.iter().map(TaskNumber::to_string).collect(),
        longest_us: micros(now.saturating_sub(group.since.unwrap_or(now))),
    })
}

/// More lines say no more.
const GROUPS_MAX: usize = 2_000;
const EXAMPLES_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::{Counted, Key};
    use crate::recording::enabled::tasks::task_number::TaskNumber;
    use crate::recording::enabled::tasks::task_state::{TaskKind, TaskState};

    fn key(type_name: &'static str) -> Key {
        Key {
            kind: TaskKind::Future,
            type_name,
            spawned_at: None,
            state: TaskState::Waiting,
            waits: None,
            awaited: None,
            frames: Vec::new(),
        }
    }

    fn number(of_task: u64) -> TaskNumber {
        TaskNumber::from_bits(1 << 32 | of_task).unwrap()
    }

    #[test]
    fn tasks_that_are_not_side_by_side_are_counted_together() {
        let mut counted = Counted::default();
        for (of_task, type_name) in ["Reader", "Reader", "Writer", "Reader"].iter().enumerate() {
            let of_task = of_task as u64 + 1;
            counted.add(key(type_name), number(of_task), 100 - of_task);
        }
        let groups = counted.sorted();
        let seen: Vec<_> = groups
            .iter()
            .map(|(key, it)| (key.type_name, it.tasks, it.since, it.examples.len()))
            .collect();
        assert_eq!(
            seen,
            [("Reader", 3, Some(96), 3), ("Writer", 1, Some(97), 1)]
        );
    }
}
