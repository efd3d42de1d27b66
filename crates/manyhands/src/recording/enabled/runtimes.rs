//! The runtimes that exist, and what a snapshot shows of them.
//!
//! A runtime says itself what there is to show, because this layer knows none.

use crate::sync::{Mutex, lock};
use manyhands_wire::Runtime;
use std::sync::{Arc, Weak};

/// A runtime, as far as it can be looked at.
pub(crate) trait Observed: Send + Sync {
    /// What it does now.
    fn observe(&self) -> Runtime;
}

static RUNTIMES: Mutex<Vec<Weak<dyn Observed>>> = Mutex::new(Vec::new());

/// A runtime was made.
pub(crate) fn runtime_made<R: Observed + 'static>(runtime: &Arc<R>) {
    let runtime: Weak<R> = Arc::downgrade(runtime);
    let mut runtimes = lock(&RUNTIMES);
    runtimes.retain(|known| known.strong_count() > 0);
    runtimes.push(runtime);
}

/// What all runtimes do now.
pub(crate) fn read() -> Vec<Runtime> {
    let runtimes = lock(&RUNTIMES).clone();
    // Owned outside the lock: the last owner of a runtime ends it.
    let alive = runtimes.iter().filter_map(Weak::upgrade);
    alive.map(|runtime| runtime.observe()).collect()
}
