//! The thread in a slot: its own half of the slot, finding work, executing it, the main loop of a pool's thread.
//!
//! Order of looking: what it has pushed, newest first; what others have handed to it; detached closures; broadcasts; what
//! others have pushed, oldest first; what came from outside.
//!
//! Not here: what a waiting thread may run (`wait.rs`).
//!
//! Unsafe: jobs are performed by pointer, and the thread-local lookup is a pointer to the thread's own half.

use crate::executions::Link;
use crate::handlers::Handlers;
use crate::job::{FifoQueue, JobRef, Place};
use crate::latch::{Latch, pause};
use crate::registry::{Host, Registry};
use crate::search::{Search, Searched};
use crate::sleep::State;
use crate::slot::Slot;
use crate::sync::{Deque, SEARCHES};
use manyhands_system::thread_state::{ThreadName, current_thread};
use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

/// The thread's own half of a slot.
pub(crate) struct WorkerThread {
    registry: Arc<Registry>,
    index: usize,
    /// See `slot.rs` for what lies in which deque.
    pub(crate) forked: Deque<JobRef>,
    spawned: Deque<JobRef>,
    detached: Deque<JobRef>,
    fifo: FifoQueue,
    random: Cell<u32>,
    /// Of the newest frame.
    place: Cell<Place>,
    /// Whether what the newest frames have pushed lies on top in `forked`: not in a pool of one thread, nor oldest first.
    has_newest_on_top: bool,
    /// For `find_part`: the executions that are part of what it waits for.
    pub(crate) links: RefCell<Vec<Link>>,
    /// For waking: the slots that were looked at.
    seen: RefCell<Vec<usize>>,
}

thread_local! {
    static CURRENT: Cell<*const WorkerThread> = const { Cell::new(ptr::null()) };
    static THREAD: ThreadName = current_thread();
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
        let deques: Vec<_> = (0..slots).map(|_| [deque(), deque(), deque()]).collect();
        let slots = deques
            .iter()
            .map(|deques| Slot::new(deques.each_ref().map(Deque::stealer)))
            .collect();
        let registry = Arc::new(Registry::new(slots, host, handlers));
        let worker = |(index, [forked, spawned, detached]): (usize, [Deque<_>; 3])| Self {
            registry: Arc::clone(&registry),
            index,
            forked,
            spawned,
            detached,
            fifo: FifoQueue::new(),
            random: Cell::new(0x9E37_79B9_u32.wrapping_mul(index as u32 + 1) | 1),
            place: Cell::new(Place::lowest(index)),
            has_newest_on_top: registry.num_threads() > 1 && !is_breadth_first,
            links: RefCell::default(),
            seen: RefCell::default(),
        };
        let workers = deques.into_iter().enumerate().map(worker).collect();
        (registry, workers)
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

    /// Where the newest frame is.
    #[inline]
    pub(crate) fn place(&self) -> Place {
        self.place.get()
    }

    /// Adds a job that frames of this thread in this place wait for, or will.
    #[inline]
    pub(crate) fn push(&self, job: JobRef) {
        self.forked.push(job);
        self.notify_pushed(Some(self.index));
    }

    /// Adds a scope's closure.
    pub(crate) fn push_spawned(&self, job: JobRef) {
        let awaited = job.awaited();
        if awaited.waiter == self.place() || self.is_alone() {
            self.push(job);
        } else if self.slot().may_spawn_for(awaited) {
            self.spawned.push(job);
            self.notify_pushed(awaited.waiter.slot());
        } else {
            self.registry.hand_over(job);
        }
    }

    /// Adds a job that nobody waits for. It is apart from the others, so that no waiter runs it; but not where this
    /// thread is the only one, whose order is exact.
    pub(crate) fn push_detached(&self, job: JobRef) {
        if self.is_alone() {
            self.forked.push(job);
        } else {
            self.detached.push(job);
        }
        self.notify_pushed(None);
    }

    /// Whether the pool has no other thread.
    fn is_alone(&self) -> bool {
        self.registry.num_threads() == 1
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

    /// Wakes somebody for what this thread has pushed, others may take, and the thread in slot `waiter` waits for; `None`: one
    /// that is free for anything.
    #[inline]
    fn notify_pushed(&self, waiter: Option<usize>) {
        let counts = self.registry.sleep().counts();
        if counts.wants_wake() {
            self.registry
                .wake_for_push(counts, self.index, waiter, &self.seen);
        }
    }

    /// Whether it has pushed something that still waits here.
    pub(crate) fn has_pending(&self) -> bool {
        let deques = [&self.forked, &self.spawned, &self.detached];
        deques.iter().any(|deque| !deque.is_empty())
    }

    /// The next of what lies here and the newest frames wait for, one of them at `latch`; or is for this thread only.
    pub(crate) fn take_awaited(&self, latch: &Latch) -> Option<JobRef> {
        let slot = self.slot();
        if slot.spawned_for().latch == latch.id()
            && let Some(newest) = self.spawned.pop()
        {
            return Some(newest);
        }
        self.take_forked_here()
            .or_else(|| slot.handed.take(|awaited| awaited.waiter == self.place()))
            .or_else(|| slot.take_broadcast())
    }

    /// The newest of what the newest frames have pushed. What lies below is of frames that they are a part of, and may want
    /// what they hold, such as a lock.
    fn take_forked_here(&self) -> Option<JobRef> {
        let newest = self.forked.pop()?;
        if self.has_newest_on_top && newest.awaited().waiter != self.place() {
            self.forked.push(newest);
            // For who has looked just now, if it is free. A waiter looks again soon; were it woken each time, so would this one.
            self.notify_pushed(None);
            return None;
        }
        Some(newest)
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

    fn find_here(&self) -> Option<JobRef> {
        self.forked
            .pop()
            .or_else(|| self.spawned.pop())
            .or_else(|| self.slot().handed.take(|_| true))
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
        let place = self.place();
        let executions = &self.slot().executions;
        executions.begin(place.level(), job.awaited());
        self.place.set(place.above());
        // SAFETY: 1. taken from a queue. 2. The thread is in its slot.
        unsafe { job.perform() };
        self.place.set(place);
        executions.end(place.level());
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
            self.execute(job);
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

/// The first sleep of a thread: long beside the time that a store takes to become visible.
pub(crate) const NAP: Duration = Duration::from_millis(1);
