//! What a task can wait for, as far as this library knows.

use std::fmt;

/// What a task waits for.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")]
/// assert_eq!(manyhands::inspect::WaitKind::Receive.to_string(), "an item of a channel");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WaitKind {
    /// The end of a task.
    Task,
    /// The end of one of several tasks, or of several futures of the same task.
    Group,
    /// An item of a channel.
    Receive,
    /// Room in a channel.
    Send,
    /// The end of a channel.
    ChannelEnd,
    /// The result of a completion.
    Completion,
    /// The end of a [`scope_blocking`](crate::task::scope_blocking()) or
    /// [`try_scope_blocking`](crate::task::try_scope_blocking()). The line is that of the call.
    Scope,
    /// A time.
    Timer,
    /// A cancellation.
    Cancellation,
    /// Something outside this library, such as a socket of tokio. Nobody records such a wait: the task has more wakers than
    /// recorded waits. It began when the task was last polled, or later. The line is that of the frame in which it is,
    /// or else the one that spawned the task.
    Outside,
}

impl fmt::Display for WaitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Task => "a task",
            Self::Group => "a group",
            Self::Receive => "an item of a channel",
            Self::Send => "room in a channel",
            Self::ChannelEnd => "the end of a channel",
            Self::Completion => "a completion",
            Self::Scope => "the end of a scope",
            Self::Timer => "a time",
            Self::Cancellation => "a cancellation",
            Self::Outside => "something outside this library",
        })
    }
}
