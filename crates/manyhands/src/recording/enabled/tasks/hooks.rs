//! With the feature: the hooks by which tasks and waits are recorded. Same functions as in `recording/disabled.rs`.
//!
//! A thread knows the task that it runs, so that a future that is about to wait can record that in the task's record.
//! While recording is not open it knows none, and the hooks of a wait are a comparison with that and a branch. The other
//! hooks load whether recording is open, and branch.
//!
//! # Threads
//! A task is spawned and woken by any thread, and runs on one at a time. The order of its changes is that in which the
//! task's queue hands it from thread to thread.
//!
//! Not here: the records (`table.rs`), and how a task is woken by its record (`inspect/serve/wake_by_record.rs`).

use crate::priority::Priority;
use crate::recording::Awaited;
use crate::recording::enabled::tasks::last_waker;
use crate::recording::enabled::waits::task_set;
use crate::recording::enabled::{
    Current, RecordedCell, TaskSet, WorkType, current, is_open, is_recorded, leaf_stacks, table,
};
use crate::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sync::clock;
use manyhands_analysis::{Origin, Record, SetWait, TaskNumber, TaskState, WaitKind, WaitRecord};
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::task::Waker;

/// What a task's cell knows of its record: a [`TaskNumber`], or 0.
#[derive(Debug, Default)]
pub(crate) struct TaskRecord(AtomicU64);

