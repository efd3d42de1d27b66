//! A wait for the tasks of a scope or of a group, as a plain value.
//!
//! Not here: which tasks these are (`task_set.rs`), and when such a wait cannot end (`inspect/analysis/stuck.rs`).

use crate::recording::{SetWait, WaitKind};
use std::num::NonZeroU32;

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
