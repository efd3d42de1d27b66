//! With the feature: whether a thread that wakes a task waits in tokio's driver. More is not known of who has woken a task
//! last.
//!
//! Not here: when a wake is recorded (`hooks.rs`), and the wait (`integrations::tokio_driver`).

use std::cell::Cell;

/// Whether the calling thread waits in tokio's driver, so that a task that it wakes has waited for a socket or a timer of tokio,
/// or for a task of `tokio::spawn`.
pub(crate) fn is_in_tokio() -> bool {
    IS_IN_TOKIO.get()
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
