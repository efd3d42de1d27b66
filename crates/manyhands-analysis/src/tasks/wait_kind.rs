//! What a task can wait for, as far as the library knows.

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
    /// The end of a scope of tasks. The line is that of the call.
    Scope,
    /// A time.
    Timer,
    /// A cancellation.
    Cancellation,
    /// Something outside the library, such as a socket of tokio. Nobody records such a wait: the task has more wakers than
    /// recorded waits. It began when the task was last polled, or later. The line is that of the frame in which it is,
    /// or else the one that spawned the task.
    Outside,
}
