//! Deadlocks: tasks each of which waits only for others of them.
//!
//! Which tasks these are is found by `stuck.rs`; here is how they are reported: as rings.
//!
//! The records of different tasks are read at different moments. A wait counts only if neither it nor anything else of
//! its task has changed from one snapshot to a later one: then it was there at every moment in between, and all such
//! waits were there at the same time.
//!
//! Not here: when to look, and what of it is news (`deadlock_looks.rs`).

use crate::stuck::{Stuck, direct};
use crate::tasks::number::TaskNumber;
use crate::tasks::seen::{SeenTask, SeenTasks};
use crate::tasks::waits::{SetWait, WaitRecord};
use manyhands_wire::{Deadlock, place, printable};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Tasks that wait for each other. Its text names each with the line on which it waits.
#[derive(Debug)]
pub struct Ring<'seen> {
    /// Each waits for the next one, and the last for the first.
    pub tasks: Vec<&'seen SeenTask>,
    /// How many other tasks can never go on because of it.
    behind: usize,
    /// None of the tasks can wait for anything else. If it is false, something that is not recorded, such as a
    /// socket, may let one of them go on, or a task of a scope may cancel the others of it.
    is_certain: bool,
}

/// The deadlocks in copies of all tasks, or of all that wait for tasks only. Only waits count that copies made before contain
/// too, unchanged.
#[must_use]
pub fn deadlocks<'seen>(now: &'seen SeenTasks, earlier: &'seen SeenTasks) -> Vec<Ring<'seen>> {
    let stuck_perhaps = Stuck::find(now, earlier, false);
    let stuck_certainly = Stuck::find(now, earlier, true).tasks;
    let mut rings = rings(&stuck_perhaps);
    for ring in &mut rings {
        let mut tasks = ring.tasks.iter();
        ring.is_certain = tasks.all(|task| stuck_certainly.contains_key(&task.number));
    }
    rings
}

/// The rings among tasks that are stuck. Each of them waits for one, so following the first wait of each leads into a
/// ring.
fn rings<'seen>(stuck: &Stuck<'seen>) -> Vec<Ring<'seen>> {
    let mut seen = BTreeSet::new();
    let mut ring_of = BTreeMap::new();
    let mut rings: Vec<Ring<'seen>> = Vec::new();
    for &start in stuck.tasks.keys() {
        let mut path = Vec::new();
        let mut next = start;
        while seen.insert(next) {
            path.push(next);
            next = stuck.awaited_by(stuck.tasks[&next]).unwrap_or(next);
        }
        let ring = match path.iter().position(|&number| number == next) {
            Some(from) => {
                rings.push(ring(&stuck.tasks, &path[from..]));
                rings.len() - 1
            }
            None => ring_of[&next],
        };
        for number in path {
            ring_of.insert(number, ring);
        }
    }
    for ring in ring_of.values() {
        rings[*ring].behind += 1;
    }
    for ring in &mut rings {
        ring.behind -= ring.tasks.len();
    }
    rings
}

fn ring<'seen>(
    stuck: &BTreeMap<TaskNumber, &'seen SeenTask>,
    numbers: &[TaskNumber],
) -> Ring<'seen> {
    let mut tasks: Vec<_> = numbers.iter().map(|number| stuck[number]).collect();
    // So that a ring looks the same whatever leads into it.
    let first = (0..tasks.len()).min_by_key(|&index| tasks[index].number);
    tasks.rotate_left(first.unwrap_or(0));
    Ring {
        is_certain: false,
        behind: 0,
        tasks,
    }
}

impl Ring<'_> {
    /// What is shown of it.
    #[must_use]
    pub fn shown(&self) -> Deadlock {
        Deadlock {
            certain: self.is_certain,
            behind: self.behind,
            tasks: self.tasks.iter().map(|task| task.shown()).collect(),
            text: self.to_string(),
        }
    }
}

