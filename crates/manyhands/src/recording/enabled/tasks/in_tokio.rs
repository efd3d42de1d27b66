//! With the features `inspect` and `tokio`: the mark on a thread that waits in tokio's driver, so that the wakes that it gives
//! meanwhile are recorded as tokio's. Same function as in `recording/disabled.rs`.
//!
//! While recording is not open, the mark is one load and a branch for each wait.
//!
//! Not here: what a waker can be (`last_waker.rs`), and the wait (`integrations::tokio_driver`).

use crate::recording::enabled::opening;
use crate::recording::enabled::tasks::last_waker;

/// Runs `wait`, in which the calling thread waits in tokio's driver.
#[inline]
pub(crate) fn in_tokio<R>(wait: impl FnOnce() -> R) -> R {
    let _mark = opening::is_open().then(Mark::set);
    wait()
}

/// The calling thread waits in tokio's driver, until this is dropped.
struct Mark;

impl Mark {
    fn set() -> Self {
        last_waker::set_in_tokio(true);
        Self
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        last_waker::set_in_tokio(false);
    }
}
