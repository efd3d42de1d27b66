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
use crate::search::{FreeSlots, Search, Searched};
use crate::threads::{ThreadSpawn, take_current_thread};
use crate::worker::SlotGuard;
use manyhands::Runtime;
use std::cell::RefCell;
use std::collections::HashSet;
use std::mem;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The slots that no thread has.
pub(crate) struct SharedHost {
    runtime: &'static Runtime,
    /// The threads' halves of the free ones.
    free: FreeSlots<WorkerThread>,
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
            free: FreeSlots::new(count),
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
                host.give_back(Box::leak(Box::new(worker)));
            }
        }
        Ok(registry)
    }

    fn registry(&self) -> &'static Arc<Registry> {
        self.registry.get().expect("set before the pool is used")
    }

    /// There is work: calls a thread to a free slot, unless one is on its way.
    pub(crate) fn call_for_work(&self) {
        if let Some(call) = self.free.call(&**self.registry()) {
            self.run_on_runtime(move |host| {
                // If no slot is free any more, the search ends here.
                if let Some(lent) = host.take_any_slot() {
                    lent.serve(Some(call));
                }
            });
        }
    }

    /// There is a broadcast for slot `index`: calls a thread to it, if it has none.
    pub(crate) fn call_for_slot(&self, index: usize) {
        if self.free.is_free(index) {
            self.run_on_runtime(move |host| host.serve_broadcast(index));
        }
    }

    /// Brings a thread to slot `index`, which has a broadcast: the one that is at home there, or, if that does not come
    /// in time, this one.
    fn serve_broadcast(&'static self, index: usize) {
        let home = self.home();
        if home != Some(index) {
            let at_home = home
                .filter(|home| self.lacks_thread(*home))
                .and_then(|home| self.take_slot(home));
            let is_busy = at_home.is_some() || index < self.runtime.workers();
            if is_busy && self.lacks_thread(index) {
                // Another one comes for that. What runs here may even wait for it.
                self.run_on_runtime(move |host| host.serve_broadcast(index));
            }
            if let Some(lent) = at_home {
                return lent.serve(None);
            }
            if index < self.runtime.workers() {
                let since = now();
                while self.lacks_thread(index) && now() - since < HOME_PATIENCE {
                    std::thread::yield_now();
                }
            }
        }
        if self.lacks_thread(index)
            && let Some(lent) = self.take_slot(index)
        {
            lent.serve(None);
        }
    }

    /// Whether slot `index` has a broadcast and no thread.
    fn lacks_thread(&self, index: usize) -> bool {
        self.free.is_free(index) && !self.registry().slot(index).broadcasts.is_empty()
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
    pub(crate) fn take_slot_inline(&self) -> Option<LentSlot> {
        self.runtime.worker_index()?;
        let lent = self.take_any_slot()?;
        greet(lent.worker, None);
        Some(lent)
    }

    /// The slot where the calling thread is at home, else any free one if it is at home nowhere.
    fn take_any_slot(&self) -> Option<LentSlot> {
        if let Some(lent) = self.home().and_then(|home| self.take_slot(home)) {
            return Some(lent);
        }
        // From the last one, where the thread that is at home starts last.
        (0..self.free.count())
            .rev()
            .find_map(|index| self.take_slot(index))
    }

    /// The slot where the calling thread is at home.
    fn home(&self) -> Option<usize> {
        let index = self.runtime.worker_index();
        index.filter(|index| *index < self.free.count())
    }

    fn take_slot(&self, index: usize) -> Option<LentSlot> {
        if WorkerThread::current().is_some() {
            return None;
        }
        let worker = self.free.take(index, self.registry().sleep())?;
        // SAFETY: leaked, and now the calling thread's alone.
        let worker: &'static WorkerThread = unsafe { worker.as_ref() };
        // SAFETY: as above, until the guard gives it back.
        let guard = Some(unsafe { SlotGuard::begin(worker) });
        Some(LentSlot { worker, guard })
    }

    fn give_back(&self, worker: &'static WorkerThread) {
        let (index, registry) = (worker.index(), &**worker.registry());
        self.free.give_back(index, NonNull::from(worker), registry);
    }
}

