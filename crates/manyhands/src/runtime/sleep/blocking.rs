//! Declared blocking: a thread declares that it is about to block outside the runtime, in a channel, for example.
//! Another worker may then run in its place.
//!
//! Not here: a user's call (`task::blocking`), and waits for work of the runtime, in which the waiter helps (`wait.rs`).

#[cfg(not(loom))]
use crate::runtime::{current, wait};

/// Calls `sleep`, which is about to block the thread. If the thread is a worker, or an external thread in a call,
/// another worker may run in its place meanwhile.
///
/// In a simulation, where no other thread could run, it panics.
pub(crate) fn blocking<R>(sleep: impl FnOnce() -> R) -> R {
    #[cfg(not(loom))]
    if let Some(slot) = current::slot() {
        return wait::blocked(slot, sleep);
    }
    let _recorded = crate::recording::thread_blocks();
    sleep()
}

/// As [`blocking`], for a sleep that no thread of the calling thread's runtime ends: in a simulation it just lasts.
pub(crate) fn blocking_on_others<R>(sleep: impl FnOnce() -> R) -> R {
    #[cfg(not(loom))]
    if let Some((slot, shared)) = current::slot_of_runtime()
        && !shared.clock.is_virtual()
    {
        return wait::blocked(slot, sleep);
    }
    sleep()
}
