//! The pool on the default runtime of manyhands: its workers take the slots while there is work.
//!
//! A worker of the runtime that has an index below the number of slots is at home in the slot of that index, and
//! takes it whenever it is free. Another worker, one that was started in place of a blocked one, takes any free
//! slot. So a thread keeps its slot, and its thread-local values, as long as no worker blocks.
//!
//! Work calls for a thread by a task of the runtime, unless one is on its way. That task takes a slot, runs jobs
//! until there are none, or for a slice of time, and leaves. So rayon's work and manyhands' tasks take turns, and
//! a worker that blocks is replaced for both.
//!
//! Not here: what a thread runs in its slot (`worker.rs`).
//!
//! Unsafe: the threads' halves of free slots are kept as pointers.

use crate::ThreadPoolBuildError;
use crate::builder::ThreadPoolBuilder;
use crate::registry::{Host, Registry, WorkerThread};
use crate::threads::{ThreadSpawn, take_current_thread};
use crate::worker::SlotGuard;
use manyhands::Runtime;
use std::cell::RefCell;
use std::collections::HashSet;
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The slots that no thread has.
pub(crate) struct SharedHost {
    runtime: &'static Runtime,
    /// The thread's half of each free slot; null while a thread has it.
    free: Box<[AtomicPtr<WorkerThread>]>,
    /// The pool itself, which is never dropped.
    registry: OnceLock<&'static Arc<Registry>>,
}

/// A slot lent to the calling thread.
pub(crate) struct LentSlot {
    worker: &'static WorkerThread,
    guard: Option<SlotGuard>,
}

impl SharedHost {
    /// The global pool, on the default runtime.
    pub(crate) fn build<S: ThreadSpawn>(
        mut builder: ThreadPoolBuilder<S>,
    ) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        let Some(runtime) = builder.default_runtime() else {
            return crate::threads::build(builder);
        };
        let count = builder
            .chosen_threads()
            .unwrap_or_else(|| runtime.workers());
        let host = Self {
            runtime,
            free: (0..count).map(|_| AtomicPtr::default()).collect(),
            registry: OnceLock::new(),
        };
        let (registry, workers) = Registry::new(
            count,
            builder.is_breadth_first,
            Host::Shared(host),
            mem::take(&mut builder.handlers),
        );
        let leaked: &'static Arc<Registry> = Box::leak(Box::new(Arc::clone(&registry)));
        let Host::Shared(host) = registry.host() else {
            unreachable!("made so above");
        };
        host.registry.get_or_init(|| leaked);
        for worker in workers {
            if worker.index() == 0 && builder.uses_current_thread {
                take_current_thread(worker)?;
            } else {
                host.give_back(Box::leak(Box::new(worker)), &registry);
            }
        }
        Ok(registry)
    }

    fn registry(&self) -> &'static Arc<Registry> {
        self.registry.get().expect("set before the pool is used")
    }

    /// Somebody sleeps in no slot, and there is work: calls a thread, unless one is on its way.
    pub(crate) fn call_for_work(&self, registry: &Registry) {
        if registry.sleep().begin_search_alone() {
            self.run_on_runtime(move |host| match host.take_any_slot() {
                Some(lent) => lent.serve(IsSearching::Yes),
                // Every slot has a thread by now, which will find the work.
                None => {
                    host.registry().sleep().end_search();
                }
            });
        }
    }

    /// There is a broadcast for slot `index`: calls a thread to it, if it has none.
    pub(crate) fn call_for_slot(&self, _registry: &Arc<Registry>, index: usize) {
        if self.is_free(index) {
            self.run_on_runtime(move |host| host.serve_broadcast(index));
        }
    }

    /// Brings a thread to slot `index`, which has a broadcast: the one that is at home there, or, if that does not come
    /// in time, this one.
    fn serve_broadcast(&'static self, index: usize) {
        let home = self.home();
        if home != Some(index) {
            if let Some(lent) = home
                .filter(|home| self.lacks_thread(*home))
                .and_then(|home| self.take_slot(home))
            {
                lent.serve(IsSearching::No);
            }
            if index < self.runtime.workers() && self.lacks_thread(index) {
                // This thread is busy here, so another one comes for that.
                self.run_on_runtime(move |host| host.serve_broadcast(index));
                let since = now();
                while self.lacks_thread(index) && now() - since < HOME_PATIENCE {
                    std::thread::yield_now();
                }
            }
        }
        if self.lacks_thread(index)
            && let Some(lent) = self.take_slot(index)
        {
            lent.serve(IsSearching::No);
        }
    }

    /// Whether slot `index` has a broadcast and no thread.
    fn lacks_thread(&self, index: usize) -> bool {
        self.is_free(index) && !self.registry().slot(index).broadcasts.is_empty()
    }

    fn run_on_runtime(&self, f: impl FnOnce(&'static Self) + Send + 'static) {
        let registry = self.registry();
        let _entered = self.runtime.enter();
        manyhands::task::run_detached(move || {
            if let Host::Shared(host) = registry.host() {
                f(host);
            }
        });
    }

    /// A slot for the calling thread, which is in the middle of a task of this runtime, if it is a worker there.
    pub(crate) fn take_slot_inline(&self, _registry: &Registry) -> Option<LentSlot> {
        self.runtime.worker_index()?;
        self.take_any_slot()
    }

    /// The slot where the calling thread is at home, else any free one if it is at home nowhere.
    fn take_any_slot(&self) -> Option<LentSlot> {
        if WorkerThread::current().is_some() {
            return None;
        }
        if let Some(lent) = self.home().and_then(|home| self.take_slot(home)) {
            return Some(lent);
        }
        // From the last one, where the thread that is at home starts last.
        (0..self.free.len())
            .rev()
            .find_map(|index| self.take_slot(index))
    }

    /// The slot where the calling thread is at home.
    fn home(&self) -> Option<usize> {
        let index = self.runtime.worker_index();
        index.filter(|index| *index < self.free.len())
    }

    fn is_free(&self, index: usize) -> bool {
        !self.free[index].load(Ordering::SeqCst).is_null()
    }

    fn take_slot(&self, index: usize) -> Option<LentSlot> {
        if WorkerThread::current().is_some() {
            return None;
        }
        // AcqRel: hands on what the thread before has left there.
        let worker = self.free[index].swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: null, or leaked, and now the calling thread's alone.
        let worker: &'static WorkerThread = unsafe { worker.as_ref() }?;
        self.registry().sleep().remove_idle();
        // SAFETY: as above, until the guard gives it back.
        let guard = Some(unsafe { SlotGuard::begin(worker) });
        greet(worker);
        Some(LentSlot { worker, guard })
    }

    fn give_back(&self, worker: &'static WorkerThread, registry: &Registry) {
        let worker_ptr = ptr::from_ref(worker).cast_mut();
        // SeqCst: before the look for work below, which the next pusher's look at the counts follows.
        self.free[worker.index()].store(worker_ptr, Ordering::SeqCst);
        registry.sleep().add_idle();
    }
}

