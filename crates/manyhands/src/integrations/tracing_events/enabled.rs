//! With the feature: events and spans for the subscriber. Same functions as in `disabled.rs`.
//!
//! Not here: when there is an event to report.

use std::fmt::{Debug, Display};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::time::Duration;
use tracing::field::display;
use tracing::span::EnteredSpan;

#[cold]
pub(crate) fn thread_change(runtime: &str, threads: usize, reason: &dyn Debug) {
    guarded(|| {
        tracing::debug!(target: "manyhands::threads", runtime, threads, ?reason, "threads changed");
    });
}

#[cold]
pub(crate) fn stall(runtime: &str, stall: &dyn Display) {
    guarded(|| {
        tracing::error!(target: "manyhands::stall", runtime, %stall, "the pool cannot go on");
    });
}

#[cold]
pub(crate) fn long_job(
    runtime: &str,
    running_for: Duration,
    worker: Option<usize>,
    spawned_at: Option<&Location<'_>>,
) {
    let spawned_at = spawned_at.map(display);
    guarded(|| {
        tracing::debug!(
            target: "manyhands::long_job", runtime, ?running_for, worker, spawned_at,
            "a computation keeps a worker while every place is taken"
        );
    });
}

#[cold]
pub(crate) fn panic_ignored(message: Option<&str>, spawned_at: Option<&Location<'_>>) {
    let panic = message.unwrap_or("no message");
    let spawned_at = spawned_at.map(display);
    guarded(|| {
        tracing::warn!(target: "manyhands::panic", panic, spawned_at, "nobody takes a panic");
    });
}

/// The span of one run or poll of a task; ends when dropped.
pub(crate) struct TaskSpan(Option<EnteredSpan>);

#[inline]
pub(crate) fn task_span<'name>(
    id: usize,
    name: impl FnOnce() -> Option<&'name str>,
    spawned_at: &Location<'_>,
) -> TaskSpan {
    // Checked first, so that a task costs only this when no subscriber wants spans.
    if tracing::level_filters::LevelFilter::current() < tracing::Level::TRACE {
        return TaskSpan(None);
    }
    let enter = || {
        // Before the name is computed.
        if !tracing::span_enabled!(target: "manyhands::task", tracing::Level::TRACE) {
            return None;
        }
        let span = tracing::trace_span!(
            target: "manyhands::task", "task", id = format_args!("{id:x}"), name = name(), %spawned_at
        );
        Some(span.entered())
    };
    TaskSpan(guarded(enter).flatten())
}

impl Drop for TaskSpan {
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            guarded(|| drop(span));
        }
    }
}

/// Calls the subscriber; its panic must not unwind into the runtime. `None` if it panicked.
fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => Some(result),
        Err(payload) => {
            // Dropping the payload has panicked with another payload, which is leaked.
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            let _ = dropped.map_err(ManuallyDrop::new);
            None
        }
    }
}
