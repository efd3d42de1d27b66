//! Which tasks can never go on, by what they wait for.
//!
//! A task goes on as soon as one of its waits ends. A wait for a task ends with that task; one for the next task of a group
//! with any of those that it waits for; one for all of several tasks, or for a scope, when all of them have ended. So the
//! tasks that can never go on are what is left when every task is taken out that has a wait for something else, or one that
//! those taken out let end.
//!
//! # Scopes
//! One stuck task keeps its scope from ending, unless another one cancels it. In a scope of tasks that can fail, each
//! failure does so; there a wait counts only if all its tasks are stuck. In others a task may do so if it has got the scope;
//! there a wait counts with one stuck task, but for certain only if all are. All tasks of a scope are known: none was added
//! between two looks that see the same wait, so one that was there at any moment in between is in one of the two, and if it
//! is in the first one only, the number of tasks differs.
//!
//! Not here: how they are reported (`deadlock.rs`).

use crate::tasks::number::TaskNumber;
use crate::tasks::outside::may_wait_for_more;
use crate::tasks::record::Record;
use crate::tasks::seen::{SeenTask, SeenTasks};
use crate::tasks::state::TaskState;
use crate::tasks::wait_kind::WaitKind;
use crate::tasks::waits::{AwaitedSet, SetWait, WaitRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// The tasks that can never go on.
pub(crate) struct Stuck<'seen> {
    now: &'seen SeenTasks,
    earlier: &'seen SeenTasks,
    is_certain: bool,
    pub(crate) tasks: BTreeMap<TaskNumber, &'seen SeenTask>,
    /// Those of each scope and group.
    members: BTreeMap<NonZeroU32, BTreeSet<TaskNumber>>,
}

impl<'seen> Stuck<'seen> {
    /// Those that `now` and `earlier` both contain, and that have not changed. For certain: wakers that no wait accounts for may
    /// let a task go on too, and so may tasks that can cancel others of their scope.
    pub(crate) fn find(now: &'seen SeenTasks, earlier: &'seen SeenTasks, is_certain: bool) -> Self {
        let changes_of = |task: &SeenTask| (task.number, task.record.changes);
        let changes: BTreeMap<_, _> = earlier.tasks.iter().map(changes_of).collect();
        let set_of = |task: &SeenTask| Some((task.number, task.record.set?));
        let sets: BTreeMap<_, _> = now.tasks.iter().filter_map(set_of).collect();
        let may_be = |task: &&SeenTask| {
            changes.get(&task.number) == Some(&task.record.changes)
                && waits_for_tasks_only(&task.record, &sets)
                && !(is_certain && may_wait_for_more(&task.record))
        };
        let mut stuck = Self {
            now,
            earlier,
            is_certain,
            tasks: BTreeMap::new(),
            members: BTreeMap::new(),
        };
        for task in now.tasks.iter().filter(may_be) {
            stuck.tasks.insert(task.number, task);
            if let Some(set) = task.record.set {
                stuck.members.entry(set).or_default().insert(task.number);
            }
        }
        stuck.take_out_what_goes_on();
        stuck
    }

    /// A task that goes on lets all go on that wait for it, and perhaps those that wait for its scope or group.
    fn take_out_what_goes_on(&mut self) {
        let mut by_task: BTreeMap<TaskNumber, Vec<TaskNumber>> = BTreeMap::new();
        let mut by_set: BTreeMap<NonZeroU32, Vec<TaskNumber>> = BTreeMap::new();
        for task in self.tasks.values() {
            for wait in direct(&task.record) {
                if let Some(owner) = wait.owner {
                    by_task.entry(owner).or_default().push(task.number);
                }
                if let Some(set) = wait.set {
                    by_set.entry(set.number).or_default().push(task.number);
                }
            }
        }
        let goes_on = |number: &TaskNumber| self.goes_on(*number);
        let mut going: Vec<TaskNumber> = self.tasks.keys().copied().filter(goes_on).collect();
        while let Some(number) = going.pop() {
            let Some(task) = self.tasks.remove(&number) else {
                continue;
            };
            going.extend(by_task.get(&number).into_iter().flatten());
            let Some(set) = task.record.set else { continue };
            if let Some(members) = self.members.get_mut(&set) {
                members.remove(&number);
            }
            let waiters = by_set.get(&set).into_iter().flatten().copied();
            going.extend(waiters.filter(|waiter| self.goes_on(*waiter)));
        }
    }

