//! With the feature: whether recording is open. Same functions as in `recording/disabled.rs`.

use crate::call_site;
use crate::sync::atomic::{AtomicBool, Ordering};

static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Whether tasks, waits and loops are recorded.
#[inline]
pub(crate) fn is_open() -> bool {
    // Relaxed: a task that misses the change is recorded when it next runs, and a place that calls loops when it calls the next.
    IS_OPEN.load(Ordering::Relaxed)
}

/// Records from now on what tasks do and wait for. Opening again does nothing.
///
/// Example: see [`snapshot`](crate::inspect::snapshot).
pub fn open() {
    // Relaxed: as above. A loop that sees only one of the changes is recorded or not, and runs as ever.
    IS_OPEN.store(true, Ordering::Relaxed);
    call_site::record_all();
}
