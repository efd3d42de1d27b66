//! With the feature: which tasks belong to one scope or group, so that a wait for them is known to be one. Same functions as
//! in `recording/disabled.rs`.
//!
//! A scope or group that was made while recording was open has a number. The record of each of its tasks has it, and so has
//! a wait for them. `when_all` has a number if it was made of handles; which tasks these are it learns while it polls them.
//!
//! # Threads
//! Any thread adds tasks, one at a time waits for them. What is added while somebody waits changes that wait, so of two
//! looks that see the same wait no task was added in between.

use crate::recording::enabled::tasks::hooks::note_wait;
use crate::recording::enabled::waits::site::Said;
use crate::recording::enabled::{TaskRecord, current, is_open, table};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use manyhands_analysis::{AwaitedSet, SetWait, TaskNumber, WaitKind, WaitRecord};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// The names of groups, each until its set is dropped.
static NAMES: Mutex<BTreeMap<NonZeroU32, Box<str>>> = Mutex::new(BTreeMap::new());

/// The tasks of a scope or of a group.
#[derive(Debug)]
pub(crate) struct TaskSet {
    /// `None` if it was made before recording was opened, or of other futures than handles.
    pub(crate) number: Option<NonZeroU32>,
    /// The task that waits for it, or has done so last: a [`TaskNumber`], or 0.
    waiter: AtomicU64,
    /// Its name is in the list.
    is_named: bool,
}

impl TaskSet {
    /// Of a new group with this name.
    pub(crate) fn named(name: String) -> Self {
        let mut set = Self::of_futures(|| true);
        if let Some(number) = set.number {
            lock(&NAMES).insert(number, name.into_boxed_str());
            set.is_named = true;
        }
        set
    }

    /// Of a new scope or group, or of futures that are awaited together. Others than handles are no tasks.
    pub(crate) fn of_futures(are_handles: impl FnOnce() -> bool) -> Self {
        let is_known = is_open() && are_handles();
        Self {
            number: if is_known { next_number() } else { None },
            waiter: AtomicU64::new(0),
            is_named: false,
        }
    }

    /// Polls one of these futures. If it is pending, the task that it waits for belongs to the set from now on.
    #[inline]
    pub(crate) fn poll<R>(&self, poll: impl FnOnce() -> R) -> R {
        if self.number.is_none() {
            return poll();
        }
        let _said = Said::now(|said| said.of_set = self.number);
        poll()
    }

    /// The task was spawned in the scope, or put into the group.
    #[inline]
    pub(crate) fn add(&self, task: &TaskRecord) {
        let Some(number) = self.number else { return };
        if let Some(task) = task.number() {
            table::change(task, |record| record.set = Some(number));
        }
        // Relaxed: a thread that misses the waiter adds a task while the wait begins, so before the first of two looks that see it.
        if let Some(waiter) = TaskNumber::from_bits(self.waiter.load(Ordering::Relaxed)) {
            table::change(waiter, |record| {
                record.waits.grow_set(number);
                record.note_change();
            });
        }
    }

    /// Records a wait for its tasks in the task that the calling thread runs. The future of a scope is all that its thread
    /// polls.
    pub(crate) fn note_wait(&self, mut wait: WaitRecord, until: SetWait, waker: usize) {
        let waiter = current::get().number;
        // Relaxed: see `add`.
        self.waiter
            .store(waiter.map_or(0, TaskNumber::to_bits), Ordering::Relaxed);
        wait.set = self.number.map(|number| AwaitedSet { number, until });
        if let Some(number) = self.number.filter(|_| self.is_named) {
            wait.resource = number.get() as usize;
        }
        note_wait(wait, waker);
        if wait.kind == WaitKind::Scope
            && let Some(waiter) = waiter
        {
            table::change(waiter, |record| record.waits.wakers = Some(1));
        }
    }
}

impl Drop for TaskSet {
    #[inline]
    fn drop(&mut self) {
        if let Some(number) = self.number.filter(|_| self.is_named) {
            let name = lock(&NAMES).remove(&number);
            drop(name);
        }
    }
}

/// A handle was polled and waits for this task.
pub(crate) fn note_polled(task: TaskNumber) {
    let Some(set) = current::get().lines.of_set else {
        return;
    };
    table::change(task, |record| {
        if record.set != Some(set) {
            record.set = Some(set);
            // So of two looks that see the same record, both see the task in the set.
            record.note_change();
        }
    });
}

/// The name of the set with this number.
pub(crate) fn name_of(number: NonZeroU32) -> Option<String> {
    lock(&NAMES).get(&number).map(|name| name.to_string())
}

/// `None` when all numbers have been used.
fn next_number() -> Option<NonZeroU32> {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    // Relaxed, both: a count.
    let next = |number: u32| number.checked_add(1);
    let number = NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    number.ok().and_then(NonZeroU32::new)
}
