//! What is recorded of one task.
//!
//! Not here: where records are and what is recorded when (`recording/enabled/tasks/table.rs` and `hooks.rs` of the library), and
//! a copy of one (`seen.rs`).

use crate::tasks::number::TaskNumber;
use crate::tasks::state::TaskState;
use crate::tasks::waits::{WaitRecord, Waits};
use std::num::NonZeroU32;
use std::panic::Location;

/// What is recorded of one task. Times are readings of the tick counter.
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// `None` of a thread.
    pub origin: Option<Origin>,
    /// The name that it was given, or that of the thread.
    pub name: Option<Box<str>>,
    /// The task that has spawned it.
    pub parent: Option<TaskNumber>,
    /// The scope or group that it belongs to.
    pub set: Option<NonZeroU32>,
    /// The runtime and the worker that ran it last.
    pub ran_on: Option<(u32, usize)>,
    /// What it does.
    pub state: TaskState,
    /// When it was spawned, or first seen.
    pub spawned: u64,
    /// When it got into this state.
    pub since: u64,
    /// How long it has run.
    pub busy: u64,
    /// How often it was polled, as far as that can be counted.
    pub polls: u32,
    /// How often it was woken, as far as that can be counted.
    pub wakes: u32,
    /// Whether who has woken it last waited in tokio's driver; `None` if nobody has.
    pub woken_in_tokio: Option<bool>,
    /// Raised by each poll, each wake, and each change of its waits; goes on with 0 behind the highest number.
    pub changes: u32,
    /// What it waits for.
    pub waits: Waits,
}

/// What a task has and a thread has not.
#[derive(Debug, Clone, Copy)]
pub struct Origin {
    /// Which task this is for its handle and for `tracing`.
    pub id: usize,
    /// What it runs.
    pub work: &'static Work,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// The word for its priority.
    pub priority: &'static str,
}

/// What tasks of one type run.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// The type of the closure or future.
    pub type_name: fn() -> &'static str,
    /// What such work is called.
    pub kind: &'static str,
    /// The folder of the library's files: a line in it is none of the program.
    pub library: &'static str,
}

impl Record {
    /// Of a thread that was first seen now; a task has more to say.
    #[inline]
    #[must_use]
    pub fn new(now: u64) -> Self {
        Self {
            spawned: now,
            since: now,
            ..Self::default()
        }
    }

    /// Which task this is for its handle and for `tracing`; 0: it is none.
    #[inline]
    #[must_use]
    pub fn id(&self) -> usize {
        self.origin.map_or(0, |origin| origin.id)
    }

    /// The type of its closure or future; empty of a thread.
    pub(crate) fn type_name(&self) -> &'static str {
        self.origin.map_or("", |origin| (origin.work.type_name)())
    }

    /// Where it was spawned; `None` of a thread.
    pub(crate) fn spawned_at(&self) -> Option<&'static Location<'static>> {
        self.origin.map(|origin| origin.spawned_at)
    }

    /// The line of one of its waits: that of its spawning if it is nothing but a future of the library.
    pub(crate) fn line_of(&self, wait: &WaitRecord) -> &'static Location<'static> {
        let is_of_library = |origin: &Origin| wait.at.file().starts_with(origin.work.library);
        let origin = self.origin.filter(is_of_library);
        origin.map_or(wait.at, |origin| origin.spawned_at)
    }

    /// What a snapshot shows of it is not what it was.
    #[inline]
    pub fn note_change(&mut self) {
        self.changes = self.changes.wrapping_add(1);
    }

    /// Changes its state. A thread that waits may wake up to look, and sleep again: that alone is no change of what it
    /// waits for.
    #[inline]
    pub fn enter(&mut self, state: TaskState, now: u64) {
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
    #[inline]
    pub fn begin_poll(&mut self, around: usize) {
        self.waits.begin_poll(around);
        self.note_change();
    }
}
