//! A slot: what a thread needs to take part in a runtime, as far as other threads may look at it.
//!
//! Workers keep a slot for life, external threads for one call.
//!
//! Not here: what only the occupant of a slot touches (`occupied_slot.rs`), where slots come from and how one is found
//! by its number (`slot_pool.rs`), the way to its runtime (`inner/slots.rs`), and what is done with the work found (`run_loop.rs`,
//! `join.rs`, `scope.rs`).
//!
//! # Threads
//! The occupant alone writes what it says about itself, through `OccupiedSlot`. Methods say which other threads may call them.
//!
//! Unsafe: a slot keeps by pointer where its occupant's task was spawned.

use crate::job::{ExecutionId, Job, JobKind, SlotNumber};
use crate::probe::SlotCounters;
use crate::queue::{Deque, TaskQueue};
use crate::runtime::fork_join::executions::Executions;
use crate::runtime::fork_join::helper_slot::HelperSlot;
use crate::runtime::sleep::idle::CountedFlag;
use crate::runtime::worker::placement::Placement;
use crate::runtime::worker::signal::Signal;
use crate::runtime::worker::steal_grace::StealGrace;
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, Padded, Parker, thread_state};
use crate::timer::Timers;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;

/// One place in a runtime, as any thread sees it.
#[derive(Debug)]
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
    pub(super) thread: AtomicU64,
    /// How many external threads have occupied it: the number of the occupant's call, if it is one.
    pub(super) calls: AtomicU64,
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
    /// The kind of job that the occupant runs, or null.
    pub(super) kind: AtomicPtr<JobKind>,
    /// When the occupant, a worker, began a job of a kind that was known to be long, in ticks. 0: it is in none.
    pub(super) in_long_kind_since: AtomicU64,
    /// The occupant's number among the workers, or [`NO_WORKER`].
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

impl WorkerSlot {
    /// A slot that nobody occupies and no runtime holds.
    pub(super) fn new(number: SlotNumber) -> Self {
        Self {
            number,
            deque: Padded(Deque::new()),
            open_calls: Padded(std::array::from_fn(|_| HelperSlot::new())),
            tasks: TaskQueue::new(),
            steal_grace: StealGrace::new(),
            timers: Padded(Timers::new()),
            local: TaskQueue::new(),
            parker: Parker::new(),
            signal: Signal::new(),
            counters: Padded::default(),
            thread: AtomicU64::new(0),
            calls: AtomicU64::new(0),
            placement: Placement::default(),
            woken_at: AtomicU64::new(0),
            awaiting: AtomicU64::new(0),
            executions: Executions::new(),
            runtime: AtomicPtr::new(ptr::null_mut()),
            may_yield: AtomicBool::new(false),
            occupant: AtomicU32::new(SlotState::None as u32),
            detected_blocked: CountedFlag::new(),
            in_short_task: CountedFlag::new(),
            task: AtomicPtr::new(ptr::null_mut()),
            task_name: Mutex::new(None),
            kind: AtomicPtr::new(ptr::null_mut()),
            in_long_kind_since: AtomicU64::new(0),
            worker: AtomicU32::new(NO_WORKER),
        }
    }

    /// Hands the slot to `runtime`, which may be null. Nobody may occupy it.
    pub(super) fn assign_to(&self, runtime: *const ()) {
        self.counters.reset();
        self.tasks.forget_contentions();
        self.timers.open();
        // Relaxed: read by the occupant, to whom the slot is handed over with synchronisation.
        self.runtime.store(runtime.cast_mut(), Ordering::Relaxed);
    }

    /// Takes the slot from its runtime. Nobody may occupy it.
    pub(super) fn detach(&self) {
        self.timers.close();
        // Relaxed, all: the pool's lock hands the slot on.
        self.runtime.store(ptr::null_mut(), Ordering::Relaxed);
        self.thread.store(0, Ordering::Relaxed);
        // Relaxed: as above.
        self.worker.store(NO_WORKER, Ordering::Relaxed);
        self.occupant
            .store(SlotState::None as u32, Ordering::Relaxed);
        // Relaxed: as above.
        self.task.store(ptr::null_mut(), Ordering::Relaxed);
        // No thread counts it any more.
        self.detected_blocked.clear();
    }

    /// Whether nothing is in its queues.
    pub(super) fn is_empty(&self) -> bool {
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

    /// Monitor: what the scheduler has the occupant's thread do.
    pub(crate) fn activity(&self) -> Option<thread_state::Activity> {
        // Relaxed: the number stands alone.
        thread_state::activity(self.thread.load(Ordering::Relaxed))
    }

    /// The system's number of the occupant's thread, or 0.
    #[cfg(all(feature = "inspect", unix, not(any(loom, shuttle))))]
    pub(crate) fn thread_number(&self) -> i32 {
        // Relaxed: the number stands alone.
        thread_state::number(self.thread.load(Ordering::Relaxed))
    }

    /// Monitor: a number for what the occupant works on, another one for other work. `None` while it works on
    /// nothing or has said that it waits.
    pub(crate) fn job(&self) -> Option<u64> {
        match self.occupant() {
            SlotState::Running => {}
            SlotState::Starting => return Some(START_HOOK),
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

    /// The kind of job that the occupant runs, or null.
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

    /// Monitor: the processor time of the occupant's thread.
    pub(crate) fn cpu_nanos(&self) -> Option<u64> {
        // Relaxed: the number stands alone.
        thread_state::cpu_nanos(self.thread.load(Ordering::Relaxed))
    }

    /// The execution the occupant waits for.
    pub(crate) fn awaiting(&self) -> ExecutionId {
        // Acquire: pairs with the Release in `set_awaiting`.
        ExecutionId::from_bits(self.awaiting.load(Ordering::Acquire))
    }
}

/// Nested calls that one slot can hold open; deeper ones are the owner's alone.
pub(crate) const OPEN_DEPTH: usize = 8;

/// In place of a worker's number: the occupant is an external thread, or nobody.
const NO_WORKER: u32 = u32::MAX;

/// Set in what [`WorkerSlot::job`] returns for a call or a block, and in no execution's number.
const OWN_NUMBER: u64 = 1 << 63;

/// What it returns for the start hook: more calls or blocks than anybody counts.
const START_HOOK: u64 = u64::MAX;
