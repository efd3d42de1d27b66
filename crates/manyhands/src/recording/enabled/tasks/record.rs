//! What is recorded of one task.
//!
//! Not here: where records are (`table.rs`), and what is recorded when (`hooks.rs`).

use crate::priority::Priority;
use crate::recording::enabled::waits::lines::is_of_library;
use crate::recording::enabled::{RecordedCell, TaskNumber, TaskState, WaitRecord, Waits, WorkType};
use std::num::NonZeroU32;
use std::panic::Location;

/// What is recorded of one task. Times are readings of the tick counter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// `None` of a thread.
    pub(crate) origin: Option<Origin>,
    pub(crate) name: Option<Box<str>>,
    pub(crate) parent: Option<TaskNumber>,
    /// The scope or group that it belongs to.
    pub(crate) set: Option<NonZeroU32>,
    /// The runtime and the worker that ran it last.
    pub(crate) ran_on: Option<(u32, usize)>,
    pub(crate) state: TaskState,
    /// When it was spawned, or first seen.
    pub(crate) spawned: u64,
    /// When it got into this state.
    pub(crate) since: u64,
    /// How long it has run.
    pub(crate) busy: u64,
    /// No further than it can be counted.
    pub(crate) polls: u32,
    /// No further than it can be counted.
    pub(crate) wakes: u32,
    /// Whether who has woken it last waited in tokio's driver; `None` if nobody has.
    pub(crate) woken_in_tokio: Option<bool>,
    /// Raised by each poll, each wake, and each change of its waits; goes on with 0 behind the highest number.
    pub(crate) changes: u32,
    pub(crate) waits: Waits,
}

/// What a task has and a thread has not: its cell, what it runs, where it was spawned, and its priority.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) cell: RecordedCell,
    pub(crate) work: &'static WorkType,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) priority: Priority,
}

impl Record {
    /// Of a thread that was first seen now; a task has more to say.
    pub(crate) fn new(now: u64) -> Self {
        Self {
            spawned: now,
            since: now,
            ..Self::default()
        }
    }

    /// Which task this is for its handle and for `tracing`; 0: it is none.
    pub(crate) fn id(&self) -> usize {
        self.origin.map_or(0, |origin| origin.cell.0.addr().get())
    }

    /// The type of its closure or future; empty of a thread.
    pub(crate) fn type_name(&self) -> &'static str {
        self.origin.map_or("", |origin| (origin.work.name)())
    }

    /// Where it was spawned; `None` of a thread.
    pub(crate) fn spawned_at(&self) -> Option<&'static Location<'static>> {
        self.origin.map(|origin| origin.spawned_at)
    }

    /// The line of one of its waits: that of its spawning if it is nothing but a future of this library.
    pub(crate) fn line_of(&self, wait: &WaitRecord) -> &'static Location<'static> {
        let spawned_at = is_of_library(wait.at).then(|| self.spawned_at());
        spawned_at.flatten().unwrap_or(wait.at)
    }

    /// What a snapshot shows of it is not what it was.
    pub(crate) fn note_change(&mut self) {
        self.changes = self.changes.wrapping_add(1);
    }

    /// Changes its state. A thread that waits may wake up to look, and sleep again: that alone is no change of what it
    /// waits for.
    pub(crate) fn enter(&mut self, state: TaskState, now: u64) {
        if self.state == TaskState::Running {
            self.busy += now.saturating_sub(self.since);
        }
        self.state = state;
        self.since = now;
    }

    /// What it is.
    pub(crate) fn kind(&self) -> &'static str {
        self.origin.map_or("thread", |origin| origin.work.kind)
    }

    /// The task is about to be polled: what it waited for so far counts only for since when it waits for the same again.
    /// `around`: the frame that the thread that polls is in; 0: none.
    pub(crate) fn begin_poll(&mut self, around: usize) {
        self.waits.begin_poll(around);
        self.note_change();
    }
}
