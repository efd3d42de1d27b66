//! With the feature: async loops, which are listed while they run. Same functions as in `disabled.rs`.
//!
//! # Threads
//! A loop's driver adds to counts that only the list of running loops reads.
//!
//! Not here: loops that are also reported on when they are over (`loops.rs`).

use crate::inspect::loop_site::LoopSite;
use crate::inspect::loop_snapshot::LoopSnapshot;
use crate::inspect::loops::{body_name, elapsed};
use crate::inspect::record::{current_task, is_open};
use crate::inspect::task_number::TaskNumber;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, clock, global, lock};
use std::any::type_name;
use std::sync::Arc;

global! {
    static LISTED: Mutex<Vec<Arc<Listed>>> = Mutex::new(Vec::new());
}

/// A loop that is in the list until this is dropped.
#[derive(Debug)]
pub(crate) struct ListedLoop(Option<Arc<Listed>>);

#[derive(Debug)]
struct Listed {
    begun: u64,
    body: &'static str,
    site: LoopSite,
    caller: Option<TaskNumber>,
    done: AtomicU64,
    runners: AtomicUsize,
    threads: AtomicUsize,
}

impl ListedLoop {
    /// A loop begins that was called at `site`, whose items go to a body of the type `C`.
    #[inline]
    pub(crate) fn begin<C>(site: LoopSite) -> Self {
        Self(is_open().then(|| Listed::begin(type_name::<C>(), site)))
    }

    /// This number of items more has been run.
    #[inline]
    pub(crate) fn done(&self, items: u64) {
        if let Some(listed) = &self.0 {
            // Relaxed: a count.
            listed.done.fetch_add(items, Ordering::Relaxed);
        }
    }

    /// It may run this number of items at once.
    #[inline]
    pub(crate) fn opens(&self, threads: usize) {
        if let Some(listed) = &self.0 {
            // Relaxed: a number to show.
            listed.threads.store(threads, Ordering::Relaxed);
        }
    }

    /// This number of items runs now.
    #[inline]
    pub(crate) fn runs(&self, items: usize) {
        if let Some(listed) = &self.0 {
            // Relaxed: a number to show.
            listed.runners.store(items, Ordering::Relaxed);
        }
    }
}

impl Drop for ListedLoop {
    #[inline]
    fn drop(&mut self) {
        if let Some(listed) = self.0.take() {
            listed.end();
        }
    }
}

impl Listed {
    #[cold]
    fn begin(consumer: &'static str, site: LoopSite) -> Arc<Self> {
        let listed = Arc::new(Self {
            begun: clock::ticks(),
            body: body_name(consumer),
            site,
            caller: current_task(),
            done: AtomicU64::new(0),
            runners: AtomicUsize::new(0),
            threads: AtomicUsize::new(1),
        });
        lock(&LISTED).push(Arc::clone(&listed));
        listed
    }

    #[cold]
    fn end(self: Arc<Self>) {
        lock(&LISTED).retain(|other| !Arc::ptr_eq(other, &self));
    }
}

/// The async loops that run now, the oldest first.
pub(super) fn read() -> Vec<LoopSnapshot> {
    let listed = lock(&LISTED).clone();
    let now = clock::ticks();
    let snapshot = |listed: &Arc<Listed>| LoopSnapshot {
        body: listed.body,
        called_at: listed.site.0,
        items: None,
        // Relaxed, all: counts.
        done: listed.done.load(Ordering::Relaxed),
        runners: listed.runners.load(Ordering::Relaxed),
        threads: listed.threads.load(Ordering::Relaxed),
        task: listed.caller,
        age: elapsed(now.saturating_sub(listed.begun)),
    };
    listed.iter().map(snapshot).collect()
}
