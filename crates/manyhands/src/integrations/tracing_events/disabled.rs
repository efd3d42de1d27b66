//! Without the feature: events go nowhere. Same functions as in `enabled.rs`. The compiler inlines what has no code by itself.

use std::fmt::{Debug, Display};
use std::panic::Location;
use std::time::Duration;

pub(crate) fn thread_change(_runtime: &str, _threads: usize, _reason: &dyn Debug) {}

pub(crate) fn stall(_runtime: &str, _stall: &dyn Display) {}

pub(crate) fn long_job(
    _runtime: &str,
    _running_for: Duration,
    _worker: Option<usize>,
    _spawned_at: Option<&Location<'_>>,
) {
}

pub(crate) fn panic_ignored(_message: Option<&str>, _spawned_at: Option<&Location<'_>>) {}

/// In place of an entered span.
pub(crate) struct TaskSpan;

pub(crate) fn task_span<'name>(
    _id: usize,
    _name: impl FnOnce() -> Option<&'name str>,
    _spawned_at: &Location<'_>,
) -> TaskSpan {
    TaskSpan
}
