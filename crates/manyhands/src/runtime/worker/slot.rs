//! A slot: everything a thread needs to take part in a runtime, and that others may look at.
//!
//! Workers keep a slot for life, external threads for one call. Slots are never freed: a slot whose runtime has
//! ended waits in a pool for the next one. So a late wake or a stale hint always meets valid memory.
//!
//! Not here: what is done with the work found (`run_loop.rs`, `join.rs`, `scope.rs`).
//!
//! # Threads
//! Fields in cells are the occupant's. Atomics say at their methods who may touch them.
//!
//! Unsafe: `Sync` by hand, because of the occupant's cells.

use crate::job::{ExecutionId, Job, JobKind, SlotNumber};
use crate::probe::SlotCounters;
use crate::queue::{Deque, TaskQueue};
use crate::runtime::RuntimeInner;
use crate::runtime::fork_join::executions::{Executions, Extent};
use crate::runtime::fork_join::helper_slot::HelperSlot;
use crate::runtime::monitor::detected_blocked::DetectedBlocked;
use crate::runtime::worker::placement::Placement;
use crate::runtime::worker::priority::PriorityTurns;
use crate::runtime::worker::signal::Signal;
use crate::runtime::worker::steal_grace::{GraceCache, StealGrace};
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, Padded, Parker, clock, global, leak, lock, process, thread_state};
use crate::timer::Timers;
use std::cell::Cell;
use std::panic::Location;
use std::ptr;

/// One place in a runtime.
#[derive(Debug)]
pub(crate) struct WorkerSlot {
    /// Where to find this slot in the process-wide table.
    pub(crate) number: SlotNumber,
    /// The occupant's fork-join work.
    pub(crate) deque: Padded<Deque<Job>>,
    /// Calls of the occupant that others may join, outermost first.
    pub(crate) slots: Padded<[HelperSlot; OPEN_DEPTH]>,
    /// Tasks the occupant has spawned or taken a run of.
    pub(crate) tasks: TaskQueue<Job>,
    /// Others leave `tasks` alone for a moment.
    pub(crate) hold: StealGrace,
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
    /// Where the occupant, a worker, wakes up.
    pub(crate) placement: Placement,
    /// When somebody last decided to wake the occupant, in ticks. 0: nobody since it last looked.
    pub(crate) woken_at: AtomicU64,
    /// The execution the occupant waits for, or 0.
    awaiting: AtomicU64,
    /// What the occupant has taken from elsewhere and runs.
    pub(crate) executions: Executions,
    runtime: AtomicPtr<RuntimeInner>,
    /// The occupant helps, and looks after each block whether tasks wait.
    is_attentive: AtomicBool,
    /// What the occupant does, for the monitor and for dumps.
    occupant: AtomicU32,
    /// The monitor found the occupant blocked.
    pub(crate) detected_blocked: DetectedBlocked,
    /// Where the task was spawned that the occupant runs, or null.
    task: AtomicPtr<Location<'static>>,
    /// The kind of job that the occupant runs, or null.
    kind: AtomicPtr<JobKind>,
    /// Occupant: has had tasks that only it may run.
    pub(crate) hosts_tasks: Cell<bool>,
    /// Occupant: has said that it is blocked, and how often.
    pub(crate) times_away: Cell<u32>,
    /// Occupant: slots in use.
    pub(crate) open_depth: Cell<usize>,
    /// Occupant: pushes until the next heartbeat.
    pub(crate) pushes_to_beat: Cell<u32>,
    /// SlotState, a worker: which priority comes next.
    pub(crate) turns: Cell<PriorityTurns>,
    /// Occupant: turns its wheel between two jobs.
    pub(crate) is_turning: Cell<bool>,
    /// Occupant: lets sockets wake whom they wake.
    pub(crate) is_watching: Cell<bool>,
    /// Occupant: inside a join that is being timed.
    pub(crate) in_timed_join: Cell<bool>,
    /// Occupant: the holds of others.
    patience: GraceCache,
    /// Occupant: ticks of the last heartbeat that woke somebody.
    pub(crate) last_wake: Cell<u64>,
    /// Occupant: state of a small random generator.
    pub(crate) random: Cell<u32>,
    /// The occupant's number among the workers, or [`NO_WORKER`].
    worker: AtomicU32,
    /// Occupant: the place in its runtime's external thread mask, if it is an external thread.
    pub(crate) external_place: Cell<usize>,
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
}

