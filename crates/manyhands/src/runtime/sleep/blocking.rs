//! How a thread says that it blocks, in something that is not the runtime's: a channel, for example, or
//! what a user calls.
//!
//! Not a wait for work of the runtime, which helps (`wait.rs`): what is waited for here may come from
//! anywhere, so a worker that sleeps here lets another one run in its place.

#[cfg(not(loom))]
use crate::runtime::current;
#[cfg(not(loom))]
use crate::runtime::fork_join::wait;

/// Calls `sleep`, which is about to block the thread; if that is a worker, or takes part as an external thread, another
/// worker may run in its place meanwhile.
///
/// In a simulation, where nobody else could run, it refuses.
pub(crate) fn blocking<R>(sleep: impl FnOnce() -> R) -> R {
    #[cfg(not(loom))]
    if let Some(slot) = current::slot() {
        return wait::blocked(slot, sleep);
    }
    sleep()
}

/// As [`blocking`], for what does not wait for anybody here; so it just runs in a simulation.
#[cfg(not(loom))]
pub(crate) fn blocking_outside<R>(sleep: impl FnOnce() -> R) -> R {
    match current::slot_of_runtime() {
        Some((slot, shared)) if !shared.clock.is_virtual() => wait::blocked(slot, sleep),
        _ => sleep(),
    }
}
