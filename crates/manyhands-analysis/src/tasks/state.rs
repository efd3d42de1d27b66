//! What a task does.

/// What a task does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// It is in a queue.
    #[default]
    Queued,
    /// A thread runs or polls it.
    Running,
    /// It was pending when it was last polled, and occupies no thread.
    Waiting,
    /// Its thread is blocked, or runs another task in its frame.
    Blocked,
}
