//! A copy of a task's record, and how the task is shown by it.
//!
//! Not here: making copies of all records (`inspect/take.rs` of the library).

use crate::moment::Moment;
use crate::tasks::frames::{Frame, Frames};
use crate::tasks::number::TaskNumber;
use crate::tasks::outside;
use crate::tasks::record::Record;
use crate::tasks::state::TaskState;
use crate::tasks::waits::{AwaitedSet, WaitRecord};
use manyhands_wire::{self as wire, Task, Wait, place, printable, word};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Copies of records, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub struct SeenTasks {
    /// The copies.
    pub tasks: Vec<SeenTask>,
    /// How many tasks of each scope and group there are.
    pub set_sizes: BTreeMap<NonZeroU32, usize>,
}

/// A copy of a task's record.
#[derive(Debug, Clone)]
pub struct SeenTask {
    /// Its number.
    pub number: TaskNumber,
    /// When it was made.
    at: Moment,
    /// The copy.
    pub record: Record,
    /// The names of the groups of tasks that it waits for, as far as they have any.
    group_names: Vec<(NonZeroU32, String)>,
}

impl SeenTask {
    /// Of this record, in which nothing is later than this moment. `name_of`: the name of a group of tasks.
    #[must_use]
    pub fn new(
        number: TaskNumber,
        record: &Record,
        at: Moment,
        name_of: impl Fn(NonZeroU32) -> Option<String>,
    ) -> Self {
        let sets = record.waits.current().filter_map(|wait| wait.set);
        let named = |set: AwaitedSet| Some((set.number, name_of(set.number)?));
        Self {
            number,
            at,
            record: record.clone(),
            group_names: sets.filter_map(named).collect(),
        }
    }

    /// The name of what it waits for, if that is a group of tasks that has one.
    pub(crate) fn group_name(&self, wait: &WaitRecord) -> Option<&str> {
        let set = wait.set?.number;
        let mut names = self.group_names.iter();
        let (_, name) = names.find(|(number, _)| *number == set)?;
        Some(name)
    }

    /// What is shown of it. A wait for a task that is not recorded yet has no owner.
    #[must_use]
    pub fn shown(&self) -> Task {
        let record = &self.record;
        let passed = |from: u64| self.at.micros_since(from);
        let busy = match record.state {
            TaskState::Running => record.busy + self.at.ticks.saturating_sub(record.since),
            _ => record.busy,
        };
        let waits = &record.waits;
        let frames = waits.frames.as_deref();
        let ordered = frames.map_or_else(Vec::new, Frames::in_order);
        let wait = |wait: WaitRecord| Wait {
            kind: word(wait.kind),
            name: self.group_name(&wait).map(printable),
            resource: format!("{:x}", wait.resource),
            owner: wait.owner.map(|owner| owner.to_string()),
            at: place(record.line_of(&wait)),
            waiting_us: match wait.since {
                0 => 0,
                since => passed(since),
            },
            direct: wait.is_direct,
            frame: Frames::place_in(&ordered, wait.frame),
        };
        let outside = outside::waits_outside(record);
        let listed = waits.current().chain(outside);
        let frame = |&(frame, outer): &(Frame, _)| wire::Frame {
            name: printable(frame.name),
            at: place(frame.at),
            outer,
        };
        Task {
            number: self.number.to_string(),
            kind: record.kind().to_owned(),
            id: format!("{:x}", record.id()),
            name: record.name.as_deref().map(printable),
            type_name: printable(record.type_name()),
            priority: record.origin.map(|origin| origin.priority.to_owned()),
            spawned_at: record.spawned_at().map(place),
            parent: record.parent.map(|parent| parent.to_string()),
            runtime: record.ran_on.map(|(runtime, _)| runtime),
            worker: record.ran_on.map(|(_, worker)| worker),
            state: word(record.state),
            in_state_us: passed(record.since),
            age_us: passed(record.spawned),
            busy_us: self.at.micros(busy),
            polls: record.polls.into(),
            wakes: record.wakes.into(),
            last_waker: record.woken_in_tokio.map(|in_tokio| {
                let name = if in_tokio { "tokio" } else { "other" };
                name.to_owned()
            }),
            waits: listed.map(wait).collect(),
            waits_left_out: waits.left_out,
            frames: ordered.iter().map(frame).collect(),
            frames_left_out: frames.map_or(0, |frames| frames.left_out),
            may_wait_for_more: outside::may_wait_for_more(record),
            changes: record.changes.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SeenTask;
    use crate::moment::Moment;
    use crate::tasks::number::TaskNumber;
    use crate::tasks::record::Record;
    use crate::tasks::state::TaskState;
    use crate::tasks::wait_kind::WaitKind;
    use crate::tasks::waits::{AwaitedSet, SetWait, WaitRecord};
    use manyhands_wire::word;
    use std::fmt::Debug;
    use std::num::NonZeroU32;
    use std::panic::Location;

    #[test]
    fn a_copy_says_what_a_group_was_called_and_how_long_it_was_waited_for_when_it_was_made() {
        let mut record = Record::new(2_000);
        record.waits.add(WaitRecord {
            set: Some(AwaitedSet {
                number: NonZeroU32::MIN,
                until: SetWait::OneOf(1),
            }),
            since: 7_000,
            ..WaitRecord::new(1, WaitKind::Group, 0, Location::caller())
        });
        let of_another = WaitRecord::new(2, WaitKind::Timer, 0, Location::caller());
        record.waits.add(of_another);
        let now = Moment {
            ticks: 9_000,
            nanos_in: |ticks| 10 * ticks,
        };
        let name_of = |number| (number == NonZeroU32::MIN).then(|| "readers".to_owned());
        let shown = SeenTask::new(TaskNumber::new(1, 0, 0), &record, now, name_of).shown();
        assert_eq!((shown.age_us, shown.waits[0].waiting_us), (70, 20));
        let names = shown.waits.iter().map(|wait| wait.name.as_deref());
        assert!(names.eq([Some("readers"), None]));
    }

    /// A variant that gets another name must keep its word: clients know it by that.
    fn assert_sent(values: &[&dyn Debug], words: &str) {
        let sent: Vec<String> = values.iter().map(word).collect();
        assert_eq!(sent.join(" "), words);
    }

    #[test]
    fn the_words_for_tasks_stay_as_they_are() {
        assert_sent(
            &[
                &TaskState::Queued,
                &TaskState::Running,
                &TaskState::Waiting,
                &TaskState::Blocked,
            ],
            "queued running waiting blocked",
        );
        assert_sent(
            &[
                &WaitKind::Task,
                &WaitKind::Group,
                &WaitKind::Receive,
                &WaitKind::Send,
                &WaitKind::ChannelEnd,
                &WaitKind::Completion,
                &WaitKind::Scope,
                &WaitKind::Timer,
                &WaitKind::Cancellation,
                &WaitKind::Outside,
            ],
            "task group receive send channel_end completion scope timer cancellation outside",
        );
    }
}
