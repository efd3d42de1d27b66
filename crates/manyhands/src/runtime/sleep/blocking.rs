//! Declared blocking: a thread declares that it is about to block outside the runtime, in a channel, for example,
//! or in a user's call. Another worker may then run in its place.
//!
//! Not here: waits for work of the runtime, in which the waiter helps (`wait.rs`).

#[cfg(not(loom))]
use crate::runtime::current;
#[cfg(not(loom))]
use crate::runtime::fork_join::wait;

/// Calls `sleep`, which is about to block the thread. If the thread is a worker, or an external thread in a call,
/// another worker may run in its place meanwhile.
///
/// In a simulation, where no other thread could run, it panics.
pub(crate) fn blocking<R>(sleep: impl FnOnce() -> R) -> R {
    #[cfg(not(loom))]
    if let Some(slot) = current::slot() {
        return wait::blocked(slot, sleep);
    }
    sleep()
}

/// As [`blocking`], for a wait that no thread of the runtime ends; so it just runs in a simulation.
#[cfg(not(loom))]
pub(crate) fn blocking_outside<R>(sleep: impl FnOnce() -> R) -> R {
    match current::slot_of_runtime() {
        Some((slot, shared)) if !shared.clock.is_virtual() => wait::blocked(slot, sleep),
        _ => sleep(),
    }
}
