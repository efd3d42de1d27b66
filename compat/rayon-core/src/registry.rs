//! A pool: its slots, what came from outside, its end.
//!
//! Not here: the threads themselves (`threads.rs`, `shared.rs`), and the public handle (`thread_pool.rs`).
//!
//! Unsafe: a pool's own thread is in its slot on its own frame.

use crate::ThreadPoolBuildError;
use crate::builder::{Handlers, ThreadPoolBuilder};
use crate::job::{JobRef, StackJob};
use crate::latch::Latch;
use crate::search::Searched;
use crate::shared::{LentSlot, SharedHost};
use crate::sleep::{Counts, Sleep, State};
use crate::slot::{Slot, taken};
use crate::threads::{self, ThreadSpawn, Threads};
use crate::unwind::{AbortIfPanic, halt_unwinding};
use crate::worker::SlotGuard;
use crossbeam_deque::{Injector, Worker as Deque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub(crate) use crate::worker::WorkerThread;

/// What the threads of one pool share.
pub(crate) struct Registry {
    slots: Box<[Slot]>,
    /// Jobs of threads that have no slot here.
    injected: Injector<JobRef>,
    /// Held while a broadcast is queued, so that all slots see broadcasts in the same order.
    broadcasting: Mutex<()>,
    sleep: Sleep,
    host: Host,
    handlers: Handlers,
    /// The handle, and the detached jobs that have not ended.
    users: AtomicUsize,
    has_ended: AtomicBool,
}

/// Where the threads come from.
pub(crate) enum Host {
    /// The pool has threads of its own, one for each slot, for life.
    Own(Threads),
    /// The threads of the default runtime of manyhands take the slots when there is work.
    Shared(SharedHost),
}

static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();
static MAKING_GLOBAL: Mutex<()> = Mutex::new(());

/// The pool of threads that have no slot in another; made on first use.
pub(crate) fn global() -> &'static Arc<Registry> {
    if let Some(registry) = GLOBAL.get() {
        return registry;
    }
    match init_global(ThreadPoolBuilder::new()) {
        Ok(registry) => registry,
        Err(error) => GLOBAL
            .get()
            .unwrap_or_else(|| panic!("the global thread pool has not been initialized: {error}")),
    }
}

/// Makes the global pool.
pub(crate) fn init_global<S: ThreadSpawn>(
    builder: ThreadPoolBuilder<S>,
) -> Result<&'static Arc<Registry>, ThreadPoolBuildError> {
    let _alone = MAKING_GLOBAL.lock().unwrap_or_else(PoisonError::into_inner);
    if GLOBAL.get().is_some() {
        return Err(ThreadPoolBuildError::already_initialized());
    }
    let registry = threads::build_global(builder)?;
    Ok(GLOBAL.get_or_init(|| registry))
}

/// Calls `op` on a thread with a slot: on the calling one if it has, else on one of the global pool. `op` gets
/// whether it was sent there.
#[inline]
pub(crate) fn in_worker<OP, R>(op: OP) -> R
where
    OP: FnOnce(&WorkerThread, bool) -> R + Send,
    R: Send,
{
    match WorkerThread::current() {
        Some(worker) => op(worker, false),
        None => global().in_worker_cold(op),
    }
}

impl Registry {
    /// A pool of this many slots, and the threads' halves of them.
    pub(crate) fn new(
        slots: usize,
        is_breadth_first: bool,
        host: Host,
        handlers: Handlers,
    ) -> (Arc<Self>, Vec<WorkerThread>) {
        let deque = || match is_breadth_first {
            true => Deque::new_fifo(),
            false => Deque::new_lifo(),
        };
        let deques: Vec<_> = (0..slots).map(|_| (deque(), deque())).collect();
        let slot =
            |(own, detached): &(Deque<_>, Deque<_>)| Slot::new(own.stealer(), detached.stealer());
        let registry = Arc::new(Self {
            slots: deques.iter().map(slot).collect(),
            injected: Injector::new(),
            broadcasting: Mutex::new(()),
            sleep: Sleep::default(),
            host,
            handlers,
            users: AtomicUsize::new(1),
            has_ended: AtomicBool::new(false),
        });
        let worker = |(index, (own, detached))| {
            WorkerThread::new(Arc::clone(&registry), index, own, detached)
        };
        let workers = deques.into_iter().enumerate().map(worker).collect();
        (registry, workers)
    }

    /// The calling thread's pool, else the global one.
    pub(crate) fn current() -> Arc<Self> {
        match WorkerThread::current() {
            Some(worker) => Arc::clone(worker.registry()),
            None => Arc::clone(global()),
        }
    }

    /// The calling thread's half of its slot, if that is in this pool.
    pub(crate) fn current_thread(&self) -> Option<&WorkerThread> {
        WorkerThread::current().filter(|worker| worker.registry().id() == self.id())
    }

    /// A name for the pool while it lives.
    pub(crate) fn id(&self) -> RegistryId {
        RegistryId(std::ptr::from_ref(self) as usize)
    }

