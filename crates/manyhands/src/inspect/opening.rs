//! With the feature: whether recording is open. Same functions as in `disabled.rs`.

use crate::inspect::loop_observer::SHORT_COST_MAX;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::global;

global! {
    static IS_OPEN: AtomicBool = AtomicBool::new(false);
}

global! {
    static UNRECORDED_COST_MAX: AtomicU64 = AtomicU64::new(SHORT_COST_MAX);
}

/// Whether tasks, waits and loops are recorded.
#[inline]
pub(crate) fn is_open() -> bool {
    // Relaxed: a task that misses the change is recorded when it next runs, and a place that calls loops when it calls the next.
    IS_OPEN.load(Ordering::Relaxed)
}

/// [`SHORT_COST_MAX`], or 0 while recording is open. A loop reads this in place of that number, and a short one asks nothing
/// else.
#[inline]
pub(crate) fn short_cost_max() -> u64 {
    // Relaxed: as above.
    UNRECORDED_COST_MAX.load(Ordering::Relaxed)
}

/// Records from now on.
pub(super) fn open() {
    // Relaxed, both: as above. A loop that sees only one of the changes is recorded or not, and runs as ever.
    IS_OPEN.store(true, Ordering::Relaxed);
    UNRECORDED_COST_MAX.store(0, Ordering::Relaxed);
}
