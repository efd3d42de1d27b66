//! How urgent a task is: a value that the layers above give their meaning.
//!
//! Not here: whose turn it is (`runtime/worker/priority.rs`), and where a task keeps its priority (`task/cell.rs`).

/// How urgent a task is, for [`task::Builder::priority`](crate::task::Builder::priority).
///
/// Where a worker could run tasks of all three, it runs 8 interactive ones for 4 normal ones and 1 in the
/// background; whatever it has not come to for 10 ms and four tasks goes first, so nothing starves.
///
/// Example: see [`task::Builder::priority`](crate::task::Builder::priority).
#[doc(alias = "TaskPriority")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Priority {
    /// Somebody waits for it.
    Interactive,
    /// The usual one.
    #[default]
    Normal,
    /// It has time.
    Background,
}

impl Priority {
    /// The more urgent ones first.
    pub(crate) const ALL: [Self; 3] = [Self::Interactive, Self::Normal, Self::Background];

    /// What it is called in the record of a task.
    #[cfg(feature = "inspect")]
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Normal => "normal",
            Self::Background => "background",
        }
    }
}