    /// The number of slots.
    #[inline]
    pub(crate) fn num_threads(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn slot(&self, index: usize) -> &Slot {
        &self.slots[index]
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    /// Calls `f`. A panic goes to the handler; where there is none, or it panics too, the process ends.
    pub(crate) fn catch_unwind(&self, f: impl FnOnce()) {
        if let Err(payload) = halt_unwinding(f) {
            let frame = AbortIfPanic;
            if let Some(handler) = &self.handlers.panic {
                handler(payload);
                frame.disarm();
            }
        }
    }

    /// Queues a job of the calling thread: in its own slot, if that is here.
    pub(crate) fn inject_or_push(&self, job: JobRef) {
        match self.current_thread() {
            Some(worker) => worker.push(job),
            None => self.inject(job),
        }
    }

    /// Queues a job from outside.
    pub(crate) fn inject(&self, job: JobRef) {
        debug_assert!(!self.has_ended(), "a pool that is used has not ended");
        self.injected.push(job);
        std::sync::atomic::fence(Ordering::SeqCst);
        let counts = self.sleep.counts();
        if counts.wants_wake() {
            self.wake_for(counts, None);
        }
    }

    /// Gives back a job that was stolen from slot `index`, whose thread may wait for it meanwhile.
    pub(crate) fn give_back(&self, index: usize, job: JobRef) {
        self.slots[index].give_back(job);
        std::sync::atomic::fence(Ordering::SeqCst);
        self.rouse(index, State::Waiting);
    }

    /// Queues a job for each slot, in the order of the slots.
    pub(crate) fn inject_broadcast(&self, jobs: &[JobRef]) {
        assert_eq!(self.num_threads(), jobs.len(), "one job for each slot");
        {
            let _alone = self
                .broadcasting
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            for (slot, job) in self.slots.iter().zip(jobs) {
                slot.broadcasts.push(*job);
            }
        }
        std::sync::atomic::fence(Ordering::SeqCst);
        for index in 0..self.num_threads() {
            self.bring_to(index);
        }
    }

    /// Sees to it that a thread in this slot looks for work.
    fn bring_to(&self, index: usize) {
        self.wake_slot(index);
        if let Host::Shared(host) = &self.host {
            host.call_for_slot(index);
        }
    }

    pub(crate) fn take_injected(&self) -> Option<JobRef> {
        taken(|| self.injected.steal())
    }

    /// Whether a free thread in the slot of `worker` would find something.
    pub(crate) fn has_work_for(&self, worker: &WorkerThread) -> bool {
        !worker.slot().broadcasts.is_empty() || self.has_work_for_anybody()
    }

    /// The thread of `worker` has pushed something, which others may take.
    #[inline]
    pub(crate) fn notify_pushed(&self, worker: &WorkerThread) {
        let counts = self.sleep.counts();
        if counts.wants_wake() {
            self.wake_for(counts, Some(worker));
        }
    }

    /// Wakes a sleeper for what `pusher`, or an external thread, has pushed: one that is free for anything, else one
    /// that waits for the pusher.
    #[cold]
    fn wake_for(&self, counts: Counts, pusher: Option<&WorkerThread>) {
        if counts.idle() > 0 && self.wake_idle_from(pusher.map_or(0, WorkerThread::index)) {
            return;
        }
        if counts.waiting() > 0 {
            match pusher {
                Some(pusher) => self.wake_waiter_of(pusher),
                // Every thread may wait, and then one of them is the last resort.
                None => {
                    let _ = (0..self.num_threads()).any(|index| self.rouse(index, State::Waiting));
                }
            }
        }
    }

    /// Wakes a thread that is free for anything, where the pool has its own, the one in slot `first` before others; or
    /// calls one. Returns whether there is one.
    fn wake_idle_from(&self, first: usize) -> bool {
        match &self.host {
            Host::Own(_) => (first..self.num_threads())
                .chain(0..first)
                .any(|index| self.rouse(index, State::Idle)),
            Host::Shared(host) => {
                host.call_for_work();
                true
            }
        }
    }

    /// Wakes a thread that waits for what `pusher` executes, be it through others.
    fn wake_waiter_of(&self, pusher: &WorkerThread) {
        let mut seen = pusher.seen.borrow_mut();
        seen.clear();
        seen.push(pusher.index());
        let mut next = 0;
        while let Some(&index) = seen.get(next) {
            next += 1;
            for waiter in self.slots[index].executions.waiters() {
                if seen.contains(&waiter) {
                    continue;
                }
                if self.rouse(waiter, State::Waiting) {
                    return;
                }
                seen.push(waiter);
            }
        }
    }

    /// Wakes the thread in a slot if it sleeps so.
    fn rouse(&self, index: usize, state: State) -> bool {
        let slot = &self.slots[index];
        let is_woken = slot.state.is(state) && self.sleep.end(&slot.state, state);
        if is_woken {
            slot.parker.unpark();
        }
        is_woken
    }

    /// Wakes the thread in a slot however it sleeps.
    fn wake_slot(&self, index: usize) {
        if !self.rouse(index, State::Idle) {
            self.rouse(index, State::Waiting);
        }
    }

    /// The latch is set at which the thread in slot `index` sleeps, or is about to.
    pub(crate) fn wake_waiter(&self, index: usize) {
        let slot = &self.slots[index];
        self.sleep.interrupt_wait(&slot.state);
        slot.parker.unpark();
    }

    /// Whether all threads but that of `worker` sleep at latches that are not set.
    pub(crate) fn all_others_wait(&self, worker: &WorkerThread) -> bool {
        let mut others = worker.other_slots();
        others.all(|(_, slot)| slot.state.is(State::Waiting))
    }

    /// Whether none of the other threads runs, as far as the system says: each sleeps at a latch or in its work.
    pub(crate) fn no_other_runs(&self, worker: &WorkerThread) -> bool {
        let mut others = worker.other_slots();
        others.all(|(_, slot)| slot.state.is(State::Waiting) || slot.is_blocked())
    }

    /// Calls `op` on a thread with a slot here: on the calling one if it has, else on any. `op` gets whether it was
    /// sent there.
    pub(crate) fn in_worker<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&WorkerThread, bool) -> R + Send,
        R: Send,
    {
        match WorkerThread::current() {
            None => self.in_worker_cold(op),
            Some(worker) if worker.registry().id() == self.id() => op(worker, false),
            Some(worker) => self.send(Some(worker), op),
        }
    }

    /// As [`in_worker`](Self::in_worker), for a thread without a slot. A worker of manyhands takes one, if the pool
    /// is on its runtime.
    #[cold]
    fn in_worker_cold<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&WorkerThread, bool) -> R + Send,
        R: Send,
    {
        if let Some(lent) = self.lend_slot() {
            return op(lent.worker(), false);
        }
        self.send(None, op)
    }

