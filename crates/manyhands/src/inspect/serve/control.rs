//! Whether clients of the socket may also act on the program.
//!
//! Not here: what they may do then (`poll_once.rs`, `freezer.rs`).

use crate::sync::atomic::{AtomicBool, Ordering};

/// Lets clients of the socket also act on the program: have a waiting task polled once, to see the stacks of the places where
/// it waits, and have a task frozen, so that it is not polled until it is thawed. Without this call, and without
/// `MANYHANDS_INSPECT=control` in the environment, the socket only reads. What was allowed stays allowed.
///
/// A task that is polled so is woken without a reason. Futures have to expect that; but one that counts its polls, or does
/// something else in each of them, does so once more. What waits for a frozen task waits until it is thawed; that is at the
/// latest when the connection ends over which it was frozen, or has asked nothing for a minute.
///
/// # Examples
/// ```
/// # #[cfg(all(feature = "inspect", unix))] {
/// manyhands::diagnostics::serve()?;
/// manyhands::diagnostics::allow_control(); // now `manyhands inspect PID --poll TASK` has an answer
/// # }
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn allow_control() {
    // Relaxed: nothing else is published by it.
    IS_ALLOWED.store(true, Ordering::Relaxed);
}

/// Whether that was allowed.
pub(super) fn is_allowed() -> bool {
    // Relaxed: as above.
    IS_ALLOWED.load(Ordering::Relaxed)
}

static IS_ALLOWED: AtomicBool = AtomicBool::new(false);
