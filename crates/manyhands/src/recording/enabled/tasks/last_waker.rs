//! With the feature: which task or thread has woken a task last, as far as that is known.
//!
//! Only a thread that waits in tokio's driver is known as such, by a mark.
//!
//! Not here: when a wake is recorded (`hooks.rs`), and the wait (`integrations::tokio_driver`).

use std::cell::Cell;

/// What has woken a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LastWaker {
    /// A thread that waited in tokio's driver: for a socket or a timer of tokio, or as
    /// a task of `tokio::spawn`.
    Tokio,
    /// Somebody else, or the wake came while the task was polled.
    Other,
}

impl LastWaker {
    /// What it is if the calling thread wakes a task now.
    pub(crate) fn current() -> Self {
        if IS_IN_TOKIO.get() {
            Self::Tokio
        } else {
            Self::Other
        }
    }
}

/// Runs `wait`, in which the calling thread waits in tokio's driver.
#[cfg(feature = "tokio")]
#[inline]
pub(crate) fn in_tokio<R>(wait: impl FnOnce() -> R) -> R {
    // A panic inside ends the process.
    IS_IN_TOKIO.set(true);
    let waited = wait();
    IS_IN_TOKIO.set(false);
    waited
}

crate::sync::thread_local! {
    static IS_IN_TOKIO: Cell<bool> = const { Cell::new(false) };
}
