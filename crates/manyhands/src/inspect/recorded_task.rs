//! What a record knows of its task's cell: where it is, of which type its work is, and how the task is woken by who holds
//! no part of the cell.
//!
//! A record is taken out of the table before its task's cell is freed. So who has found it there has the cell too, as long as
//! the shard of the table stays locked. That is long enough to get the right to queue the task, which is itself a part of
//! the cell.
//!
//! Not here: the table (`table.rs`), and the steps of a wake (`task/steps.rs`).
//!
//! Unsafe: the cell is reached by pointer.

use crate::inspect::task_state::TaskKind;
#[cfg(unix)]
use crate::inspect::{
    table::{self, TaskNumber},
    task_state::TaskState,
};
use std::ptr::NonNull;

/// The type of a task's closure or future, and how a future is woken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkType {
    name: fn() -> &'static str,
    kind: TaskKind,
    #[cfg_attr(not(unix), expect(dead_code, reason = "nobody can ask for a wake"))]
    waking: Option<Waking>,
}

/// The two steps of a wake by who holds no part of the task's cell. The first one needs only that the cell is there; if it
/// returns true, the caller must do the second one, and has the cell until then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waking {
    #[cfg_attr(not(unix), expect(dead_code, reason = "nobody can ask for a wake"))]
    request: unsafe fn(NonNull<()>) -> bool,
    #[cfg_attr(not(unix), expect(dead_code, reason = "nobody can ask for a wake"))]
    queue: unsafe fn(NonNull<()>),
}

/// A task, by its cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedTask {
    cell: NonNull<()>,
    work: &'static WorkType,
}

// SAFETY: where a cell is, is known to any thread; what is done with it there is up to `wake_waiting`.
unsafe impl Send for RecordedTask {}

impl WorkType {
    /// Of a closure.
    pub(crate) const fn closure<F>() -> Self {
        Self {
            name: std::any::type_name::<F>,
            kind: TaskKind::Closure,
            waking: None,
        }
    }

    /// Of a future. `waking`: how any thread may wake it.
    pub(crate) const fn future<F>(waking: Option<Waking>) -> Self {
        Self {
            name: std::any::type_name::<F>,
            kind: TaskKind::Future,
            waking,
        }
    }

    /// What such work is.
    pub(super) fn kind(&self) -> TaskKind {
        self.kind
    }
}

impl Waking {
    /// Of these two steps.
    pub(crate) const fn new(
        request: unsafe fn(NonNull<()>) -> bool,
        queue: unsafe fn(NonNull<()>),
    ) -> Self {
        Self { request, queue }
    }
}

impl RecordedTask {
    /// For a record that leaves the table before this cell is freed.
    pub(super) fn new(cell: NonNull<()>, work: &'static WorkType) -> Self {
        Self { cell, work }
    }

    /// Which task this is for its handle and for `tracing`.
    pub(super) fn id(&self) -> usize {
        self.cell.addr().get()
    }

    pub(super) fn type_name(&self) -> &'static str {
        (self.work.name)()
    }
}

/// Why a task is not woken.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotWoken {
    /// No task that exists has this number.
    NoSuchTask,
    /// It does not wait without a thread, or another library's executor polls it.
    NotWaiting,
}

/// Wakes a task that waits, as one of its wakers would.
#[cfg(unix)]
pub(super) fn wake_waiting(number: TaskNumber) -> Result<(), NotWoken> {
    let mut found = Err(NotWoken::NoSuchTask);
    table::change(number, |record| {
        let waking = record
            .task
            .and_then(|task| Some((task.cell, task.work.waking?)));
        found = match waking {
            Some((cell, waking)) if record.state == TaskState::Waiting => {
                // SAFETY: the record is in the table, whose shard is locked, so the cell is there. Held by
                // `tests/inspect/polls.rs::tasks_that_end_while_they_are_asked_for_are_polled_or_gone`.
                let must_queue = unsafe { (waking.request)(cell) };
                Ok(must_queue.then_some((cell, waking)))
            }
            _ => Err(NotWoken::NotWaiting),
        };
    });
    if let Some((cell, waking)) = found? {
        // SAFETY: the first step has asked for this one, which is done here and now. The lock is let go: the task's record
        // is changed when it is queued.
        unsafe { (waking.queue)(cell) };
    }
    Ok(())
}
