//! Deadlocks: tasks each of which waits only for others of them.
//!
//! A task goes on as soon as one of its waits ends. So it can never go on if all its waits are for tasks that cannot go
//! on either. The set of such tasks is what is left when every task is taken out that has a wait for something else, or
//! for a task that was taken out.
//!
//! The records of different tasks are read at different moments. A wait counts only if neither it nor anything else of
//! its task has changed from one snapshot to a later one: then it was there at every moment in between, and all such
//! waits were there at the same time.
//!
//! Pure functions of snapshots.

use crate::inspect::printable::Printable;
use crate::inspect::snapshot::{Snapshot, TaskSnapshot};
use crate::inspect::table::TaskNumber;
use crate::inspect::task_state::{TaskKind, TaskState};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Tasks that wait for each other; found by [`Snapshot::deadlocks`].
///
/// Its text names each task with the line on which it waits.
///
/// Example: see [`Snapshot::deadlocks`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deadlock {
    /// The ring: each task waits for the next one, and the last for the first.
    pub tasks: Vec<TaskSnapshot>,
    /// How many other tasks can never go on because of it.
    pub behind: usize,
    /// None of the tasks can wait for anything else. If it is false, something that is not recorded, such as a
    /// socket, may let one of them go on.
    pub is_certain: bool,
}

impl Snapshot {
    /// The deadlocks in this snapshot. `earlier` is one that was taken before, by some ten milliseconds best: only
    /// waits that both contain and that have not changed count, so there are no false ones among tasks that go on.
    ///
    /// A deadlock lasts until a task of it is cancelled. Only waits for tasks are followed, because for a channel or a
    /// completion it is not known who will serve it.
    ///
    /// # Examples
    /// Two closures that join each other:
    /// ```
    /// # #[cfg(feature = "inspect")] {
    /// use manyhands::{channel, inspect, task};
    /// use std::time::{Duration, Instant};
    ///
    /// inspect::open();
    /// let pass = || channel::bounded::<task::JoinHandle<()>>(1);
    /// let ((to_a, from_b), (to_b, from_a)) = (pass(), pass());
    /// let a = task::Builder::new().name("a").run(move || drop(from_b.recv().unwrap().join()));
    /// let b = task::Builder::new().name("b").run(move || drop(from_a.recv().unwrap().join()));
    /// to_a.send(b)?;
    /// to_b.send(a)?;
    ///
    /// let deadline = Instant::now() + Duration::from_secs(30);
    /// let mut earlier = inspect::snapshot();
    /// let deadlock = loop {
    ///     assert!(Instant::now() < deadline);
    ///     let now = inspect::snapshot();
    ///     if let Some(deadlock) = now.deadlocks(&earlier).pop() {
    ///         break deadlock;
    ///     }
    ///     earlier = now;
    /// };
    /// let names: Vec<_> = deadlock.tasks.iter().filter_map(|task| task.name.as_deref()).collect();
    /// assert!(deadlock.is_certain && names.len() == 2 && names.contains(&"a"));
    /// println!("{deadlock}");
    /// # std::process::exit(0); // the two wait for ever
    /// # }
    /// # Ok::<(), manyhands::channel::SendError<manyhands::task::JoinHandle<()>>>(())
    /// ```
    #[must_use]
    pub fn deadlocks(&self, earlier: &Self) -> Vec<Deadlock> {
        let stuck_perhaps = stuck(self, earlier, |_| true);
        let stuck_certainly = stuck(self, earlier, |task| !task.may_wait_for_more);
        let mut rings = rings(&stuck_perhaps);
        for ring in &mut rings {
            let mut tasks = ring.tasks.iter();
            ring.is_certain = tasks.all(|task| stuck_certainly.contains_key(&task.number));
        }
        rings
    }
}

