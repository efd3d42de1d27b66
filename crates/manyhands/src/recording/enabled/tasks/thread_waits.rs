//! With the feature: what a thread waits for, as the task that it runs or else in a record of its own, and that it is blocked.
//! Same functions as in `recording/disabled.rs`.
//!
//! Not here: the waits of futures (`hooks.rs`).

use crate::recording::enabled::tasks::hooks::{new_wait, note_wait, set_state, spread};
use crate::recording::enabled::{
    Current, Lines, Site, TaskRecord, current, is_open, is_recorded, table,
};
use crate::sync::{clock, thread};
use manyhands_analysis::{Record, TaskNumber, TaskState, WaitKind, Waits};
use std::mem;
use std::task::{Poll, Waker};

/// The calling thread waits for the end of the task `task`, until this is dropped.
#[inline]
#[track_caller]
pub(crate) fn thread_waits_for_task(task: &TaskRecord, id: usize) -> ThreadWait {
    if !is_open() {
        return ThreadWait(None);
    }
    thread_waits_recorded(task, id)
}

#[cold]
#[track_caller]
fn thread_waits_recorded(task: &TaskRecord, id: usize) -> ThreadWait {
    let mut wait = new_wait(0, WaitKind::Task, id);
    wait.owner = task.number();
    wait.since = clock::ticks();
    let begun = Waiting::begin(0, Some(Site(wait.at)));
    note_wait(wait, 0);
    ThreadWait(begun)
}

/// The calling thread polls a future with this waker until it is ready: one that waits for one thing, on this line, or else any,
/// which may wait for several things, and for what is not recorded.
#[inline]
pub(crate) fn thread_polls(waker: &Waker, one: Option<Site>) -> ThreadWait {
    let begun = || Waiting::begin(waker.data().addr(), one);
    ThreadWait(is_open().then(begun).flatten())
}

/// What a thread waits for, until this is dropped: as the task that it runs, or else as a thread.
#[must_use]
pub(crate) struct ThreadWait(Option<Waiting>);

struct Waiting {
    number: TaskNumber,
    /// Without a task if this is a thread's own record.
    before: Current,
    /// What the task has recorded in this poll.
    outer: Waits,
}

impl Waiting {
    /// `one`: the line, if the thread waits for one thing. `None` if there is no place for its record.
    #[cold]
    fn begin(waker: usize, one: Option<Site>) -> Option<Self> {
        let before = current::get();
        let number = before.number;
        let number = number.or_else(|| table::insert(spread(), thread_record(), None))?;
        let outer = table::change(number, |record| {
            let frames = record.waits.frames.as_deref();
            let around = frames.and_then(|frames| frames.around(before.frame));
            // Who waits for one thing has no waker elsewhere.
            let waits = Waits::within(around, one.map(|_| 0));
            record.note_change();
            mem::replace(&mut record.waits, waits)
        });
        let mut current = Current::of(Some(number), waker);
        current.lines = Lines {
            of_all: one.map(|site| site.0),
            ..before.lines
        };
        current.frame = before.frame;
        current::replace(current);
        Some(Self {
            number,
            before,
            outer: outer.unwrap_or_default(),
        })
    }
}

impl ThreadWait {
    /// Polls once.
    #[inline]
    pub(crate) fn poll<R>(&self, poll: impl FnOnce() -> Poll<R>) -> Poll<R> {
        let Some(waiting) = &self.0 else {
            return poll();
        };
        let around = waiting.before.frame;
        table::change(waiting.number, |record| record.begin_poll(around));
        current::set_waited(false);
        let polled = poll();
        if polled.is_pending() {
            let now = clock::ticks();
            table::change(waiting.number, |record| record.waits.end_poll(now));
        }
        polled
    }
}

impl Drop for ThreadWait {
    fn drop(&mut self) {
        let Some(waiting) = self.0.take() else { return };
        current::replace(waiting.before);
        if waiting.before.number.is_none() {
            table::remove(waiting.number);
        } else {
            table::change(waiting.number, |record| {
                record.note_change();
                record.waits = waiting.outer;
            });
        }
    }
}

/// The calling thread is blocked, until this is dropped.
#[inline]
pub(crate) fn thread_blocks() -> Blocked {
    let number = is_recorded().then(current::get);
    let number = number.and_then(|current| current.number);
    Blocked(number.filter(|&number| {
        let now = clock::ticks();
        set_state(number, TaskState::Running, TaskState::Blocked, now)
    }))
}

/// See [`thread_blocks`].
#[must_use]
pub(crate) struct Blocked(Option<TaskNumber>);

impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            let now = clock::ticks();
            table::change(number, |record| record.enter(TaskState::Running, now));
        }
    }
}

/// The calling thread, in place of a task.
fn thread_record() -> Record {
    Record {
        name: thread::current().name().map(Box::from),
        state: TaskState::Running,
        ..Record::new(clock::ticks())
    }
}
