//! Whether this process is the child of a `fork`.
//!
//! Such a child has one thread: workers and monitors are not there, and what they held stays held. So a pool made
//! before cannot be used in it. The system is asked once to tell, so that asking here costs one load.
//!
//! Children that another program is started in are not told, and need not be: `exec` comes next.
//!
//! # Ordering
//! `IS_CHILD` is written when the process has a single thread, so everything comes after it.
//!
//! Unsafe: calls of the C library.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CHILD: AtomicBool = AtomicBool::new(false);
static WATCHES: Once = Once::new();

/// Makes sure that a child is told what it is.
pub(crate) fn watch_for_forks() {
    #[cfg(all(unix, not(miri)))]
    WATCHES.call_once(|| {
        unsafe extern "C" fn note_child() {
            // Relaxed: see the file's head.
            IS_CHILD.store(true, Ordering::Relaxed);
        }
        // SAFETY: the function only stores, which is allowed in a child. If memory is scarce nobody is told.
        unsafe { libc::pthread_atfork(None, None, Some(note_child)) };
    });
    #[cfg(not(all(unix, not(miri))))]
    let _ = &WATCHES;
}

/// Whether this is a child of a process that had a pool.
#[inline]
pub(crate) fn is_forked() -> bool {
    // Relaxed: see the file's head.
    IS_CHILD.load(Ordering::Relaxed)
}

/// For calls that have not begun anything.
///
/// # Panics
/// In a forked child.
#[inline]
pub(crate) fn refuse_forked() {
    assert!(!is_forked(), "{FORKED}");
}

/// Why a child cannot go on.
pub(crate) const FORKED: &str =
    "a child of `fork` uses the pool, whose threads are in its parent only";
