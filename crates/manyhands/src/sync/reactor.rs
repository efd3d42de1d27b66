//! The I/O driver as a runtime sees it: one worker at a time may sleep there and poll it.
//!
//! A worker that sleeps there is woken by its [`Parker`](crate::sync::Parker), like any other, and wakes by itself when
//! the sockets have woken tasks that it must run. Not here: the polling (`tokio_driver`).

#![cfg_attr(
    not(feature = "tokio"),
    expect(dead_code, reason = "only tokio watches sockets")
)]

use std::fmt::Debug;
use std::task::{Context, Poll};
use std::time::Duration;

/// Polls sockets on the calling thread.
pub(crate) trait Reactor: Debug + Sync {
    /// Whether `sleeper` may poll here now.
    fn poller_state(&'static self, sleeper: &'static dyn Sleeper) -> PollerState;

    /// Sleeps until `sleeper` is woken or `limit` is over, and wakes the tasks of ready sockets. Returns `false` at
    /// once if another thread polls or is about to; then `sleeper` is woken once it can poll. May return early for
    /// no reason.
    fn sleep(&'static self, sleeper: &'static dyn Sleeper, limit: Option<Duration>) -> bool;

    /// Wakes the tasks of sockets that are ready now, unless another thread polls.
    fn poll_once(&'static self, sleeper: &'static dyn Sleeper);

    /// Calls another thread if there was no poller for a while.
    fn ensure_poller(&'static self);

    /// Calls another thread at once if there is no poller: for a worker that will not poll soon, or never again.
    fn call_poller(&'static self);
}

/// A worker that sleeps at a reactor.
pub(crate) trait Sleeper: Debug + Sync {
    /// Ready when it was woken; until then the next wake goes through the context's waker.
    fn poll_wake(&self, context: &Context<'_>) -> Poll<()>;

    /// Wakes it.
    fn wake(&self);

    /// Whether the sockets have woken a task that it must run.
    fn has_work(&self) -> bool;
}

/// Whether a worker may sleep at a reactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PollerState {
    /// It may sleep there.
    Free,
    /// A worker has just left and may be back in a moment; else there is no poller.
    Soon,
    /// Another worker polls.
    Taken,
    /// There is no reactor, or workers may not poll it now.
    None,
}
