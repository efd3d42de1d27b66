//! A slot: what a thread needs to take part in a runtime, as far as other threads may look at it.
//!
//! Workers keep a slot for life, external threads for one call.
//!
//! Slots are never freed: a slot whose runtime has ended waits in a pool for the next one. So a late wake or a stale
//! hint always meets valid memory.
//!
//! Not here: what only the occupant of a slot touches (`occupied_slot.rs`), the way to its runtime (`inner/slots.rs`), and what
//! is done with the work found (`run_loop.rs`, `join.rs`, `scope.rs`).
//!
//! # Threads
//! The occupant alone writes what it says about itself, when it occupies the slot and through `OccupiedSlot`. Methods say which
//! other threads may call them.
//!
//! A slot is occupied by one thread at a time. It changes occupants only through the pool's lock, the runtime's mask of
//! external threads, or the claim of a worker, which all order what the old occupant wrote before what the new one
//! reads.
//!
//! Unsafe: a slot keeps by pointer where its occupant's task was spawned; the table keeps slots as pointers to leaked memory.

use crate::job::{ExecutionId, Job, JobKind, OnDrop, SlotNumber};
use crate::probe::SlotCounters;
use crate::queue::{Deque, TaskQueue};
use crate::runtime::fork_join::executions::Executions;
use crate::runtime::worker::placement::Placement;
use crate::runtime::{CountedFlag, HelperSlot, OccupiedSlot, Signal, StealGrace};
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, Padded, Parker, global, leak, lock, process};
use crate::timer::Timers;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;

/// One place in a runtime, as any thread sees it.
#[derive(Default)]
pub(crate) struct WorkerSlot {
    /// Where to find this slot in the process-wide table.
    pub(crate) number: SlotNumber,
    /// The occupant's fork-join work.
    pub(crate) deque: Padded<Deque<Job>>,
    /// Calls of the occupant that others may join, outermost first.
    pub(crate) open_calls: Padded<[HelperSlot; OPEN_DEPTH]>,
    /// Tasks the occupant has spawned or taken a run of.
    pub(crate) tasks: TaskQueue<Job>,
    /// Others leave `tasks` alone for a moment.
    pub(crate) steal_grace: StealGrace,
    /// What waits for a time and was first polled by the occupant, a worker.
    pub(crate) timers: Padded<Timers>,
    /// Tasks that only the occupant may run, a worker.
    pub(crate) local: TaskQueue<Job>,
    /// Where the occupant sleeps.
    pub(crate) parker: Parker,
    /// Raised by wakers of what the occupant blocks on.
    pub(crate) signal: Signal,
    /// What the occupant has done.
    pub(crate) counters: Padded<SlotCounters>,
    /// Names the occupant's thread, or 0. Written by it, read by the monitor.
    thread: AtomicU64,
    /// How many external threads have occupied it: the number of the occupant's call, if it is one.
    calls: AtomicU64,
    /// Where the occupant, a worker, wakes up.
    pub(crate) placement: Placement,
    /// When somebody last decided to wake the occupant, in ticks. 0: nobody since it last looked.
    pub(crate) woken_at: AtomicU64,
    /// The execution the occupant waits for, or 0.
    pub(super) awaiting: AtomicU64,
    /// What the occupant has taken from elsewhere and runs.
    pub(crate) executions: Executions,
    /// The runtime that holds the slot, or null; see `inner/slots.rs`.
    runtime: AtomicPtr<()>,
    /// The occupant helps, and looks after each block whether tasks wait.
    pub(super) may_yield: AtomicBool,
    /// What the occupant does, for the monitor and for dumps.
    pub(super) occupant: AtomicU32,
    /// The monitor found the occupant blocked.
    pub(crate) detected_blocked: CountedFlag,
    /// The occupant, a worker beyond the limit, runs a short task, and has not been blocked in it.
    pub(crate) in_short_task: CountedFlag,
    /// Where the task was spawned that the occupant runs, or null.
    pub(super) task: AtomicPtr<Location<'static>>,
    /// The name of the task that the occupant, a worker, runs, if it has one. Locked for an exchange or a copy.
    pub(crate) task_name: Mutex<Option<Arc<str>>>,
    /// The kind of the outermost job that the occupant, a worker, runs, or null.
    pub(super) kind: AtomicPtr<JobKind>,
    /// When the occupant, a worker, began a job of a kind that was known to be long, in ticks. 0: it is in none.
    pub(super) in_long_kind_since: AtomicU64,
    /// One more than the occupant's number among the workers, or 0.
    worker: AtomicU32,
}

