//! With the feature: the end of a wait. Same functions as in `recording/disabled.rs`.
//!
//! A wait is known by where its future is. One that was moved since its poll is known by what it waits for, if nothing else
//! waits for the same: a task, or tasks of a set.

use crate::recording::Awaited;
use crate::recording::enabled::tasks::hooks::recorded_as;
use crate::recording::enabled::{current, is_recorded, table};
use manyhands_analysis::{WaitKind, WaitRecord};
use std::ptr;

/// The future `leaf` is dropped, or what it waited for has come, so it does not wait any more.
#[inline]
pub(crate) fn forget<L>(leaf: &L) {
    if is_recorded() {
        forget_at(ptr::from_ref(leaf).addr());
    }
}

/// As [`forget`], of a future that waited for this, and may have been moved since it was polled.
#[inline]
pub(crate) fn forget_moved<'a, L>(leaf: &L, awaited: impl FnOnce() -> Awaited<'a>) {
    if is_recorded() {
        forget_moved_at(ptr::from_ref(leaf).addr(), awaited());
    }
}

#[cold]
fn forget_at(leaf: usize) {
    if !current::remember_over(leaf) {
        remove(leaf, |_| false);
    }
}

#[cold]
fn forget_moved_at(leaf: usize, awaited: Awaited<'_>) {
    let (kind, resource, set) = recorded_as(awaited);
    remove(leaf, |wait| match set {
        Some((set, _)) => set.number.is_some() && wait.set.map(|set| set.number) == set.number,
        None => kind == WaitKind::Task && (wait.kind, wait.resource) == (WaitKind::Task, resource),
    });
}

/// Takes out the wait of the future that was here, or, if there is none, one that is the same.
fn remove(leaf: usize, is_same: impl Fn(&WaitRecord) -> bool) {
    if let Some(number) = current::get().number {
        table::change(number, |record| {
            if record.waits.remove(|wait| wait.leaf == leaf) || record.waits.remove(is_same) {
                record.note_change();
            }
        });
    }
}
