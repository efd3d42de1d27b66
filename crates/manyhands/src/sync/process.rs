//! Whether this process is the child of a `fork`, and the end of a process that cannot go on.
//!
//! Such a child has one thread: workers and monitors do not exist in it, and locks that they held stay locked. So a
//! runtime made before cannot be used in it. A handler registered with the system sets a flag, so that the check costs
//! one load.
//!
//! Children that another program is started in do not run the handler and need not: `exec` comes next.
//!
//! # Ordering
//! `IS_CHILD` is written when the process has a single thread, so everything comes after it.
//!
//! Unsafe: calls of the C library.

use std::io::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CHILD: AtomicBool = AtomicBool::new(false);
static WATCHES: Once = Once::new();

/// Registers the handler that marks a child.
pub(crate) fn watch_for_forks() {
    #[cfg(all(unix, not(miri)))]
    WATCHES.call_once(|| {
        unsafe extern "C" fn note_child() {
            // Relaxed: see the top of the file.
            IS_CHILD.store(true, Ordering::Relaxed);
        }
        // SAFETY: the function only stores, which is allowed in a child. If memory is scarce, children are not marked.
        unsafe { libc::pthread_atfork(None, None, Some(note_child)) };
    });
    #[cfg(not(all(unix, not(miri))))]
    let _ = &WATCHES;
}

/// Whether this is a child of a process that had a runtime.
#[inline]
pub(crate) fn is_forked() -> bool {
    // Relaxed: see the top of the file.
    IS_CHILD.load(Ordering::Relaxed)
}

/// Called first by operations that need the runtime's threads.
///
/// # Panics
/// In a forked child.
#[inline]
pub(crate) fn refuse_forked() {
    assert!(!is_forked(), "{FORKED}");
}

/// Why a child cannot continue.
pub(crate) const FORKED: &str =
    "a child of `fork` uses the pool, whose threads are in its parent only";

/// Ends the process because continuing would break an invariant that other code relies on. If the message cannot be
/// printed, it is left out.
#[cold]
pub(crate) fn abort(why: &str) -> ! {
    let _ = writeln!(std::io::stderr(), "manyhands: {why}; the process ends");
    std::process::abort();
}
