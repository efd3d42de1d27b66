//! The thread in a slot: its own half of the slot, finding work, executing it, the main loop of a pool's thread.
//!
//! Order of looking: what its own frames have pushed, newest first; detached closures; broadcasts; what others have
//! pushed, oldest first; what came from outside.
//!
//! Not here: what a waiting thread may run (`wait.rs`).
//!
//! Unsafe: jobs are performed by pointer, and the thread-local lookup is a pointer to the thread's own half.

use crate::executions::Link;
use crate::handlers::Handlers;
use crate::job::{Awaited, FifoQueue, JobRef};
use crate::latch::pause;
use crate::registry::{Host, Registry};
use crate::search::{Search, Searched};
use crate::sleep::State;
use crate::slot::Slot;
use crossbeam_deque::Worker as Deque;
use manyhands::facade::ThreadName;
use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// The thread's own half of a slot.
pub(crate) struct WorkerThread {
    registry: Arc<Registry>,
    index: usize,
    pub(crate) deque: Deque<JobRef>,
    detached: Deque<JobRef>,
    fifo: FifoQueue,
    random: Cell<u32>,
    /// How many executions are on top of one another.
    level: Cell<usize>,
    /// The latch for which all closures of scopes in the deque are awaited; 0: there are none; [`SEVERAL`].
    spawned_for: Cell<usize>,
    /// For `find_part`: how it came from its latch to where it looks.
    pub(crate) path: RefCell<Vec<Link>>,
    /// For waking: the slots that were looked at.
    seen: RefCell<Vec<usize>>,
}

thread_local! {
    static CURRENT: Cell<*const WorkerThread> = const { Cell::new(ptr::null()) };
    static THREAD: ThreadName = ThreadName::current();
}

/// A thread's time in a slot.
pub(crate) struct SlotGuard(());

impl SlotGuard {
    /// The calling thread, which has no slot, takes that of `worker`.
    ///
    /// # Safety
    /// `worker` lives, and is no other thread's, until the guard is dropped, on this thread.
    pub(crate) unsafe fn begin(worker: *const WorkerThread) -> Self {
        debug_assert!(CURRENT.get().is_null(), "a thread has one slot");
        CURRENT.set(worker);
        // SAFETY: alive by the caller's promise.
        let slot = unsafe { &*worker }.slot();
        slot.set_thread(Some(THREAD.with(|name| *name)));
        Self(())
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        if let Some(worker) = WorkerThread::current() {
            worker.slot().set_thread(None);
        }
        CURRENT.set(ptr::null());
    }
}

impl WorkerThread {
    /// A pool of this many slots, and the threads' halves of them.
    pub(crate) fn of_new_pool(
        slots: usize,
        is_breadth_first: bool,
        host: Option<&'static dyn Host>,
        handlers: Handlers,
    ) -> (Arc<Registry>, Vec<Self>) {
        let deque = || match is_breadth_first {
            true => Deque::new_fifo(),
            false => Deque::new_lifo(),
        };
        let deques: Vec<_> = (0..slots).map(|_| (deque(), deque())).collect();
        let slot =
            |(own, detached): &(Deque<_>, Deque<_>)| Slot::new(own.stealer(), detached.stealer());
        let slots = deques.iter().map(slot).collect();
        let registry = Arc::new(Registry::new(slots, host, handlers));
        let worker =
            |(index, (own, detached))| Self::new(Arc::clone(&registry), index, own, detached);
        let workers = deques.into_iter().enumerate().map(worker).collect();
        (registry, workers)
    }

    fn new(
        registry: Arc<Registry>,
        index: usize,
        deque: Deque<JobRef>,
        detached: Deque<JobRef>,
    ) -> Self {
        Self {
            registry,
            index,
            deque,
            detached,
            fifo: FifoQueue::new(),
            random: Cell::new(0x9E37_79B9_u32.wrapping_mul(index as u32 + 1) | 1),
            level: Cell::new(0),
            spawned_for: Cell::new(0),
            path: RefCell::default(),
            seen: RefCell::default(),
        }
    }

    /// The calling thread's, if it has a slot.
    #[inline]
    pub(crate) fn current<'any>() -> Option<&'any Self> {
        // SAFETY: null, or alive while the thread is in its slot. What is called here returns before that ends, because
        // a slot is left only by the frame that took it.
        unsafe { CURRENT.get().as_ref() }
    }

    /// The calling thread's, if its slot is in this pool.
    pub(crate) fn current_in(registry: &Registry) -> Option<&Self> {
        Self::current().filter(|worker| worker.registry.id() == registry.id())
    }

    #[inline]
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    #[inline]
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    pub(crate) fn slot(&self) -> &Slot {
        self.registry.slot(self.index)
    }

    /// Adds a job that this thread's frames wait for, or will.
    #[inline]
    pub(crate) fn push(&self, job: JobRef) {
        self.deque.push(job);
        self.notify_pushed();
    }

