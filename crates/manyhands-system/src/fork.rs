//! Whether this process is the child of a `fork`.
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

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CHILD: AtomicBool = AtomicBool::new(false);
static WATCHES: Once = Once::new();

/// From now on children are marked: registers the handler.
pub fn watch_for_forks() {
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
pub fn is_forked() -> bool {
    // Relaxed: see the top of the file.
    IS_CHILD.load(Ordering::Relaxed)
}