/// The tasks that can never go on, by number, if those that `is_known` refuses can.
fn stuck<'snapshot>(
    now: &'snapshot Snapshot,
    earlier: &Snapshot,
    is_known: impl Fn(&TaskSnapshot) -> bool,
) -> BTreeMap<TaskNumber, &'snapshot TaskSnapshot> {
    let changes: BTreeMap<_, _> = earlier
        .tasks
        .iter()
        .map(|task| (task.number, task.changes))
        .collect();
    let is_stable = |task: &&TaskSnapshot| changes.get(&task.number) == Some(&task.changes);
    let mut stuck: BTreeMap<_, _> = now
        .tasks
        .iter()
        .filter(|task| waits_for_tasks_only(task) && is_known(task))
        .filter(is_stable)
        .map(|task| (task.number, task))
        .collect();
    let mut waiters: BTreeMap<TaskNumber, Vec<TaskNumber>> = BTreeMap::new();
    for task in stuck.values() {
        for owner in owners(task) {
            waiters.entry(owner).or_default().push(task.number);
        }
    }
    // A task that goes on lets all go on that wait for it.
    let mut free: Vec<TaskNumber> = waiters.keys().copied().collect();
    free.retain(|owner| !stuck.contains_key(owner));
    while let Some(task) = free.pop() {
        for waiter in waiters.get(&task).into_iter().flatten() {
            if stuck.remove(waiter).is_some() {
                free.push(*waiter);
            }
        }
    }
    stuck
}

/// Whether all that the task is known to wait for are tasks.
fn waits_for_tasks_only(task: &TaskSnapshot) -> bool {
    matches!(task.state, TaskState::Waiting | TaskState::Blocked)
        && task.waits_left_out == 0
        && !task.waits.is_empty()
        && task
            .waits
            .iter()
            .all(|wait| wait.owner.is_some() && wait.is_direct)
}

fn owners(task: &TaskSnapshot) -> impl Iterator<Item = TaskNumber> {
    task.waits.iter().filter_map(|wait| wait.owner)
}