impl fmt::Display for Ring<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_certain {
            "deadlock"
        } else {
            "possible deadlock"
        };
        match self.tasks.len() {
            1 => write!(f, "{kind}: a task waits for itself")?,
            count => write!(f, "{kind}: {count} tasks wait for each other in a ring")?,
        }
        let next = self.tasks.iter().cycle().skip(1);
        for (task, next) in self.tasks.iter().zip(next) {
            write!(f, "\n  {} waits for ", named(task))?;
            if let Some(wait) = direct(&task.record).next() {
                let at = place(task.record.line_of(&wait));
                write!(f, "{}{} at {at}", around(task, &wait), named(next))?;
            }
            if let Some(spawned_at) = task.record.spawned_at() {
                write!(f, " (spawned at {})", place(spawned_at))?;
            }
        }
        match self.behind {
            0 => Ok(()),
            1 => write!(f, "\n  1 more task cannot go on because of these"),
            more => write!(f, "\n  {more} more tasks cannot go on because of these"),
        }
    }
}

/// The scope or group that the task belongs to that is waited for.
fn around(task: &SeenTask, wait: &WaitRecord) -> String {
    let Some(set) = wait.set else {
        return String::new();
    };
    match (set.until, task.group_name(wait)) {
        (SetWait::All | SetWait::AllOrFailure, _) => "a scope with ".to_owned(),
        (SetWait::OneOf(_), None) => "a group with ".to_owned(),
        (SetWait::OneOf(_), Some(name)) => format!("the group '{}' with ", printable(name)),
        (SetWait::Each, _) => "all of several tasks with ".to_owned(),
    }
}