// SAFETY: the `Cell`s forbid it. Only the occupant touches them; a slot changes occupants only through the
// runtime's external thread mask or the pool's lock, both of which order the old occupant's writes before the new
// one's reads. Held by `callers.rs`,
// `tests/it/bound.rs::what_a_spare_worker_spawns_when_it_ends_is_dropped_by_it` and
// `tests/it/storm.rs::in_a_storm_every_future_and_result_is_dropped_once`.
unsafe impl Sync for WorkerSlot {}

impl WorkerSlot {
    fn new(number: SlotNumber) -> Self {
        Self {
            number,
            deque: Padded(Deque::new()),
            slots: Padded(std::array::from_fn(|_| HelperSlot::new())),
            tasks: TaskQueue::new(),
            hold: StealGrace::new(),
            timers: Padded(Timers::new()),
            local: TaskQueue::new(),
            parker: Parker::new(),
            signal: Signal::new(),
            counters: Padded::default(),
            thread: AtomicU64::new(0),
            placement: Placement::default(),
            woken_at: AtomicU64::new(0),
            awaiting: AtomicU64::new(0),
            executions: Executions::new(),
            runtime: AtomicPtr::new(ptr::null_mut()),
            is_attentive: AtomicBool::new(false),
            occupant: AtomicU32::new(SlotState::None as u32),
            detected_blocked: DetectedBlocked::new(),
            task: AtomicPtr::new(ptr::null_mut()),
            kind: AtomicPtr::new(ptr::null_mut()),
            hosts_tasks: Cell::new(false),
            times_away: Cell::new(0),
            open_depth: Cell::new(0),
            pushes_to_beat: Cell::new(1),
            turns: Cell::new(PriorityTurns::default()),
            is_turning: Cell::new(false),
            is_watching: Cell::new(false),
            in_timed_join: Cell::new(false),
            patience: GraceCache::new(),
            last_wake: Cell::new(0),
            random: Cell::new(u32::from(number) * 2 + 1),
            worker: AtomicU32::new(NO_WORKER),
            external_place: Cell::new(0),
        }
    }

