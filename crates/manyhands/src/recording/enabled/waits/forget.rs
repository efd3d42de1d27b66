//! With the feature: the end of a wait. Same functions as in `recording/disabled.rs`.
//!
//! A wait is known by where its future is. One that was moved since its poll is known by what it waits for, if nothing else
//! waits for the same: a task, or tasks of a set.

use crate::recording::WaitKind;
use crate::recording::enabled::tasks::current::{self, is_recorded};
use crate::recording::enabled::tasks::table;
use crate::recording::enabled::waits::task_set::TaskSet;
use crate::recording::enabled::waits::task_waits::WaitRecord;
use std::num::NonZeroU32;
use std::ptr;

/// The future `leaf` is dropped, or what it waited for has come, so it does not wait any more.
#[inline]
pub(crate) fn forget<L>(leaf: &L) {
    if is_recorded() {
        forget_at(ptr::from_ref(leaf).addr());
    }
}

/// As [`forget`], of a wait for the end of the task with this id. The future may have been moved since it was polled.
#[inline]
pub(crate) fn forget_task<L>(leaf: &L, id: usize) {
    if is_recorded() {
        forget_task_at(ptr::from_ref(leaf).addr(), id);
    }
}

#[cold]
fn forget_at(leaf: usize) {
    if !current::remember_over(leaf) {
        forget_moved(leaf, |_| false);
    }
}

#[cold]
fn forget_task_at(leaf: usize, id: usize) {
    forget_moved(leaf, |wait| {
        wait.kind == WaitKind::Task && wait.resource == id
    });
}

/// As [`forget`], of a wait for tasks of `set`. The future may have been moved since it was polled.
#[inline]
pub(crate) fn forget_set<L>(leaf: &L, set: &TaskSet) {
    if is_recorded() {
        forget_set_at(ptr::from_ref(leaf).addr(), set.number());
    }
}

#[cold]
fn forget_set_at(leaf: usize, number: Option<NonZeroU32>) {
    forget_moved(leaf, |wait| {
        number.is_some() && wait.set.map(|set| set.number) == number
    });
}

/// Takes out the wait of the future that was here, or, if there is none, one that is the same.
fn forget_moved(leaf: usize, is_same: impl Fn(&WaitRecord) -> bool) {
    if let Some(number) = current::get().number {
        table::change(number, |record| record.remove_wait(leaf, is_same));
    }
}
