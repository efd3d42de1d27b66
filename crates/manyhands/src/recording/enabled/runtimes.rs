//! The runtimes that exist, and what a snapshot shows of them.
//!
//! A runtime says itself what there is to show, because this layer knows none.

use crate::recording::enabled::runtime_snapshot::RuntimeSnapshot;
#[cfg(unix)]
use crate::recording::enabled::runtime_snapshot::WorkerState;
use crate::sync::{Mutex, global, lock};
#[cfg(unix)]
use std::panic::Location;
use std::sync::{Arc, Weak};

/// A runtime, as far as it can be looked at.
pub(crate) trait Observed: Send + Sync {
    /// What it does now.
    fn observe(&self) -> RuntimeSnapshot;

    /// Its number, and the threads that take part in it now.
    #[cfg(unix)]
    fn threads(&self) -> (u32, Vec<ObservedThread>);
}

/// A thread that takes part in a runtime.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct ObservedThread {
    /// The system's number of it.
    pub(crate) number: i32,
    /// Its number among the workers; `None` for an external thread.
    pub(crate) worker: Option<usize>,
    pub(crate) state: WorkerState,
    /// Where the task was spawned that it runs.
    pub(crate) task_spawned_at: Option<&'static Location<'static>>,
}

global! {
    static RUNTIMES: Mutex<Vec<Weak<dyn Observed>>> = Mutex::new(Vec::new());
}

/// A runtime was made.
pub(crate) fn runtime_made<R: Observed + 'static>(runtime: &Arc<R>) {
    let runtime: Weak<R> = Arc::downgrade(runtime);
    let mut runtimes = lock(&RUNTIMES);
    runtimes.retain(|known| known.strong_count() > 0);
    runtimes.push(runtime);
}

/// What all runtimes do now.
pub(crate) fn read() -> Vec<RuntimeSnapshot> {
    alive().iter().map(|runtime| runtime.observe()).collect()
}

/// The threads that take part in a runtime, with its number.
#[cfg(unix)]
pub(crate) fn threads() -> Vec<(u32, ObservedThread)> {
    let mut all = Vec::new();
    for runtime in alive() {
        let (number, threads) = runtime.threads();
        all.extend(threads.into_iter().map(|thread| (number, thread)));
    }
    all
}

/// Owned outside the lock: the last owner of a runtime ends it.
fn alive() -> Vec<Arc<dyn Observed>> {
    lock(&RUNTIMES).iter().filter_map(Weak::upgrade).collect()
}
