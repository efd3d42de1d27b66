//! The way in which a thread sleeps in something that is not the runtime's: a channel, for example.
//!
//! Not a wait for work of the runtime, which helps (`wait.rs`): what is waited for here may come from
//! anywhere, so a worker that sleeps here lets another one run in its place.

#[cfg(not(loom))]
use crate::runtime::{current, wait};

/// Calls `sleep`, which is about to block the thread; if that is a worker, or takes part as a guest, another
/// worker may run in its place meanwhile.
///
/// `sleep` may return early and be called again. It must not unwind, nor call into the runtime.
pub(crate) fn blocking(sleep: impl FnOnce()) {
    #[cfg(not(loom))]
    if let Some(seat) = current::seat() {
        wait::blocked(seat, sleep);
        return;
    }
    sleep();
}