/// Calls the start handler where a thread has a slot for the first time. That ends a search of the thread, because the
/// handler is the user's: it may wait for what was to be searched.
fn greet<'pool>(
    worker: &WorkerThread,
    search: Option<Search<'pool, Registry>>,
) -> Option<Search<'pool, Registry>> {
    thread_local! {
        static GREETED: RefCell<HashSet<usize>> = RefCell::default();
    }
    let (registry, index) = (worker.registry(), worker.index());
    match &registry.handlers().start {
        Some(handler) if GREETED.with_borrow_mut(|greeted| greeted.insert(index)) => {
            drop(search);
            registry.catch_unwind(|| handler(index));
            None
        }
        _ => search,
    }
}

impl LentSlot {
    pub(crate) fn worker(&self) -> &WorkerThread {
        self.worker
    }

    /// Runs jobs until there are none, or the slice of time is over. `call` is the search that the thread was called to.
    fn serve(self, call: Option<Search<'static, Registry>>) {
        let worker = self.worker;
        let begin = || Search::begin(&**worker.registry());
        let mut search = greet(worker, call).unwrap_or_else(begin);
        let since = now();
        while let Ok(job) = worker.search(search) {
            worker.execute(job);
            while let Some(job) = worker.find() {
                worker.execute(job);
                if now() - since > SLICE {
                    // What is left calls for a thread again, behind the runtime's other tasks.
                    return;
                }
            }
            search = begin();
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
        host.give_back(self.worker);
        if !registry.slot(index).broadcasts.is_empty() {
            host.call_for_slot(index);
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

#[cfg(test)]
mod tests {
    use super::SharedHost;
    use crate::ThreadPoolBuilder;
    use crate::job::{Awaited, HeapJob, JobRef};
    use crate::registry::{Host, Registry};
    use manyhands::{Runtime, task};
    use std::sync::{Arc, Barrier, mpsc};
    use std::time::Duration;

    /// Ends a test that hangs, with a sentence.
    const DEADLINE: Duration = Duration::from_secs(60);

    /// A pool on the default runtime, beside the global one.
    fn pool(slots: usize) -> Arc<Registry> {
        let builder = ThreadPoolBuilder::new().num_threads(slots);
        SharedHost::build(builder).unwrap()
    }

    fn host(pool: &Registry) -> &'static SharedHost {
        match pool.host() {
            Host::Shared(host) => match host.registry().host() {
                Host::Shared(host) => host,
                Host::Own(_) => unreachable!("the same pool"),
            },
            Host::Own(_) => unreachable!("made on a runtime"),
        }
    }

    fn job(f: impl FnOnce() + Send + 'static) -> JobRef {
        // SAFETY: it borrows nothing, and the pool is never dropped.
        unsafe { HeapJob::job(Awaited::NOBODY, f) }
    }

    #[test]
    fn a_job_is_run_if_a_slot_becomes_free_after_a_called_thread_has_found_none() {
        let pool = pool(1);
        let (sender, ran) = mpsc::channel();
        let call = host(&pool).free.call(&*pool).expect("a slot is free");
        let lent = host(&pool).take_slot(0).expect("as above");
        pool.inject(job(move || sender.send(()).unwrap()));
        assert!(host(&pool).take_any_slot().is_none());
        drop(lent);
        drop(call);
        assert_eq!(ran.recv_timeout(DEADLINE), Ok(()));
    }

    #[test]
    fn a_thread_called_to_another_slot_than_its_own_has_that_served_while_it_serves_its_own() {
        let slots = Runtime::default_runtime().workers();
        if slots == 1 {
            return;
        }
        let pool = pool(slots);
        let host = host(&pool);
        let (sender, ran) = mpsc::channel();
        let call = || {
            let (sender, pool) = (sender.clone(), Arc::clone(&pool));
            task::run_detached(move || {
                let Some(home) = host.home() else {
                    return sender.send(false).unwrap();
                };
                let (other, both) = ((home + 1) % slots, Arc::new(Barrier::new(2)));
                // For both nobody has been called yet.
                for index in [home, other] {
                    let (sender, both) = (sender.clone(), Arc::clone(&both));
                    let meet = job(move || {
                        both.wait();
                        sender.send(true).unwrap();
                    });
                    pool.slot(index).broadcasts.push(meet);
                }
                host.serve_broadcast(other);
            });
            ran.recv_timeout(DEADLINE)
        };
        // A thread that stands in for a blocked one is at home nowhere.
        while !call().expect("both meet") {}
        assert_eq!(ran.recv_timeout(DEADLINE), Ok(true));
    }
}