/// A task in a sentence.
fn named(task: &SeenTask) -> String {
    let (number, record) = (task.number, &task.record);
    let noun = record.origin.map_or("thread", |_| "task");
    match &record.name {
        Some(name) => format!("{noun} {number} '{}'", printable(name)),
        None => format!("{noun} {number}"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::{Ring, deadlocks};
    use crate::moment::Moment;
    use crate::tasks::number::TaskNumber;
    use crate::tasks::record::{Origin, Record, Work};
    use crate::tasks::seen::{SeenTask, SeenTasks};
    use crate::tasks::state::TaskState;
    use crate::tasks::wait_kind::WaitKind;
    use crate::tasks::waits::{AwaitedSet, SetWait, WaitRecord, Waits};
    use std::collections::BTreeMap;
    use std::num::NonZeroU32;
    use std::panic::Location;

    /// What the tasks here run. All lines are of the library, which is this file.
    static WORK: Work = Work {
        type_name: || "shop::main::{{closure}}",
        kind: "closure",
        library: file!(),
    };

    const NOW: Moment = Moment {
        ticks: 0,
        nanos_in: |ticks| ticks,
    };

    pub(crate) fn number(place: u64) -> TaskNumber {
        TaskNumber::from_bits(1 << 32 | place).unwrap()
    }

    /// A wait for a task; 0 stands for something that is no task.
    fn wait(owner: u64) -> WaitRecord {
        WaitRecord {
            owner: (owner > 0).then(|| number(owner)),
            ..WaitRecord::new(0, WaitKind::Task, 0, Location::caller())
        }
    }

    /// A task that waits for these, and has as many wakers as are direct.
    fn waiting(place: u64, waits: &[WaitRecord]) -> SeenTask {
        let direct = waits.iter().filter(|wait| wait.is_direct).count();
        let mut all = Waits::within(None, u32::try_from(direct).ok());
        for (leaf, wait) in waits.iter().enumerate() {
            all.add(WaitRecord { leaf, ..*wait });
        }
        let record = Record {
            origin: Some(Origin {
                id: 1,
                work: &WORK,
                spawned_at: Location::caller(),
                priority: "normal",
            }),
            state: TaskState::Waiting,
            waits: all,
            ..Record::new(0)
        };
        SeenTask::new(number(place), &record, NOW, |_| None)
    }

    /// A task that waits for these.
    pub(crate) fn task(place: u64, owners: &[u64]) -> SeenTask {
        let waits: Vec<_> = owners.iter().map(|owner| wait(*owner)).collect();
        waiting(place, &waits)
    }

    /// As this one, but more wakers exist than it has waits.
    fn with_more_wakers(mut task: SeenTask) -> SeenTask {
        task.record.waits.wakers = Some(9);
        task
    }

    /// As this wait, but in a combinator.
    fn inside(wait: WaitRecord) -> WaitRecord {
        WaitRecord {
            is_direct: false,
            ..wait
        }
    }

    pub(crate) fn look_at(tasks: Vec<SeenTask>) -> SeenTasks {
        let mut set_sizes = BTreeMap::new();
        for set in tasks.iter().filter_map(|task| task.record.set) {
            *set_sizes.entry(set).or_default() += 1;
        }
        SeenTasks { tasks, set_sizes }
    }

    /// The rings of one look taken twice, each as its numbers and how many tasks are behind it.
    fn rings(tasks: Vec<SeenTask>) -> Vec<(Vec<u64>, usize)> {
        let look = look_at(tasks);
        let numbers = |ring: &Ring<'_>| {
            let tasks = ring.tasks.iter();
            tasks.map(|task| task.number.to_bits() & 0xffff).collect()
        };
        let found = deadlocks(&look, &look);
        found
            .iter()
            .map(|ring| (numbers(ring), ring.behind))
            .collect()
    }

    /// The text of the only ring of one look taken twice.
    fn text_of(tasks: Vec<SeenTask>) -> String {
        let look = look_at(tasks);
        let [ring] = &deadlocks(&look, &look)[..] else {
            panic!("one ring");
        };
        ring.to_string()
    }

    #[test]
    fn a_ring_is_found_whatever_its_length_with_the_tasks_behind_it() {
        assert_eq!(rings(vec![task(1, &[1])]), [(vec![1], 0)]);
        assert_eq!(
            rings(vec![task(1, &[3]), task(2, &[1]), task(3, &[2])]),
            [(vec![1, 3, 2], 0)]
        );
        let lasso = vec![task(1, &[2]), task(2, &[3]), task(3, &[4]), task(4, &[3])];
        assert_eq!(rings(lasso), [(vec![3, 4], 2)]);
        let two = vec![
            task(1, &[2]),
            task(2, &[1]),
            task(3, &[4]),
            task(4, &[3]),
            task(5, &[4]),
        ];
        assert_eq!(rings(two), [(vec![1, 2], 0), (vec![3, 4], 1)]);
    }

    #[test]
    fn a_chain_that_ends_at_a_task_that_goes_on_is_no_deadlock() {
        assert!(rings(vec![task(1, &[2]), task(2, &[3])]).is_empty());
        assert!(rings(vec![task(1, &[2]), task(2, &[0])]).is_empty());
        let mut running = task(3, &[1]);
        running.record.state = TaskState::Running;
        assert!(rings(vec![task(1, &[2]), task(2, &[3]), running]).is_empty());
    }

    #[test]
    fn a_task_with_another_way_on_is_not_stuck() {
        // As a wait with a time limit has.
        assert!(rings(vec![task(1, &[2, 0]), task(2, &[1])]).is_empty());
        // The second way leads to a task that goes on.
        assert!(rings(vec![task(1, &[2, 3]), task(2, &[1]), task(3, &[0])]).is_empty());
        // Both ways lead into the ring.
        let both = vec![task(1, &[2, 3]), task(2, &[1]), task(3, &[1])];
        assert_eq!(rings(both), [(vec![1, 2], 1)]);
        let mut more = task(1, &[2]);
        more.record.waits.left_out = 1;
        more.record.waits.direct_left_out = 1;
        assert!(rings(vec![more, task(2, &[1])]).is_empty());
        let inside = waiting(1, &[inside(wait(2))]);
        assert!(rings(vec![inside, task(2, &[1])]).is_empty());
    }

    #[test]
    fn a_wait_that_has_changed_in_between_does_not_count() {
        let now = look_at(vec![task(1, &[2]), task(2, &[1])]);
        let mut changed = task(2, &[1]);
        changed.record.changes += 1;
        let earlier = look_at(vec![task(1, &[2]), changed]);
        assert!(deadlocks(&now, &earlier).is_empty());
        assert!(
            deadlocks(&now, &look_at(vec![task(1, &[2])])).is_empty(),
            "the second task was not there yet"
        );
        assert_eq!(deadlocks(&now, &now).len(), 1);
    }

    #[test]
    fn a_ring_with_an_unknown_waker_is_only_possible() {
        let perhaps = || vec![task(1, &[2]), with_more_wakers(task(2, &[1]))];
        assert_eq!(certainties(perhaps()), [false]);
        let aside = with_more_wakers(task(3, &[1]));
        let both = vec![task(1, &[2, 3]), task(2, &[1]), aside];
        assert_eq!(certainties(both), [false], "by the second way");
        assert!(text_of(perhaps()).starts_with("possible deadlock: 2 tasks"));
    }

    /// In the scope or group with this number.
    fn member(set: u32, mut task: SeenTask) -> SeenTask {
        task.record.set = NonZeroU32::new(set);
        task
    }

    /// A wait for such a scope or group.
    fn wait_for_set(number: u32, until: SetWait) -> WaitRecord {
        let kind = match until {
            SetWait::OneOf(_) | SetWait::Each => WaitKind::Group,
            SetWait::All | SetWait::AllOrFailure => WaitKind::Scope,
        };
        let number = NonZeroU32::new(number).unwrap();
        WaitRecord {
            kind,
            set: Some(AwaitedSet { number, until }),
            ..wait(0)
        }
    }

    /// A task that waits for such a scope or group.
    fn awaits(place: u64, number: u32, until: SetWait) -> SeenTask {
        waiting(place, &[wait_for_set(number, until)])
    }

    /// The certainties of the rings.
    fn certainties(tasks: Vec<SeenTask>) -> Vec<bool> {
        let look = look_at(tasks);
        let found = deadlocks(&look, &look);
        found.iter().map(|ring| ring.is_certain).collect()
    }

    #[test]
    fn a_scope_waits_for_each_of_its_tasks_and_one_of_them_may_cancel_the_others() {
        for (until, with_one_that_goes_on) in [
            (SetWait::All, &[false][..]),
            (SetWait::AllOrFailure, &[][..]),
        ] {
            let stuck = || vec![awaits(1, 7, until), member(7, task(2, &[1]))];
            assert_eq!(rings(stuck()), [(vec![1, 2], 0)]);
            assert_eq!(certainties(stuck()), [true]);
            let mut both = stuck();
            both.push(member(7, task(3, &[0])));
            assert_eq!(certainties(both), with_one_that_goes_on, "{until:?}");
            let mut other = stuck();
            other.push(member(8, task(3, &[0])));
            assert_eq!(certainties(other), [true], "a task of another scope");
            let empty = vec![awaits(1, 7, until), task(2, &[1])];
            assert!(rings(empty).is_empty(), "no task of the scope is known");
            let timed = waiting(1, &[wait_for_set(7, until), wait(0)]);
            assert!(rings(vec![timed, member(7, task(2, &[1]))]).is_empty());
        }
    }

    #[test]
    fn a_task_that_was_in_a_scope_at_the_first_look_only_may_have_cancelled_the_others() {
        let stuck = || {
            vec![
                awaits(1, 7, SetWait::AllOrFailure),
                member(7, task(2, &[1])),
            ]
        };
        let mut earlier = stuck();
        earlier.push(member(7, task(3, &[0])));
        assert!(deadlocks(&look_at(stuck()), &look_at(earlier)).is_empty());
    }

    #[test]
    fn who_waits_for_the_next_of_a_group_is_stuck_with_all_that_it_waits_for() {
        let waits_for = |count| {
            let members = [task(2, &[1]), task(3, &[1])].map(|task| member(7, task));
            [&[awaits(1, 7, SetWait::OneOf(count))], &members[..]].concat()
        };
        assert_eq!(rings(waits_for(2)), [(vec![1, 2], 1)]);
        assert_eq!(certainties(waits_for(2)), [true]);
        assert!(
            rings(waits_for(3)).is_empty(),
            "one of the three is not known"
        );
        let mut one_goes_on = waits_for(2);
        one_goes_on[2] = member(7, task(3, &[0]));
        assert!(rings(one_goes_on).is_empty());
        // The group's own waits for its tasks are listed as well, and others inside a combinator.
        let mut waits = vec![wait_for_set(7, SetWait::OneOf(2))];
        let mut with_inner = waits_for(2);
        for (owner, is_ring) in [(2, true), (3, true), (1, false)] {
            waits.push(inside(wait(owner)));
            with_inner[0] = with_more_wakers(waiting(1, &waits));
            assert_eq!(!rings(with_inner.clone()).is_empty(), is_ring);
        }
        with_inner[0] = waiting(1, &waits);
        assert_eq!(rings(with_inner).len(), 1, "only the group has a waker");
    }

    #[test]
    fn who_waits_for_each_of_several_tasks_is_stuck_with_one_of_them() {
        let waits_for = |others: &[u64]| {
            let members = others.iter().zip(2..);
            let members = members.map(|(&other, place)| member(7, task(place, &[other])));
            let mut tasks = vec![awaits(1, 7, SetWait::Each)];
            tasks.extend(members);
            tasks
        };
        assert_eq!(rings(waits_for(&[0, 1])), [(vec![1, 3], 0)]);
        assert_eq!(
            certainties(waits_for(&[0, 1])),
            [true],
            "none of them cancels the others"
        );
        assert_eq!(rings(waits_for(&[1, 1])), [(vec![1, 2], 1)]);
        assert!(rings(waits_for(&[0, 0])).is_empty());
        assert!(rings(waits_for(&[])).is_empty(), "no task of them is known");
        assert!(
            rings(waits_for(&[0, 2])).is_empty(),
            "behind one that goes on"
        );
        let mut perhaps = waits_for(&[0, 1]);
        perhaps[2].record.waits.wakers = Some(9);
        assert_eq!(certainties(perhaps), [false]);
        let each = wait_for_set(7, SetWait::Each);
        let mut timed = waits_for(&[0, 1]);
        timed[0] = waiting(1, &[each, wait(0)]);
        assert!(rings(timed).is_empty());
        // Its own waits for the tasks are listed as well.
        let mut with_inner = waits_for(&[0, 1]);
        with_inner[0] = with_more_wakers(waiting(1, &[each, inside(wait(3))]));
        assert_eq!(rings(with_inner).len(), 1);
        let earlier = look_at(vec![awaits(1, 7, SetWait::Each), task(2, &[0])]);
        assert!(deadlocks(&look_at(waits_for(&[0, 1])), &earlier).is_empty());
        let text = text_of(waits_for(&[0, 1]));
        assert!(
            text.contains("task 1 waits for all of several tasks with task 3 at "),
            "{text}"
        );
    }

    #[test]
    fn a_ring_through_a_scope_inside_a_group_goes_on_with_one_task() {
        let nested = |last| {
            let scope = member(5, awaits(2, 6, SetWait::All));
            vec![
                awaits(1, 5, SetWait::OneOf(1)),
                scope,
                member(6, task(3, &[last])),
            ]
        };
        assert_eq!(rings(nested(1)), [(vec![1, 2, 3], 0)]);
        assert!(rings(nested(4)).is_empty());
        let text = text_of(nested(1));
        assert!(
            text.contains("task 1 waits for a group with task 2 at "),
            "{text}"
        );
        assert!(
            text.contains("task 2 waits for a scope with task 3 at "),
            "{text}"
        );
        assert!(text.contains("task 3 waits for task 1 at "), "{text}");
    }

    #[test]
    fn the_text_names_tasks_and_lines_and_is_safe_to_print() {
        let mut named = task(1, &[2]);
        named.record.name = Some("evil\x1b[2J".into());
        // The wait is on a line of the library, so that of the spawning is shown.
        let line = named.record.spawned_at().unwrap().line();
        let text = text_of(vec![named, task(2, &[1]), task(3, &[1])]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "deadlock: 2 tasks wait for each other in a ring");
        assert!(lines[1].starts_with("  task 1 'evil\\u{1b}[2J' waits for task 2 at "));
        assert!(lines[1].contains(&format!("deadlock.rs:{line}:")) && lines[1].contains("spawned"));
        assert!(lines[2].starts_with("  task 2 waits for task 1 'evil"));
        assert_eq!(lines[3], "  1 more task cannot go on because of these");
    }

    #[test]
    fn a_hundred_thousand_tasks_in_one_ring_are_found_without_recursion() {
        let count = if cfg!(miri) { 100 } else { 100_000 };
        let tasks = (0..count).map(|place| task(place + 1, &[(place + 1) % count + 1]));
        assert_eq!(rings(tasks.collect())[0].0.len() as u64, count);
    }
}