crate::sync::thread_local! {
    /// The shard that gets what this thread spawns.
    static SPREAD: usize = {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        // Relaxed: any number will do.
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

impl TaskRecord {
    /// Of its record.
    pub(crate) fn number(&self) -> Option<TaskNumber> {
        // Relaxed: written before the task is shared, or by its runner, and a number that is missed is none.
        TaskNumber::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// The task is about to run. If it was spawned before recording was opened, `spawn` records that, and who did so is not known.
    pub(crate) fn seen(&self, spawn: impl FnOnce()) {
        if self.number().is_none() {
            spawn();
            if let Some(number) = self.number() {
                table::change(number, |record| record.parent = None);
            }
        }
    }

    /// The task is about to be queued, or, if it was spawned before recording was opened, to run.
    ///
    /// `cell` is the task's, and is not freed before this has [`ended`](Self::ended), or a [`run`](Self::run) that was the
    /// last.
    #[cold]
    pub(crate) fn spawned(
        &self,
        cell: NonNull<()>,
        (name, priority): (Option<&str>, Priority),
        work: &'static WorkType,
        spawned_at: &'static Location<'static>,
    ) {
        let record = Record {
            origin: Some(Origin {
                id: cell.addr().get(),
                work: &work.shown,
                spawned_at,
                priority: priority.word(),
            }),
            name: name.map(Box::from),
            parent: current::get().number,
            ..Record::new(clock::ticks())
        };
        let cell = RecordedCell {
            at: cell,
            waking: work.waking.as_ref(),
        };
        let number = table::insert(spread(), record, Some(cell));
        // Relaxed: as in `number`.
        self.0
            .store(number.map_or(0, TaskNumber::to_bits), Ordering::Relaxed);
    }

    /// The calling thread begins to run or poll the task.
    #[cold]
    pub(crate) fn run(&self, id: usize, worker: Option<(usize, &RuntimeNumber)>) -> Running {
        let Some(number) = self.number() else {
            return Running(None);
        };
        let now = clock::ticks();
        table::change(number, |record| {
            record.enter(TaskState::Running, now);
            record.begin_poll(0);
            record.waits.wakers = Some(0);
            record.polls = record.polls.saturating_add(1);
            record.ran_on = worker.map(|(worker, runtime)| (runtime.0, worker));
        });
        let mut current = Current::of(Some(number), id);
        current.asked = leaf_stacks::begin(number);
        let before = current::replace(current);
        if let Some(outer) = before.number {
            set_state(outer, TaskState::Running, TaskState::Blocked, now);
        }
        Running(Some((number, before)))
    }

    /// The task was queued again.
    #[inline]
    pub(crate) fn woken(&self) {
        if is_open() {
            self.note_wake();
        }
    }

    #[cold]
    fn note_wake(&self) {
        let Some(number) = self.number() else { return };
        let now = clock::ticks();
        table::change(number, |record| {
            record.enter(TaskState::Queued, now);
            record.wakes = record.wakes.saturating_add(1);
            record.woken_in_tokio = Some(last_waker::is_in_tokio());
            record.note_change();
        });
    }

    /// The task ends, or was dropped.
    #[inline]
    pub(crate) fn ended(&self) {
        if let Some(number) = self.number() {
            table::remove(number);
        }
    }
}

/// One run of a closure, or one poll of a future; `None` if the task is not recorded.
#[must_use]
pub(crate) struct Running(Option<(TaskNumber, Current)>);

impl Running {
    /// Ends the run. `is_over`: so does the task.
    #[inline]
    pub(crate) fn end(self, is_over: bool, wakers: impl FnOnce() -> Option<u32>) {
        let Some((number, before)) = self.0 else {
            return;
        };
        let asked = current::replace(before).asked;
        let now = clock::ticks();
        if let Some(outer) = before.number {
            set_state(outer, TaskState::Blocked, TaskState::Running, now);
        }
        if is_over {
            table::remove(number);
        } else {
            let wakers = wakers();
            table::change(number, |record| {
                record.enter(TaskState::Waiting, now);
                record.waits.end_poll(now);
                record.waits.wakers = wakers;
                record.note_change();
            });
        }
        if let Some(ticket) = asked {
            leaf_stacks::end(ticket, (!is_over).then_some(number));
        }
    }
}

/// Changes the state of a task whose thread is blocked or runs another one in its frame, or has done so. False: it was in
/// another state.
pub(super) fn set_state(number: TaskNumber, from: TaskState, to: TaskState, now: u64) -> bool {
    let is_changed = table::change(number, |record| {
        let is_in = record.state == from;
        if is_in {
            record.enter(to, now);
        }
        is_in
    });
    is_changed == Some(true)
}

/// A future of this library, which is `leaf`, is about to be pending. What it waits for is put together only if that is
/// recorded.
#[inline]
#[track_caller]
pub(crate) fn waits<'a, L>(leaf: &L, waker: &Waker, awaited: impl FnOnce() -> Awaited<'a>) {
    if is_recorded() {
        waits_recorded(ptr::from_ref(leaf).addr(), waker.data().addr(), awaited());
    }
}

#[cold]
#[track_caller]
fn waits_recorded(leaf: usize, waker: usize, awaited: Awaited<'_>) {
    let (kind, resource, set) = recorded_as(awaited);
    let mut wait = new_wait(leaf, kind, resource);
    if let Awaited::Task(task, _) = awaited {
        wait.owner = task.number();
        wait.owner.into_iter().for_each(task_set::note_polled);
    }
    match set {
        Some((set, until)) => set.note_wait(wait, until, waker),
        None => note_wait(wait, waker),
    }
}

/// As what a wait for this is recorded: its kind, its resource, and the tasks of a set.
pub(crate) fn recorded_as(awaited: Awaited<'_>) -> (WaitKind, usize, Option<(&TaskSet, SetWait)>) {
    match awaited {
        Awaited::Thing(kind, resource) => (kind, resource, None),
        Awaited::Task(_, id) => (WaitKind::Task, id, None),
        Awaited::Scope(set, end) => (WaitKind::Scope, end, Some((set, SetWait::All))),
        Awaited::TryScope(set, end) => (WaitKind::Scope, end, Some((set, SetWait::AllOrFailure))),
        Awaited::OneOf(set, tasks) => (WaitKind::Group, 0, Some((set, SetWait::OneOf(tasks)))),
        Awaited::Each(set) => (WaitKind::Group, 0, Some((set, SetWait::Each))),
    }
}

/// Of a future on the caller's line, or that which the thread has said for it.
#[track_caller]
pub(crate) fn new_wait(leaf: usize, kind: WaitKind, resource: usize) -> WaitRecord {
    let at = current::get().lines.of(Location::caller());
    WaitRecord::new(leaf, kind, resource, at)
}

/// Records a wait in the task that the calling thread runs.
pub(crate) fn note_wait(mut wait: WaitRecord, waker: usize) {
    let current = current::get();
    let Some(number) = current.number else { return };
    wait.is_direct = waker == current.waker;
    wait.at = current.lines.of_all.unwrap_or(wait.at);
    wait.frame = current.frame;
    table::change(number, |record| {
        if let Some(leaf) = current.over {
            record.waits.remove(|wait| wait.leaf == leaf);
        }
        record.waits.add(wait);
        record.note_change();
    });
    current::set_waited(true);
    if let Some(ticket) = current.asked {
        leaf_stacks::note(ticket, wait.leaf);
    }
}

/// Names a runtime of this process.
#[derive(Debug)]
pub(crate) struct RuntimeNumber(pub(crate) u32);

impl Default for RuntimeNumber {
    /// The next one.
    fn default() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        // Relaxed: a count.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The shard for what this thread records.
pub(super) fn spread() -> usize {
    SPREAD.with(|spread| *spread)
}