    /// The slot with this number.
    pub(crate) fn by_number(number: SlotNumber) -> Option<&'static Self> {
        // Acquire: pairs with the Release in `take`.
        let slot = TABLE[usize::from(number)].load(Ordering::Acquire);
        // SAFETY: null, or stored by `take` from a leaked box.
        unsafe { slot.as_ref() }
    }

    /// Wakes the occupant of slot `number` if it sleeps.
    pub(crate) fn wake(number: SlotNumber) {
        if let Some(slot) = Self::by_number(number) {
            slot.parker.unpark();
        }
    }

    /// Wakes the occupants of all slots, to look again.
    #[cold]
    pub(crate) fn unpark_all() {
        let made = lock(&POOL).made;
        let numbers = (0..made).filter_map(|number| SlotNumber::try_from(number).ok());
        numbers.for_each(Self::wake);
    }

    /// Lends a slot without a runtime to a thread that only waits. Such a slot can be woken, no more.
    ///
    /// # Panics
    /// When 65,536 slots are in use, and in a forked child.
    pub(crate) fn borrow_to_wait<R>(f: impl FnOnce(&'static Self) -> R) -> R {
        struct Borrowed(&'static WorkerSlot);
        impl Drop for Borrowed {
            fn drop(&mut self) {
                self.0.give_back();
            }
        }
        process::refuse_forked();
        let slot =
            Self::take(ptr::null()).expect("fewer than 65,536 threads take part or wait at once");
        let lent = Borrowed(slot);
        f(lent.0)
    }

    /// Takes an unused slot for `runtime`, which must give it back before it is freed.
    ///
    /// `None` when 65,536 slots are in use.
    pub(crate) fn take(runtime: *const RuntimeInner) -> Option<&'static Self> {
        #[cfg(test)]
        if tests::ARE_REFUSED.get() {
            return None;
        }
        let mut pool = lock(&POOL);
        let slot = match pool.unused.pop() {
            Some(slot) => slot,
            None => {
                let number = SlotNumber::try_from(pool.made).ok()?;
                let slot: &'static Self = leak(Self::new(number));
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
        // Relaxed, both: the pool's lock hands the slot on.
        self.runtime.store(ptr::null_mut(), Ordering::Relaxed);
        self.thread.store(0, Ordering::Relaxed);
        // Relaxed: as above.
        self.worker.store(NO_WORKER, Ordering::Relaxed);
        self.set_occupant(SlotState::None);
        self.detected_blocked.forget();
        self.set_task(None);
        self.hosts_tasks.set(false);
        // The next occupant would run what is in its queues, which may be bound to another thread. So one with
        // something in them is never taken again.
        if self.is_empty() {
            lock(&POOL).unused.push(self);
        }
    }

    fn is_empty(&self) -> bool {
        self.deque.len() == 0 && self.tasks.is_empty() && self.local.is_empty()
    }

    /// SlotState of a runtime's slot: that runtime.
    #[inline]
    pub(crate) fn runtime(&self) -> &RuntimeInner {
        self.runtime_or_none()
            .expect("only a waiting thread's slot is without a runtime")
    }

    /// Occupant: the runtime this slot belongs to; `None` for a thread that only waits.
    #[inline]
    pub(crate) fn runtime_or_none(&self) -> Option<&RuntimeInner> {
        // Relaxed: set before the occupant sat down.
        let runtime = self.runtime.load(Ordering::Relaxed);
        // SAFETY: null, or set by `take`; the runtime outlives every occupant of its slots.
        // Held by `tests/it/storm.rs::a_runtime_that_ends_amid_wakes_from_outside_ends_whole` and `models/shutdown.rs`.
        unsafe { runtime.as_ref() }
    }

    /// Before it is occupied by worker `index`.
    pub(crate) fn set_worker(&self, index: usize) {
        let index = u32::try_from(index).expect("workers are counted with 16 bits");
        // Relaxed: slots are handed over with synchronisation.
        self.worker.store(index, Ordering::Relaxed);
    }

    /// The occupant's number among the workers, if it is one.
    pub(crate) fn worker(&self) -> Option<usize> {
        // Relaxed: as above.
        let worker = self.worker.load(Ordering::Relaxed);
        (worker != NO_WORKER).then_some(worker as usize)
    }

    /// Whether the occupant is a worker.
    pub(crate) fn is_worker(&self) -> bool {
        self.worker().is_some()
    }

    /// Occupant: whether `self` belongs to a runtime, and to the same as `other`.
    pub(crate) fn shares_runtime_with(&self, other: &Self) -> bool {
        // Relaxed, both: a slot changes runtimes only when nothing runs on it; see `executions.rs`.
        let runtime = self.runtime.load(Ordering::Relaxed);
        !runtime.is_null() && runtime == other.runtime.load(Ordering::Relaxed)
    }

    /// Occupant: names its thread.
    pub(crate) fn set_thread(&self, thread: u64) {
        // Relaxed: the number stands alone.
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// Occupant: says what it does now.
    pub(crate) fn set_occupant(&self, occupant: SlotState) {
        // Relaxed: a hint to the monitor.
        self.occupant.store(occupant as u32, Ordering::Relaxed);
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
        ][occupant as usize]
    }

    /// Worker: its thread is as the user wants it; see `placement.rs`.
    pub(crate) fn begin_placement(&self) {
        // Relaxed: this thread wrote it.
        self.placement
            .begin(thread_state::number(self.thread.load(Ordering::Relaxed)));
    }

    /// Monitor: what the scheduler has the occupant's thread do.
    pub(crate) fn activity(&self) -> Option<thread_state::Activity> {
        // Relaxed: the number stands alone.
        thread_state::activity(self.thread.load(Ordering::Relaxed))
    }

    /// Monitor: a number for what the occupant works on, another one for other work. `None` while it works on
    /// nothing or has said that it waits.
    pub(crate) fn job(&self) -> Option<u64> {
        if self.occupant() != SlotState::Running {
            return None;
        }
        let outermost = self.executions.outermost();
        // Relaxed: a hint.
        let is_attentive = self.is_attentive.load(Ordering::Relaxed);
        if outermost != 0 && !is_attentive {
            return Some(outermost);
        }
        // An external thread runs its own call, which is no execution, and an attentive helper one block after the other.
        (is_attentive || !self.is_worker()).then(|| self.counters.finished.read() | OWN_CALL)
    }

    /// Occupant: whether it helps with something that it leaves between two blocks when tasks wait.
    pub(crate) fn set_attentive(&self, is_attentive: bool) {
        // Relaxed: a hint to the monitor.
        self.is_attentive.store(is_attentive, Ordering::Relaxed);
    }

    /// Occupant: if the monitor counts it as blocked, it is not any more.
    #[inline]
    pub(crate) fn is_not_blocked(&self) {
        if self.detected_blocked.is_set()
            && let Some(shared) = self.runtime_or_none()
        {
            shared.idle.unmark(&self.detected_blocked);
        }
    }

    /// Occupant: says where the task was spawned that it runs; `None` if it runs none any more.
    #[inline]
    pub(crate) fn set_task(&self, location: Option<&'static Location<'static>>) {
        let location = location.map_or(ptr::null_mut(), |at| ptr::from_ref(at).cast_mut());
        // Relaxed: a hint, and what it points to is constant.
        self.task.store(location, Ordering::Relaxed);
    }

    /// Where the task was spawned that the occupant runs, if it runs one.
    pub(crate) fn task(&self) -> Option<&'static Location<'static>> {
        // Relaxed: as above.
        let location = self.task.load(Ordering::Relaxed);
        // SAFETY: null, or stored by `set_task` from a reference that lives for ever.
        unsafe { location.as_ref() }
    }

    /// Occupant: says of what kind the job is that it runs; null if it runs none.
    #[inline]
    pub(crate) fn set_kind(&self, kind: *const JobKind) {
        // Relaxed: a hint; kinds are only compared.
        self.kind.store(kind.cast_mut(), Ordering::Relaxed);
    }

    /// The kind of job that the occupant runs, or null.
    pub(crate) fn kind(&self) -> *const JobKind {
        // Relaxed: as above.
        self.kind.load(Ordering::Relaxed)
    }

    /// Monitor: the processor time of the occupant's thread.
    pub(crate) fn cpu_nanos(&self) -> Option<u64> {
        // Relaxed: the number stands alone.
        thread_state::cpu_nanos(self.thread.load(Ordering::Relaxed))
    }

    /// Occupant: begins an execution.
    pub(crate) fn begin_execution(&self) -> ExecutionId {
        let from = Extent {
            deque_from: self.deque.len(),
            slots_from: self.open_depth.get(),
        };
        self.executions.begin(self.number, from)
    }

    /// Occupant: ends the newest execution, before it pushes or opens anything else.
    pub(crate) fn end_execution(&self) {
        self.executions.end();
    }

    /// Occupant: whether it is a worker, and runs nothing but one execution that it has found itself.
    pub(crate) fn is_outermost(&self) -> bool {
        self.executions.level() == 1 && self.is_worker()
    }

    /// Occupant: says which execution it waits for.
    pub(crate) fn set_awaiting(&self, id: ExecutionId) {
        // Release: the record that the id names is visible to who reads it.
        self.awaiting.store(id.to_bits(), Ordering::Release);
    }

    /// The execution the occupant waits for.
    pub(crate) fn awaiting(&self) -> ExecutionId {
        // Acquire: pairs with the Release in `set_awaiting`.
        ExecutionId::from_bits(self.awaiting.load(Ordering::Acquire))
    }

    /// Occupant: whether to leave the tasks of `other` alone for a moment.
    pub(crate) fn is_patient_with(&self, other: &Self) -> bool {
        self.patience.lasts(
            other.number,
            &other.hold,
            clock::ticks,
            clock::ticks_in(PATIENCE_NANOS),
        )
    }

    /// Occupant: a small random number.
    pub(crate) fn next_random(&self) -> u32 {
        // Xorshift, George Marsaglia 2003: good enough to spread thieves.
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.random.set(x);
        x
    }
}

/// Nested calls that one slot can hold open; deeper ones are the owner's alone.
pub(crate) const OPEN_DEPTH: usize = 8;

/// How long a worker's hold is respected: longer than two tasks take to pass on as much as one poll may, and short
/// beside what a second worker is worth.
const PATIENCE_NANOS: u64 = 8_000;

/// In place of a worker's number: the occupant is an external thread, or nobody.
const NO_WORKER: u32 = u32::MAX;

/// Set in what [`WorkerSlot::job`] returns for an external thread, and in no execution's number.
const OWN_CALL: u64 = 1 << 63;

const SLOTS_MAX: usize = if cfg!(shuttle) {
    256
} else {
    SlotNumber::MAX as usize + 1
};

global! {
    /// Every slot ever made, by number.
    static TABLE: [AtomicPtr<WorkerSlot>; SLOTS_MAX] = [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS_MAX];
}

global! {
    /// Slots that no runtime holds.
    static POOL: Mutex<Pool> = Mutex::new(Pool {
        unused: Vec::new(),
        made: 0,
    });
}

#[derive(Debug)]
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
            parallel::for_range(0..100, |i| {
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