    /// As [`push`](Self::push), of a scope's closure, which may stay when the job that spawns it has ended.
    pub(crate) fn push_spawned(&self, job: JobRef) {
        let here = match self.deque.is_empty() {
            true => 0,
            false => self.spawned_for.get(),
        };
        self.spawned_for.set(all_of(here, job.awaited().latch));
        self.push(job);
    }

    /// Runs `scope`, which waits for all closures that are awaited at `latch`: none of them is left afterwards.
    pub(crate) fn around_scope<R>(&self, latch: usize, scope: impl FnOnce() -> R) -> R {
        let below = self.spawned_for.replace(0);
        let value = scope();
        let left = match self.spawned_for.get() {
            ended if ended == latch => 0,
            left => left,
        };
        self.spawned_for.set(all_of(below, left));
        value
    }

    /// Adds a job that nobody waits for. It is apart from the others, so that no waiter runs it; but not where this
    /// thread is the only one, whose order is exact.
    pub(crate) fn push_detached(&self, job: JobRef) {
        if self.registry.num_threads() == 1 {
            self.deque.push(job);
        } else {
            self.detached.push(job);
        }
        self.notify_pushed();
    }

    /// As [`push_detached`](Self::push_detached); such jobs are run in the order in which they came.
    ///
    /// # Safety
    /// The pool does not end before the job is performed.
    pub(crate) unsafe fn push_detached_fifo(&self, job: JobRef) {
        // SAFETY: as promised; this lives as long as its pool.
        let entry = unsafe { self.fifo.push(job) };
        self.push_detached(entry);
    }

    /// Wakes somebody for what this thread has pushed, and others may take.
    #[inline]
    fn notify_pushed(&self) {
        let counts = self.registry.sleep().counts();
        if counts.wants_wake() {
            self.registry.wake_for_push(counts, self.index, &self.seen);
        }
    }

    /// Whether it has pushed something that still waits here.
    pub(crate) fn has_pending(&self) -> bool {
        !(self.deque.is_empty() && self.detached.is_empty())
    }

    /// The next of what this thread's frames have pushed, or is for this thread only.
    pub(crate) fn take_local(&self) -> Option<JobRef> {
        self.take_forked().or_else(|| self.slot().take_broadcast())
    }

    /// One look at all places, as one who is free for anything.
    pub(crate) fn find(&self) -> Option<JobRef> {
        self.find_here()
            .or_else(|| self.steal())
            .or_else(|| self.registry.take_injected())
    }

    /// Whether this thread, were it free for anything, would find something that others have added.
    pub(crate) fn finds_work(&self) -> bool {
        !self.slot().broadcasts.is_empty() || self.registry.has_work_for_anybody()
    }

    fn take_forked(&self) -> Option<JobRef> {
        self.deque.pop().or_else(|| self.slot().take_returned())
    }

    fn find_here(&self) -> Option<JobRef> {
        self.take_forked()
            .or_else(|| self.detached.pop())
            .or_else(|| self.slot().take_broadcast())
    }

    fn steal(&self) -> Option<JobRef> {
        self.other_slots().find_map(|(_, slot)| slot.steal())
    }

    /// The other slots with their numbers, beginning anywhere.
    pub(crate) fn other_slots(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let count = self.registry.num_threads();
        let first = self.next_random() as usize % count;
        (first..count)
            .chain(0..first)
            .filter(|index| *index != self.index)
            .map(|index| (index, self.registry.slot(index)))
    }

    /// Executes a job, on top of whatever this thread does.
    pub(crate) fn execute(&self, job: JobRef) {
        // What lies in the deque below belongs to something else, so nobody may take it for a part of this job.
        let awaited = if self.deque.is_empty() {
            job.awaited()
        } else {
            Awaited::NOBODY
        };
        self.execute_for(awaited, job);
    }

    /// Executes a job on top of nothing. So only closures of scopes lie in the deque, and who waits for this job may help
    /// with them if it waits for all of them.
    pub(crate) fn execute_alone(&self, job: JobRef) {
        let mut awaited = job.awaited();
        if self.deque.is_empty() {
            self.spawned_for.set(0);
        } else if self.spawned_for.get() != awaited.latch {
            awaited = Awaited::NOBODY;
        }
        self.execute_for(awaited, job);
    }

    fn execute_for(&self, awaited: Awaited, job: JobRef) {
        let level = self.level.get();
        let executions = &self.slot().executions;
        executions.begin(level, awaited);
        self.level.set(level + 1);
        // SAFETY: 1. taken from a queue. 2. The thread is in its slot.
        unsafe { job.perform() };
        self.level.set(level);
        executions.end(level);
    }

    /// Shows others at which latch the newest execution of this thread waits; 0: at none. What is not executed, but
    /// called from outside, is part of nothing that others wait for.
    pub(crate) fn set_awaits(&self, latch: usize) {
        if let Some(level) = self.level.get().checked_sub(1) {
            self.slot().executions.set_awaits(level, latch);
        }
    }