    /// Whether one of the task's waits may end.
    fn goes_on(&self, number: TaskNumber) -> bool {
        let task = self.tasks.get(&number);
        task.is_some_and(|task| direct(&task.record).any(|wait| self.may_end(wait)))
    }

    fn may_end(&self, wait: WaitRecord) -> bool {
        match (wait.owner, wait.set) {
            (Some(owner), _) => !self.tasks.contains_key(&owner),
            (None, Some(set)) => self.set_may_end(set),
            (None, None) => true,
        }
    }

    fn set_may_end(&self, set: AwaitedSet) -> bool {
        let stuck = self.members.get(&set.number).map_or(0, BTreeSet::len);
        let are_all_stuck = || {
            let sizes = [self.now, self.earlier].map(|look| look.set_sizes.get(&set.number));
            sizes == [Some(&stuck); 2]
        };
        match set.until {
            SetWait::OneOf(tasks) => stuck < tasks as usize,
            SetWait::Each => stuck == 0,
            SetWait::All if !self.is_certain => stuck == 0,
            SetWait::All | SetWait::AllOrFailure => stuck == 0 || !are_all_stuck(),
        }
    }

    /// A task that this one waits for, and that is stuck as well.
    pub(crate) fn awaited_by(&self, task: &SeenTask) -> Option<TaskNumber> {
        let wait = direct(&task.record).next()?;
        let of_set = |set: AwaitedSet| self.members.get(&set.number)?.first().copied();
        wait.owner.or_else(|| of_set(wait.set?))
    }
}

/// Whether a deadlock can be of the task: it waits, and all that it waits for itself are tasks, scopes and groups of tasks,
/// recorded or not.
#[must_use]
pub fn may_be_stuck(task: &Record) -> bool {
    let is_for_tasks = |wait: WaitRecord| wait.kind == WaitKind::Task || wait.set.is_some();
    direct(task).next().is_some() && direct(task).all(is_for_tasks)
}

/// Whether all that the task is known to wait for are tasks, scopes and groups of tasks. `sets`: to which of them tasks
/// belong.
fn waits_for_tasks_only(task: &Record, sets: &BTreeMap<TaskNumber, NonZeroU32>) -> bool {
    let is_for_tasks = |wait: WaitRecord| wait.owner.is_some() || wait.set.is_some();
    matches!(task.state, TaskState::Waiting | TaskState::Blocked)
        && task.waits.direct_left_out == 0
        && direct(task).next().is_some()
        && direct(task).all(is_for_tasks)
        && (direct_waits_have_all_wakers(task) || others_are_of_awaited_sets(task, sets))
}

/// What else is listed is then inside a combinator that waits directly.
fn direct_waits_have_all_wakers(task: &Record) -> bool {
    let wakers = task.waits.wakers.map(|wakers| wakers as usize);
    wakers.is_some_and(|wakers| wakers <= direct(task).count())
}

/// Whether all waits inside combinators are for tasks of a group that is itself waited for.
fn others_are_of_awaited_sets(task: &Record, sets: &BTreeMap<TaskNumber, NonZeroU32>) -> bool {
    let is_awaited = |set: NonZeroU32| {
        let mut awaited = direct(task).filter_map(|wait| wait.set);
        awaited.any(|awaited| awaited.number == set)
    };
    let mut others = task.waits.current().filter(|wait| !wait.is_direct);
    task.waits.left_out == 0
        && others.all(|wait| {
            let set = wait.owner.and_then(|owner| sets.get(&owner));
            set.is_some_and(|set| is_awaited(*set))
        })
}

/// The waits whose ends wake the task itself.
pub(crate) fn direct(task: &Record) -> impl Iterator<Item = WaitRecord> + '_ {
    task.waits.current().filter(|wait| wait.is_direct)
}
