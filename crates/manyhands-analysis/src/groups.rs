//! Tasks that are in the same place, counted: what a million waiting tasks come down to.
//!
//! Two tasks are in the same place if they are of the same type, were spawned on the same line, are in the same state, and
//! wait for something of the same kind on the same line, in the same frames, and, if that is a group of tasks, of the same
//! name. Counted while the table of tasks is read, so no list of all tasks is made.

use crate::moment::Moment;
use crate::tasks::frames::Frames;
use crate::tasks::number::TaskNumber;
use crate::tasks::outside;
use crate::tasks::record::Record;
use crate::tasks::state::TaskState;
use crate::tasks::wait_kind::WaitKind;
use manyhands_wire::{self as wire, GroupFrame, Line, place, printable, word};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::panic::Location;

/// Where tasks are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    kind: &'static str,
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
    since: u64,
}

/// Groups of tasks.
#[derive(Debug, Default)]
pub struct Groups {
    groups: Vec<(Key, Group)>,
    /// Where in `groups` each is.
    places: HashMap<Key, usize>,
    /// The place of the last task's group: tasks that were spawned one after the other lie side by side in the table, and are
    /// alike more often than not.
    last: usize,
}

impl Groups {
    /// Counts the task of this record. `name_of`: the name of a group of tasks.
    pub fn add(
        &mut self,
        number: TaskNumber,
        record: &Record,
        name_of: impl Fn(NonZeroU32) -> Option<String>,
    ) {
        self.count(key(record, name_of), number, record.since);
    }

    /// The lines of the groups as of this moment, that with the most tasks first; and how many others there are, beyond those
    /// that say anything.
    #[must_use]
    pub fn lines(self, now: Moment) -> (Vec<Line>, usize) {
        let groups = self.sorted();
        let shown = groups.len().min(GROUPS_MAX);
        let lines = groups[..shown].iter().map(|group| line(group, now));
        (lines.collect(), groups.len() - shown)
    }

    fn count(&mut self, key: Key, number: TaskNumber, since: u64) {
        let last = self.groups.get(self.last);
        if last.is_none_or(|(last, _)| *last != key) {
            self.last = self.place_of(key);
        }
        let (_, group) = &mut self.groups[self.last];
        if group.tasks == 0 || since < group.since {
            group.since = since;
        }
        group.tasks += 1;
        if group.examples.len() < EXAMPLES_MAX {
            group.examples.push(number);
        }
    }

    fn place_of(&mut self, key: Key) -> usize {
        let next = self.groups.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        if place == next {
            self.groups.push((key, Group::default()));
        }
        place
    }

    /// That with the most tasks first.
    fn sorted(mut self) -> Vec<(Key, Group)> {
        let order =
            |(_, group): &(Key, Group)| (Reverse(group.tasks), group.examples.first().copied());
        self.groups.sort_by_key(order);
        self.groups
    }
}

/// Where the task of this record is.
fn key(record: &Record, name_of: impl Fn(NonZeroU32) -> Option<String>) -> Key {
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
        awaited: wait.and_then(|wait| name_of(wait.set?.number)),
        frames: chain.iter().map(|frame| (frame.name, frame.at)).collect(),
    }
}

fn line((key, group): &(Key, Group), now: Moment) -> Line {
    let frame = |&(name, at): &(&str, &Location<'_>)| GroupFrame {
        name: printable(name),
        at: place(at),
    };
    Line::Group(wire::Group {
        kind: key.kind.to_owned(),
        type_name: printable(key.type_name),
        spawned_at: key.spawned_at.map(place),
        state: word(key.state),
        waits_for: key.waits.map(|(kind, _)| word(kind)),
        name: key.awaited.as_deref().map(printable),
        at: key.waits.map(|(_, at)| place(at)),
        frames: key.frames.iter().map(frame).collect(),
        tasks: group.tasks,
        examples: group.examples.iter().map(TaskNumber::to_string).collect(),
        longest_us: now.micros_since(group.since),
    })
}

/// More lines say no more.
const GROUPS_MAX: usize = 2_000;
const EXAMPLES_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::{Groups, Key};
    use crate::tasks::number::TaskNumber;
    use crate::tasks::state::TaskState;

    fn key(type_name: &'static str) -> Key {
        Key {
            kind: "future",
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
        let mut counted = Groups::default();
        for (of_task, type_name) in ["Reader", "Reader", "Writer", "Reader"].iter().enumerate() {
            let of_task = of_task as u64 + 1;
            counted.count(key(type_name), number(of_task), 100 - of_task);
        }
        let groups = counted.sorted();
        let seen: Vec<_> = groups
            .iter()
            .map(|(key, it)| (key.type_name, it.tasks, it.since, it.examples.len()))
            .collect();
        assert_eq!(seen, [("Reader", 3, 96, 3), ("Writer", 1, 97, 1)]);
    }
}
