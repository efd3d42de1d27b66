//! What a future of this library waits for, as it says when it is about to be pending.
//!
//! Not here: how that is recorded (`enabled/tasks/hooks.rs`), and what a task shows of it (`WaitKind` of `manyhands-analysis`).

use crate::recording::{TaskRecord, TaskSet, WaitKind};

/// What a future waits for.
#[derive(Clone, Copy)]
pub(crate) enum Awaited<'a> {
    /// Something that is no task, by its address.
    Thing(WaitKind, usize),
    /// The end of a task, with its id.
    Task(&'a TaskRecord, usize),
    /// The end of all tasks of a scope, which is at this address. A task that has the scope can cancel the others.
    Scope(&'a TaskSet, usize),
    /// As [`Scope`](Self::Scope); a task that fails cancels the others.
    TryScope(&'a TaskSet, usize),
    /// The end of one of this many tasks.
    OneOf(&'a TaskSet, u32),
    /// The end of each of several tasks, none of which can cancel the others.
    Each(&'a TaskSet),
}