    /// Executes one job of any kind, if there is one.
    pub(crate) fn yield_now(&self) -> Yield {
        self.execute_found(self.find())
    }

    /// Executes one job of its own, if there is one.
    pub(crate) fn yield_local(&self) -> Yield {
        self.execute_found(self.find_here())
    }

    fn execute_found(&self, found: Option<JobRef>) -> Yield {
        let Some(job) = found else {
            return Yield::Idle;
        };
        self.execute(job);
        Yield::Executed
    }

    /// The main loop of a thread that belongs to its pool: until the pool ends.
    pub(crate) fn run(&self) {
        while let Some(job) = self.next_job() {
            self.execute_alone(job);
        }
    }

    /// The next job; sleeps until there is one. `None` when the pool has ended.
    fn next_job(&self) -> Option<JobRef> {
        if let Some(job) = self.find() {
            return Some(job);
        }
        let mut search = Search::begin(&*self.registry);
        loop {
            match self.search(search) {
                Ok(job) => return Some(job),
                Err(unsuccessful) => search = self.sleep_after(unsuccessful)?,
            }
        }
    }

    /// Looks for work for a while. The search is over if there is some.
    pub(crate) fn search<'pool>(
        &self,
        search: Search<'pool, Registry>,
    ) -> Result<JobRef, Search<'pool, Registry>> {
        for _ in 0..SEARCHES {
            if let Some(job) = self.find() {
                return Ok(job);
            }
            self.pause();
        }
        Err(search)
    }

    /// Passes the time between two looks; see `search.rs` for who yields.
    pub(crate) fn pause(&self) {
        if self.registry.has_own_threads() {
            std::thread::yield_now();
        } else {
            pause();
        }
    }

    /// Sleeps until it is to search again. `None` when the pool has ended.
    fn sleep_after<'pool>(
        &'pool self,
        search: Search<'pool, Registry>,
    ) -> Option<Search<'pool, Registry>> {
        let (registry, slot) = (&self.registry, self.slot());
        let sleep = registry.sleep();
        // Fails only if a latch that it has left is late to interrupt it.
        while !sleep.announce(&slot.state, slot.state.before_sleep(), State::Idle) {}
        drop(search);
        let mut limit = Some(NAP);
        while !self.finds_work() && !registry.has_ended() && slot.state.is(State::Idle) {
            slot.parker.park(limit);
            limit = None;
        }
        // Counts it as searching, unless the thread that has woken it has done so.
        sleep.end(&slot.state, State::Idle);
        let search = Search::of_woken(&**registry);
        (!registry.has_ended()).then_some(search)
    }

    /// A small random number: xorshift, George Marsaglia 2003.
    fn next_random(&self) -> u32 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.random.set(x);
        x
    }
}

/// What a thread that yielded has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// It has run a piece of work.
    Executed,
    /// There was none.
    Idle,
}

/// The latch for which closures of both are awaited.
fn all_of(some: usize, others: usize) -> usize {
    match (some, others) {
        (0, latch) | (latch, 0) => latch,
        (latch, other) if latch == other => latch,
        _ => SEVERAL,
    }
}

/// In place of a latch, for closures of more than one scope.
const SEVERAL: usize = usize::MAX;
/// Looks of a free thread before it sleeps.
const SEARCHES: u32 = 32;
/// The first sleep of a thread: long beside the time that a store takes to become visible.
pub(crate) const NAP: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::{SlotGuard, WorkerThread};
    use crate::handlers::Handlers;
    use crate::job::{Awaited, HeapJob};
    use std::mem;
    use std::sync::Mutex;

    #[test]
    fn a_closure_names_its_latch_if_all_that_is_left_is_awaited_there() {
        let (_pool, workers) = WorkerThread::of_new_pool(2, false, None, Handlers::default());
        let worker = &workers[0];
        // SAFETY: this thread's until the guard is dropped.
        let guard = unsafe { SlotGuard::begin(worker) };
        let named = &Mutex::new(Vec::new());
        let run = |latches: &[usize]| {
            for &latch in latches {
                let closure = move || {
                    let here = WorkerThread::current().unwrap().slot();
                    let is_named = here.executions.find(latch).is_some();
                    named.lock().unwrap().push(is_named);
                };
                // SAFETY: performed below, before what it borrows is gone.
                let job = unsafe { HeapJob::job(Awaited { latch, slot: 2 }, closure) };
                worker.push_spawned(job);
            }
            while let Some(job) = worker.find() {
                worker.execute_alone(job);
            }
            mem::take(&mut *named.lock().unwrap())
        };
        // The newest first.
        assert_eq!(run(&[7, 7, 7]), [true, true, true]);
        assert_eq!(run(&[7, 8, 8]), [false, false, true]);
        assert_eq!(run(&[8, 7, 8]), [false, false, true]);
        assert_eq!(run(&[8, 8]), [true, true]);
        drop(guard);
    }
}
