//! A wait for the tasks of a scope or of a group, as a plain value.
//!
//! Not here: which tasks these are (`task_set.rs`), and when such a wait cannot end (`inspect/analysis/stuck.rs`).

use crate::recording::WaitKind;
use std::num::NonZeroU32;

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

/// A set of tasks that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AwaitedSet {
    pub(crate) number: NonZeroU32,
    pub(crate) until: SetWait,
}

impl SetWait {
    /// As what it is shown.
    pub(crate) fn kind(self) -> WaitKind {
        match self {
            Self::All | Self::AllOrFailure => WaitKind::Scope,
            Self::OneOf(_) | Self::Each => WaitKind::Group,
        }
    }
}

impl AwaitedSet {
    /// A task is added while somebody waits.
    pub(crate) fn grow(&mut self) {
        if let SetWait::OneOf(tasks) = &mut self.until {
            *tasks += 1;
        }
    }
}
