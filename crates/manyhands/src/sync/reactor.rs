//! What watches sockets, as far as a runtime knows it: a place where one worker at a time may sleep.
//!
//! A sleeper there is woken by its [`Parker`](crate::sync::Parker), like any other, and wakes by itself when
//! sockets have woken tasks that it is to run. Not here: what does the watching (`tokio`).

use std::fmt::Debug;
use std::task::{Context, Poll};
use std::time::Duration;

/// Watches sockets, on the thread that asks it to.
pub(crate) trait Reactor: Debug + Sync {
    /// Whether `sleeper` may sleep here now.
    fn vacancy(&'static self, sleeper: &'static dyn Sleeper) -> PollerState;

    /// Sleeps until `sleeper` is woken or `limit` is over, and wakes whom the sockets wake. `false`, at once,
    /// if another thread watches or is to; then `sleeper` is woken if that makes room for it. May return early for
    /// no reason.
    fn sleep(&'static self, sleeper: &'static dyn Sleeper, limit: Option<Duration>) -> bool;

    /// Wakes whom the sockets wake by now, unless another thread watches.
    fn look(&'static self, sleeper: &'static dyn Sleeper);

    /// A worker will watch no more: another thread is to, unless one does.
    fn leave(&'static self);

    /// Calls for another thread if nobody has watched for a while.
    fn attend(&'static self);
}

/// Who sleeps at a reactor.
#[cfg_attr(
    not(feature = "tokio"),
    expect(dead_code, reason = "only tokio watches sockets")
)]
pub(crate) trait Sleeper: Debug + Sync {
    /// Ready when it was woken; else it is woken through the context's waker.
    fn poll_wake(&self, context: &Context<'_>) -> Poll<()>;

    /// Wakes it.
    fn wake(&self);

    /// Whether the sockets have woken something that it is to run.
    fn has_work(&self) -> bool;
}

/// Whether a worker may sleep at a reactor.
#[cfg_attr(
    not(feature = "tokio"),
    expect(dead_code, reason = "only tokio watches sockets")
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PollerState {
    /// It may.
    Free,
    /// A worker has just left and may be back in a moment; else there is room.
    Soon,
    /// Another worker watches.
    Taken,
    /// There is none, or it is not for workers now.
    None,
}
