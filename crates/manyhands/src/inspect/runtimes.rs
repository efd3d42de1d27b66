//! The runtimes that exist, and what a snapshot shows of them.
//!
//! A runtime says itself what there is to show, because this layer knows none.

use crate::inspect::snapshot::RuntimeSnapshot;
use crate::sync::{Mutex, global, lock};
use std::sync::Weak;

/// A runtime, as far as it can be looked at.
pub(crate) trait Observed: Send + Sync {
    /// What it does now.
    fn observe(&self) -> RuntimeSnapshot;
}

global! {
    static RUNTIMES: Mutex<Vec<Weak<dyn Observed>>> = Mutex::new(Vec::new());
}

/// Adds a runtime that was made.
pub(super) fn add(runtime: Weak<dyn Observed>) {
    let mut runtimes = lock(&RUNTIMES);
    runtimes.retain(|known| known.strong_count() > 0);
    runtimes.push(runtime);
}

/// What all runtimes do now.
pub(super) fn read() -> Vec<RuntimeSnapshot> {
    // Owned outside the lock: the last owner of a runtime ends it.
    let alive: Vec<_> = lock(&RUNTIMES).iter().filter_map(Weak::upgrade).collect();
    alive.iter().map(|runtime| runtime.observe()).collect()
}