/// What the occupant of a slot does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum SlotState {
    /// Nobody sits there.
    None,
    /// Runs, or looks for something to run.
    Running,
    /// A worker asleep for want of work.
    Idle,
    /// Asleep until something it waits for is done.
    Waiting,
    /// A worker that is in the start hook, and has not looked for work yet.
    Starting,
}

impl std::fmt::Debug for WorkerSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "worker slot {}", self.number)
    }
}

impl WorkerSlot {
    /// The slot with this number.
    pub(crate) fn by_number(number: SlotNumber) -> Option<&'static Self> {
        // Acquire: pairs with the Release in `take`.
        let slot = TABLE[usize::from(number)].load(Ordering::Acquire);
        // SAFETY: stored by `take` from a leaked box; the occupant's cells are not touched.
        (!slot.is_null()).then(|| unsafe { OccupiedSlot::shared(slot) })
    }

    /// Occupies the slot for the calling thread, which has this name (`thread_state` of `manyhands-system`) and runs from now on; returns what
    /// only its occupant may use. If it is no worker, its call begins.
    ///
    /// # Safety
    /// From now until the slot is left no other thread occupies it, and the one before has handed it over with
    /// synchronisation. What is returned is not used after the slot has been left.
    pub(crate) unsafe fn occupy(&self, thread: u64) -> &'static OccupiedSlot {
        // Relaxed: this thread has come by the slot, which is in the table since it was made.
        let slot = TABLE[usize::from(self.number)].load(Ordering::Relaxed);
        // SAFETY: stored by `take` from a leaked box, before it gave the slot to anybody; no other thread uses the
        // cells, by the caller's promise.
        let slot = unsafe { &*slot };
        if !self.is_worker() {
            // Relaxed, both: a hint to the monitor, and nobody else writes it.
            let calls = self.calls.load(Ordering::Relaxed);
            self.calls.store(calls + 1, Ordering::Relaxed);
        }
        // Relaxed: the number stands alone.
        self.thread.store(thread, Ordering::Relaxed);
        slot.set_occupant(SlotState::Running);
        slot
    }

    /// Wakes the occupant of slot `number` if it sleeps.
    pub(crate) fn wake(number: SlotNumber) {
        if let Some(slot) = Self::by_number(number) {
            slot.parker.unpark();
        }
    }

    /// Wakes the occupants of all slots, to look again.
    pub(crate) fn unpark_all() {
        let made = lock(&POOL).made;
        let numbers = (0..made).filter_map(|number| SlotNumber::try_from(number).ok());
        numbers.for_each(Self::wake);
    }

    /// Lends a slot without a runtime to a thread that only waits. Such a slot can be woken, no more.
    ///
    /// # Panics
    /// When 65,536 slots are in use, and in a forked child.
    pub(crate) fn borrow_to_wait<R>(f: impl FnOnce(&'static OccupiedSlot) -> R) -> R {
        process::refuse_forked();
        let slot =
            Self::take(ptr::null()).expect("fewer than 65,536 threads take part or wait at once");
        let _lent = OnDrop(|| slot.give_back());
        // SAFETY: taken from the pool just now, and given back when `f` has ended. No monitor asks for its thread's name.
        f(unsafe { slot.occupy(0) })
    }

    /// Takes an unused slot for `runtime`, a `RuntimeInner`, which must give it back before it is freed.
    ///
    /// `None` when 65,536 slots are in use.
    pub(crate) fn take(runtime: *const ()) -> Option<&'static Self> {
        #[cfg(test)]
        if tests::ARE_REFUSED.get() {
            return None;
        }
        let mut pool = lock(&POOL);
        let slot = match pool.unused.pop() {
            Some(slot) => slot,
            None => {
                let number = SlotNumber::try_from(pool.made).ok()?;
                let slot = leak(OccupiedSlot::new(number));
                pool.made += 1;
                // Release: pairs with the Acquire in `by_number`.
                TABLE[usize::from(number)].store(ptr::from_ref(slot).cast_mut(), Ordering::Release);
                slot
            }
        };
        slot.counters.reset();
        slot.tasks.forget_contentions();
        slot.timers.open();
        // Relaxed: read by the occupant, to whom the slot is handed over with synchronisation.
        slot.runtime.store(runtime.cast_mut(), Ordering::Relaxed);
        Some(slot)
    }

    /// Gives the slot back. Nobody may occupy it, and its queues must be empty.
    pub(crate) fn give_back(&'static self) {
        debug_assert!(
            self.is_empty(),
            "a slot is given back with work in its queues"
        );
        self.timers.close();
        // Relaxed, all: the pool's lock hands the slot on.
        self.runtime.store(ptr::null_mut(), Ordering::Relaxed);
        self.thread.store(0, Ordering::Relaxed);
        // Relaxed: as above.
        self.worker.store(0, Ordering::Relaxed);
        self.occupant
            .store(SlotState::None as u32, Ordering::Relaxed);
        // Relaxed: as above.
        self.task.store(ptr::null_mut(), Ordering::Relaxed);
        // No thread counts it any more.
        self.detected_blocked.reset();
        // The next occupant would run what is in its queues, which may be bound to another thread. So one with
        // something in them is never taken again.
        if self.is_empty() {
            lock(&POOL).unused.push(self);
        }
    }

    /// Whether nothing is in its queues.
    fn is_empty(&self) -> bool {
        self.deque.len() == 0 && self.tasks.is_empty() && self.local.is_empty()
    }

    /// The runtime that holds the slot, or null.
    #[inline]
    pub(in crate::runtime) fn runtime_ptr(&self) -> *const () {
        // Relaxed: set before the occupant sat down.
        self.runtime.load(Ordering::Relaxed)
    }

    /// Before it is occupied by worker `index`.
    pub(crate) fn set_worker(&self, index: usize) {
        let number = u32::try_from(index + 1).expect("workers are counted with 16 bits");
        // Relaxed: slots are handed over with synchronisation.
        self.worker.store(number, Ordering::Relaxed);
    }

    /// The occupant's number among the workers, if it is one.
    pub(crate) fn worker(&self) -> Option<usize> {
        // Relaxed: as above.
        (self.worker.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    /// Whether the occupant is a worker.
    pub(crate) fn is_worker(&self) -> bool {
        self.worker().is_some()
    }

    /// What the occupant does, or did a moment ago.
    pub(crate) fn occupant(&self) -> SlotState {
        // Relaxed: a hint.
        let occupant = self.occupant.load(Ordering::Relaxed);
        [
            SlotState::None,
            SlotState::Running,
            SlotState::Idle,
            SlotState::Waiting,
            SlotState::Starting,
        ][occupant as usize]
    }

    /// The name of the occupant's thread (`thread_state` of `manyhands-system`), or 0.
    pub(crate) fn thread(&self) -> u64 {
        // Relaxed: the name stands alone.
        self.thread.load(Ordering::Relaxed)
    }

    /// Monitor: a number for what the occupant works on, another one for other work. `None` while it works on
    /// nothing or has said that it waits.
    pub(crate) fn job(&self) -> Option<u64> {
        match self.occupant() {
            SlotState::Running => {}
            // More calls or blocks than anybody counts.
            SlotState::Starting => return Some(u64::MAX),
            SlotState::None | SlotState::Idle | SlotState::Waiting => return None,
        }
        // Relaxed, all: hints.
        if !self.is_worker() {
            // One job, whatever it runs in its call: it leaves its place to nobody before the end.
            return Some(self.calls.load(Ordering::Relaxed) | OWN_NUMBER);
        }
        if self.may_yield.load(Ordering::Relaxed) {
            // It can leave after each block.
            return Some(self.counters.finished.read() | OWN_NUMBER);
        }
        let outermost = self.executions.outermost();
        (outermost != 0).then_some(outermost)
    }

    /// Where the task was spawned that the occupant runs, if it runs one.
    pub(crate) fn task(&self) -> Option<&'static Location<'static>> {
        // Relaxed: as above.
        let location = self.task.load(Ordering::Relaxed);
        // SAFETY: null, or stored by `set_task` from a reference that lives for ever.
        unsafe { location.as_ref() }
    }

    /// The kind of the outermost job that the occupant, a worker, runs, or null.
    pub(crate) fn kind(&self) -> *const JobKind {
        // Relaxed: as above.
        self.kind.load(Ordering::Relaxed)
    }

    /// Since when the occupant, a worker, has been in a job of a kind that was known to be long, in ticks.
    pub(crate) fn in_long_kind_since(&self) -> Option<u64> {
        // Relaxed: as above.
        let since = self.in_long_kind_since.load(Ordering::Relaxed);
        (since != 0).then_some(since)
    }

    /// The execution the occupant waits for.
    pub(crate) fn awaiting(&self) -> ExecutionId {
        // Acquire: pairs with the Release in `set_awaiting`.
        ExecutionId::from_bits(self.awaiting.load(Ordering::Acquire))
    }
}

/// Nested calls that one slot can hold open; deeper ones are the owner's alone.
pub(crate) const OPEN_DEPTH: usize = 8;

/// Set in what [`WorkerSlot::job`] returns for a call, a block or a start hook, and in no execution's number.
const OWN_NUMBER: u64 = 1 << 63;

const SLOTS_MAX: usize = if cfg!(shuttle) {
    256
} else {
    SlotNumber::MAX as usize + 1
};

global! {
    /// Every slot ever made, by number.
    static TABLE: [AtomicPtr<OccupiedSlot>; SLOTS_MAX] = [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS_MAX];
    /// Slots that no runtime holds.
    static POOL: Mutex<Pool> = Mutex::new(Pool {
        unused: Vec::new(),
        made: 0,
    });
}

struct Pool {
    unused: Vec<&'static WorkerSlot>,
    made: usize,
}

#[cfg(test)]
mod tests {
    use crate::simulation::Simulation;
    use crate::{Runtime, join, parallel, scope, task};
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    thread_local! {
        /// This thread gets no slots, as when all are in use.
        pub(crate) static ARE_REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    fn without_slots<R>(work: impl FnOnce() -> R) -> R {
        ARE_REFUSED.set(true);
        let done = catch_unwind(AssertUnwindSafe(work));
        ARE_REFUSED.set(false);
        done.unwrap()
    }

    fn message_of(work: impl FnOnce()) -> String {
        let payload = catch_unwind(AssertUnwindSafe(work)).unwrap_err();
        crate::job::PanicPayload::new(payload).to_string()
    }

    #[test]
    fn a_thread_without_a_slot_runs_its_calls_alone_and_takes_part_again_later() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let _entered = runtime.enter();
        let calls = || {
            let sum = AtomicUsize::new(0);
            parallel::for_each(0..100, |i| {
                sum.fetch_add(i, Ordering::Relaxed);
            });
            scope(|scope| {
                scope.spawn(|_| {
                    sum.fetch_add(1, Ordering::Relaxed);
                });
            });
            let (a, b) = join(|| 1, || 2);
            sum.into_inner() + a + b
        };
        // More often than there are places for external threads.
        for _ in 0..2000 {
            assert_eq!(without_slots(calls), 4954);
        }
        runtime.install(|| assert_eq!(calls(), 4954));
        let mut slots = runtime.shared().all_slots();
        assert!(slots.any(|slot| !slot.is_worker()), "it was a external");
    }

    #[test]
    fn a_thread_without_a_slot_cannot_wait_and_panics_with_the_reason() {
        const SENTENCE: &str = "fewer than 65,536 threads take part or wait at once";
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let _entered = runtime.enter();
        without_slots(|| {
            let handle = task::spawn(std::future::pending::<()>());
            assert_eq!(message_of(|| drop(handle.join())), SENTENCE);
            assert_eq!(
                message_of(|| task::block_on(std::future::pending())),
                SENTENCE
            );
            let simulated = message_of(|| drop(Simulation::new(1).run(async {})));
            assert_eq!(simulated, SENTENCE);
        });
        assert_eq!(task::run(|| 7).join().unwrap(), 7);
    }

    #[test]
    fn a_worker_without_a_slot_is_started_when_there_is_one() {
        let runtime = Runtime::builder().workers(1).build().unwrap();
        let _entered = runtime.enter();
        let handle = without_slots(|| task::run(|| 7));
        assert_eq!(task::run(|| 8).join().unwrap(), 8);
        assert_eq!(handle.join().unwrap(), 7);
    }
}