    /// A slot for the calling thread, if it has none, is a worker of manyhands, and the pool is on its runtime.
    pub(crate) fn lend_slot(&self) -> Option<LentSlot> {
        match &self.host {
            Host::Shared(host) => host.take_slot_inline(),
            Host::Own(_) => None,
        }
    }

    /// Sends `op` to this pool and waits.
    fn send<OP, R>(&self, worker: Option<&WorkerThread>, op: OP) -> R
    where
        OP: FnOnce(&WorkerThread, bool) -> R + Send,
        R: Send,
    {
        let job = StackJob::new(Latch::new(worker, self), |_| {
            let there = WorkerThread::current().expect("jobs run on threads in a slot");
            op(there, true)
        });
        self.inject(job.as_job());
        match worker {
            Some(worker) => worker.wait_until(job.latch()),
            None => job.latch().wait_outside(),
        }
        job.into_result()
    }

    /// One more user, beside the calling one.
    pub(crate) fn add_user(&self) {
        let before = self.users.fetch_add(1, Ordering::AcqRel);
        debug_assert_ne!(before, 0, "a pool that has ended has no users");
    }

    /// One user less. With the last the pool ends.
    pub(crate) fn remove_user(&self) {
        if self.users.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.has_ended.store(true, Ordering::SeqCst);
            for index in 0..self.num_threads() {
                self.wake_slot(index);
                self.slots[index].parker.unpark();
            }
        }
    }

    /// Whether the threads leave.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst)
    }

    /// The main loop of a pool's own thread, until the pool ends.
    pub(crate) fn run_thread(worker: &WorkerThread) {
        let registry = Arc::clone(worker.registry());
        // SAFETY: borrowed for the whole call.
        let guard = unsafe { SlotGuard::begin(worker) };
        registry.threads().note_started();
        // A job does not unwind. If this loop does, its pool is broken.
        let frame = AbortIfPanic;
        let index = worker.index();
        if let Some(handler) = &registry.handlers.start {
            registry.catch_unwind(|| handler(index));
        }
        worker.run();
        frame.disarm();
        registry.threads().note_stopped();
        if let Some(handler) = &registry.handlers.exit {
            registry.catch_unwind(|| handler(index));
        }
        drop(guard);
    }

    /// The pool's own threads.
    fn threads(&self) -> &Threads {
        match &self.host {
            Host::Own(threads) => threads,
            Host::Shared(_) => unreachable!("a pool on a runtime has no threads of its own"),
        }
    }

    /// A thread that was not started by the pool has taken a slot.
    pub(crate) fn note_started_elsewhere(&self) {
        self.threads().note_started();
    }

    /// Waits until the pool's own threads have started.
    pub(crate) fn wait_until_started(&self) {
        if let Host::Own(threads) = &self.host {
            threads.wait_until_started(self.num_threads());
        }
    }

    /// Waits until the pool's own threads have left their main loops.
    #[cfg(test)]
    pub(crate) fn wait_until_stopped(&self) {
        self.threads().wait_until_stopped(self.num_threads());
    }
}

impl Searched for Registry {
    fn sleep(&self) -> &Sleep {
        &self.sleep
    }

    fn has_work_for_anybody(&self) -> bool {
        !self.injected.is_empty() || self.slots.iter().any(Slot::has_work_for_others)
    }

    fn wake_idle(&self) {
        self.wake_idle_from(0);
    }
}

/// Names a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegistryId(usize);
