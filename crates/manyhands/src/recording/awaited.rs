//! What a future of this library waits for, as it says when it is about to be pending.
//!
//! Not here: how that is recorded (`enabled/tasks/hooks.rs`), and what a task shows of it (`wait_kind.rs`).

use crate::recording::{TaskRecord, TaskSet, WaitKind};

/// What a future waits for.
#[derive(Clone, Copy)]
pub(crate) enum Awaited<'a> {
    /// Something of this kind, by its address.
    Thing(WaitKind, usize),
    /// The end of a task, with its id.
    Task(&'a TaskRecord, usize),
    /// Tasks of a scope or group, and the address or the name of that.
    Set(&'a TaskSet, SetWait, usize),
}

/// What of a set of tasks is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetWait {
    /// The end of all its tasks. A task that has the scope can cancel the others.
    All,
    /// As [`All`](Self::All); one that fails cancels the others.
    AllOrFailure,
    /// The end of one of this many tasks.
    OneOf(u32),
    /// The end of each of its tasks, none of which can cancel the others.
    Each,
}
