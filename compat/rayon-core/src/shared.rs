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
use crate::registry::{Host, Registry};
use crate::search::{FreeSlots, Search, Searched};
use crate::settings::Settings;
use crate::threads::take_current_thread;
use crate::worker::{SlotGuard, WorkerThread};
use manyhands::Runtime;
use std::cell::RefCell;
use std::collections::HashSet;
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
    host: &'static SharedHost,
    worker: &'static WorkerThread,
    /// `None` once it is given back.
    guard: Option<SlotGuard>,
}

impl SharedHost {
    /// A pool on this runtime.
    pub(crate) fn build(
        runtime: &'static Runtime,
        settings: Settings,
    ) -> Result<&'static Self, ThreadPoolBuildError> {
        let takes_current = settings.takes_current_thread()?;
        let chosen = settings.chosen_threads();
        let count = chosen.unwrap_or_else(|| runtime.workers());
        let host: &'static Self = Box::leak(Box::new(Self {
            runtime,
            free: FreeSlots::new(count),
            registry: OnceLock::new(),
        }));
        let (registry, workers) = WorkerThread::of_new_pool(
            count,
            settings.is_breadth_first,
            Some(host),
            settings.handlers,
        );
        host.registry.get_or_init(|| Box::leak(Box::new(registry)));
        for worker in workers {
            if worker.index() == 0 && takes_current {
                take_current_thread(worker);
            } else {
                host.give_back(Box::leak(Box::new(worker)));
            }
        }
        Ok(host)
    }

    /// The pool itself.
    pub(crate) fn registry(&self) -> &'static Arc<Registry> {
        self.registry.get().expect("set before the pool is used")
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

    fn run_on_runtime(&'static self, f: impl FnOnce(&'static Self) + Send + 'static) {
        let _entered = self.runtime.enter();
        manyhands::task::run_detached(move || f(self));
    }

    /// A slot for the calling thread, which is in the middle of a task of this runtime, if it is a worker there.
    pub(crate) fn take_slot_inline(&'static self) -> Option<LentSlot> {
        self.runtime.worker_index()?;
        let lent = self.take_any_slot()?;
        lent.greet(None);
        Some(lent)
    }

    /// The slot where the calling thread is at home, else any free one if it is at home nowhere.
    fn take_any_slot(&'static self) -> Option<LentSlot> {
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

    fn take_slot(&'static self, index: usize) -> Option<LentSlot> {
        if WorkerThread::current().is_some() {
            return None;
        }
        let worker = self.free.take(index, self.registry().sleep())?;
        // SAFETY: leaked, and now the calling thread's alone.
        let worker: &'static WorkerThread = unsafe { worker.as_ref() };
        // SAFETY: as above, until the guard gives it back.
        let guard = Some(unsafe { SlotGuard::begin(worker) });
        Some(LentSlot {
            host: self,
            worker,
            guard,
        })
    }

    fn give_back(&self, worker: &'static WorkerThread) {
        let (index, registry) = (worker.index(), &**worker.registry());
        self.free.give_back(index, NonNull::from(worker), registry);
    }
}

impl Host for SharedHost {
    fn call_for_work(&'static self) {
        if let Some(call) = self.free.call(&**self.registry()) {
            self.run_on_runtime(move |host| {
                // If no slot is free any more, the search ends here.
                if let Some(lent) = host.take_any_slot() {
                    lent.serve(Some(call));
                }
            });
        }
    }

    fn call_for_slot(&'static self, index: usize) {
        if self.free.is_free(index) {
            self.run_on_runtime(move |host| host.serve_broadcast(index));
        }
    }
}

impl LentSlot {
    pub(crate) fn worker(&self) -> &WorkerThread {
        self.worker
    }

    /// Calls the start handler where a thread is lent a slot for the first time. That ends a search of the thread, because the
    /// handler is the user's: it may wait for what was to be searched.
    fn greet<'pool>(
        &self,
        search: Option<Search<'pool, Registry>>,
    ) -> Option<Search<'pool, Registry>> {
        thread_local! {
            static GREETED: RefCell<HashSet<usize>> = RefCell::default();
        }
        let (registry, index) = (self.worker.registry(), self.worker.index());
        let is_first = || GREETED.with_borrow_mut(|greeted| greeted.insert(index));
        match &registry.handlers().start {
            Some(handler) if is_first() => {
                drop(search);
                registry.handlers().catch_unwind(|| handler(index));
                None
            }
            _ => search,
        }
    }

    /// Runs jobs until there are none, or the slice of time is over. `call` is the search that the thread was called to.
    fn serve(self, call: Option<Search<'static, Registry>>) {
        let worker = self.worker;
        let begin = || Search::begin(&**worker.registry());
        let mut search = self.greet(call).unwrap_or_else(begin);
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
        drop(self.guard.take());
        let (host, index) = (self.host, self.worker.index());
        host.give_back(self.worker);
        if !host.registry().slot(index).broadcasts.is_empty() {
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
    use crate::job::{Awaited, HeapJob, JobRef};
    use crate::settings::Settings;
    use manyhands::{Runtime, task};
    use std::sync::{Arc, Barrier, mpsc};
    use std::time::Duration;

    /// Ends a test that hangs, with a sentence.
    const DEADLINE: Duration = Duration::from_secs(60);

    /// A pool on the default runtime, beside the global one.
    fn host(slots: usize) -> &'static SharedHost {
        let settings = Settings {
            num_threads: slots,
            ..Settings::default()
        };
        SharedHost::build(Runtime::default_runtime(), settings).unwrap()
    }

    fn job(f: impl FnOnce() + Send + 'static) -> JobRef {
        // SAFETY: it borrows nothing, and the pool is never dropped.
        unsafe { HeapJob::job(Awaited::NOBODY, f) }
    }

    #[test]
    fn a_job_is_run_if_a_slot_becomes_free_after_a_called_thread_has_found_none() {
        let host = host(1);
        let (sender, ran) = mpsc::channel();
        let call = host.free.call(&**host.registry()).expect("a slot is free");
        let lent = host.take_slot(0).expect("as above");
        host.registry()
            .inject(job(move || sender.send(()).unwrap()));
        assert!(host.take_any_slot().is_none());
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
        let host = host(slots);
        let (sender, ran) = mpsc::channel();
        let call = || {
            let sender = sender.clone();
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
                    host.registry().slot(index).broadcasts.push(meet);
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