/// Calls the start handler where a thread has a slot for the first time.
fn greet(worker: &WorkerThread) {
    thread_local! {
        static GREETED: RefCell<HashSet<usize>> = RefCell::default();
    }
    let registry = worker.registry();
    if let Some(handler) = &registry.handlers().start {
        let index = worker.index();
        if GREETED.with_borrow_mut(|greeted| greeted.insert(index)) {
            registry.catch_unwind(|| handler(index));
        }
    }
}

/// Whether a thread is counted as searching.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IsSearching {
    Yes,
    No,
}

impl LentSlot {
    pub(crate) fn worker(&self) -> &WorkerThread {
        self.worker
    }

    /// Runs jobs until there are none, or the slice of time is over.
    fn serve(self, is_searching: IsSearching) {
        let worker = self.worker;
        let since = now();
        if is_searching == IsSearching::No {
            worker.registry().sleep().begin_search();
        }
        loop {
            let Some(job) = worker.search() else {
                worker.registry().sleep().end_search();
                break;
            };
            worker.end_search();
            worker.execute(job);
            while let Some(job) = worker.find() {
                worker.execute(job);
                if now() - since > SLICE {
                    // What is left calls for a thread again, behind the runtime's other tasks.
                    return;
                }
            }
            worker.registry().sleep().begin_search();
        }
    }
}

impl Drop for LentSlot {
    fn drop(&mut self) {
        self.guard = None;
        let registry = self.worker.registry();
        let Host::Shared(host) = registry.host() else {
            unreachable!("lent by it");
        };
        let index = self.worker.index();
        host.give_back(self.worker, registry);
        if !registry.slot(index).broadcasts.is_empty() {
            host.call_for_slot(registry, index);
        } else if registry.has_work_for_anybody() {
            host.call_for_work(registry);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a thread has served or waited is all that is asked of the clock"
)]
fn now() -> Instant {
    Instant::now()
}

/// How long others wait for the thread that is at home in a slot with a broadcast.
const HOME_PATIENCE: Duration = Duration::from_millis(10);
/// How long a thread serves the pool before the runtime's other tasks have a turn.
const SLICE: Duration = Duration::from_micros(200);
