//! Without the feature: events go nowhere. Same functions as in `enabled.rs`.

use std::fmt::{Debug, Display};
use std::panic::Location;
use std::time::Duration;

#[inline(always)]
pub(crate) fn thread_change(_runtime: &str, _threads: usize, _reason: &dyn Debug) {}

#[inline(always)]
pub(crate) fn stall(_runtime: &str, _stall: &dyn Display) {}

#[inline(always)]
pub(crate) fn long_job(
    _runtime: &str,
    _running_for: Duration,
    _worker: Option<usize>,
    _spawned_at: Option<&Location<'_>>,
) {
}

#[inline(always)]
pub(crate) fn panic_ignored(_message: Option<&str>, _spawned_at: Option<&Location<'_>>) {}

/// In place of an entered span.
pub(crate) struct TaskSpan;

#[inline(always)]
pub(crate) fn task_span<'name>(
    _id: usize,
    _name: impl FnOnce() -> Option<&'name str>,
    _spawned_at: &Location<'_>,
) -> TaskSpan {
    TaskSpan
}