/// The rings among tasks that are stuck. Each of them waits for one, so following the first wait of each leads into a
/// ring.
fn rings(stuck: &BTreeMap<TaskNumber, &TaskSnapshot>) -> Vec<Deadlock> {
    let mut seen = BTreeSet::new();
    let mut ring_of = BTreeMap::new();
    let mut rings: Vec<Deadlock> = Vec::new();
    for &start in stuck.keys() {
        let mut path = Vec::new();
        let mut next = start;
        while seen.insert(next) {
            path.push(next);
            next = owners(stuck[&next]).next().unwrap_or(next);
        }
        let ring = match path.iter().position(|&number| number == next) {
            Some(from) => {
                rings.push(ring(stuck, &path[from..]));
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

fn ring(stuck: &BTreeMap<TaskNumber, &TaskSnapshot>, numbers: &[TaskNumber]) -> Deadlock {
    let mut tasks: Vec<TaskSnapshot> = numbers.iter().map(|number| stuck[number].clone()).collect();
    // So that a ring looks the same whatever leads into it.
    let first = (0..tasks.len()).min_by_key(|&index| tasks[index].number);
    tasks.rotate_left(first.unwrap_or(0));
    Deadlock {
        is_certain: false,
        behind: 0,
        tasks,
    }
}

impl fmt::Display for Deadlock {
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
        for (index, task) in self.tasks.iter().enumerate() {
            let next = &self.tasks[(index + 1) % self.tasks.len()];
            write!(f, "\n  {} waits for {}", Named(task), Named(next))?;
            if let Some(wait) = task.waits.first() {
                write!(f, " at {}", Printable(&wait.at.to_string()))?;
            }
            if let Some(spawned_at) = task.spawned_at {
                write!(f, " (spawned at {})", Printable(&spawned_at.to_string()))?;
            }
        }
        match self.behind {
            0 => Ok(()),
            1 => write!(f, "\n  1 more task cannot go on because of these"),
            more => write!(f, "\n  {more} more tasks cannot go on because of these"),
        }
    }
}

/// A task in a sentence.
struct Named<'snapshot>(&'snapshot TaskSnapshot);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = self.0;
        let noun = match task.kind {
            TaskKind::Future | TaskKind::Closure => "task",
            TaskKind::Thread => "thread",
        };
        write!(f, "{noun} {}", task.number)?;
        match &task.name {
            Some(name) => write!(f, " '{}'", Printable(name)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::Deadlock;
    use crate::inspect::snapshot::{Snapshot, TaskSnapshot, WaitSnapshot};
    use crate::inspect::table::TaskNumber;
    use crate::inspect::task_state::{TaskKind, TaskState};
    use crate::inspect::wait_kind::WaitKind;
    use std::panic::Location;
    use std::time::Duration;

    fn number(place: u64) -> TaskNumber {
        TaskNumber::from_bits(1 << 32 | place).unwrap()
    }

    /// A task that waits for these; 0 stands for something that is no task.
    pub(in crate::inspect) fn task(place: u64, owners: &[u64]) -> TaskSnapshot {
        let wait = |&owner: &u64| WaitSnapshot {
            kind: WaitKind::Task,
            name: None,
            resource: 0,
            owner: (owner > 0).then(|| number(owner)),
            at: Location::caller(),
            waiting_for: Duration::ZERO,
            is_direct: true,
            frame: None,
        };
        TaskSnapshot {
            number: number(place),
            kind: TaskKind::Future,
            id: 0,
            name: None,
            type_name: "",
            spawned_at: None,
            parent: None,
            ran_on: None,
            state: TaskState::Waiting,
            in_state: Duration::ZERO,
            age: Duration::ZERO,
            busy: Duration::ZERO,
            polls: 1,
            wakes: 0,
            waits: owners.iter().map(wait).collect(),
            waits_left_out: 0,
            frames: Vec::new(),
            frames_left_out: 0,
            may_wait_for_more: false,
            changes: 1,
        }
    }

    pub(in crate::inspect) fn snapshot_of(tasks: Vec<TaskSnapshot>) -> Snapshot {
        Snapshot {
            runtimes: Vec::new(),
            tasks,
            loops: Vec::new(),
            channels: Vec::new(),
        }
    }

    /// The rings of one snapshot taken twice, each as its numbers and how many tasks are behind it.
    fn rings(tasks: Vec<TaskSnapshot>) -> Vec<(Vec<u64>, usize)> {
        let snapshot = snapshot_of(tasks);
        let numbers = |ring: &Deadlock| {
            let tasks = ring.tasks.iter();
            tasks.map(|task| task.number.to_bits() & 0xffff).collect()
        };
        let found = snapshot.deadlocks(&snapshot);
        found
            .iter()
            .map(|ring| (numbers(ring), ring.behind))
            .collect()
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
        running.state = TaskState::Running;
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
        more.waits_left_out = 1;
        assert!(rings(vec![more, task(2, &[1])]).is_empty());
        let mut inside = task(1, &[2]);
        inside.waits[0].is_direct = false;
        assert!(rings(vec![inside, task(2, &[1])]).is_empty());
    }

    #[test]
    fn a_wait_that_has_changed_in_between_does_not_count() {
        let now = snapshot_of(vec![task(1, &[2]), task(2, &[1])]);
        let mut changed = task(2, &[1]);
        changed.changes += 1;
        let earlier = snapshot_of(vec![task(1, &[2]), changed]);
        assert!(now.deadlocks(&earlier).is_empty());
        assert!(
            now.deadlocks(&snapshot_of(vec![task(1, &[2])])).is_empty(),
            "the second task was not there yet"
        );
        assert_eq!(now.deadlocks(&now).len(), 1);
    }

    #[test]
    fn a_ring_with_an_unknown_waker_is_only_possible() {
        let mut perhaps = task(2, &[1]);
        perhaps.may_wait_for_more = true;
        let snapshot = snapshot_of(vec![task(1, &[2]), perhaps]);
        let [ring] = &snapshot.deadlocks(&snapshot)[..] else {
            panic!("one ring");
        };
        assert!(!ring.is_certain);
        let mut aside = task(3, &[1]);
        aside.may_wait_for_more = true;
        let both = snapshot_of(vec![task(1, &[2, 3]), task(2, &[1]), aside]);
        assert!(!both.deadlocks(&both)[0].is_certain, "by the second way");
        assert!(ring.to_string().starts_with("possible deadlock: 2 tasks"));
    }

    #[test]
    fn the_text_names_tasks_and_lines_and_is_safe_to_print() {
        let mut named = task(1, &[2]);
        named.name = Some("evil\x1b[2J".to_owned());
        named.spawned_at = Some(Location::caller());
        let line = named.waits[0].at.line();
        let snapshot = snapshot_of(vec![named, task(2, &[1]), task(3, &[1])]);
        let text = snapshot.deadlocks(&snapshot)[0].to_string();
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
