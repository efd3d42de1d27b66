//! A slot in the hands of its occupant: the shared half, and the half that no other thread touches.
//!
//! The occupant's half is in cells, so the compiler keeps other threads from it. A thread gets at it when it occupies
//! a slot ([`WorkerSlot::occupy`]), and later through the lookup of its own slot (`current.rs`).
//!
//! Not here: what other threads may look at (`slot.rs`).
//!
//! Unsafe: the shared half is reached through a pointer to the whole.

use crate::job::{ExecutionId, Job, JobKind, SlotNumber};
use crate::queue::ShardedQueue;
use crate::runtime::fork_join::executions::Nesting;
use crate::runtime::policy::GRACE_RESPECTED_NANOS;
use crate::runtime::worker::priority::PriorityTurns;
use crate::runtime::worker::steal_grace::GraceCache;
use crate::runtime::{Extent, SlotState, WorkerSlot};
use crate::sync::atomic::Ordering;
use crate::sync::clock;
use std::cell::Cell;
use std::ops::Deref;
use std::panic::Location;
use std::ptr;

/// One place in a runtime, as its occupant sees it.
#[derive(Debug, Default)]
pub(crate) struct OccupiedSlot {
    shared: WorkerSlot,
    /// Has had tasks that only the occupant may run.
    pub(crate) has_bound_tasks: Cell<bool>,
    /// Its runtime may end without the occupant, so no worker may be left to help with what that calls.
    pub(crate) gets_no_help: Cell<bool>,
    /// How often the occupant has declared, one region inside the other, that it is blocked; or that a hook runs.
    pub(crate) blocking_depth: Cell<u32>,
    /// Helper slots in use.
    pub(crate) open_depth: Cell<usize>,
    /// Pushes until the next heartbeat.
    pub(crate) pushes_to_beat: Cell<u32>,
    /// A worker: which priority comes next.
    pub(crate) turns: Cell<PriorityTurns>,
    /// Advances its wheel between two jobs.
    pub(crate) advances_timers: Cell<bool>,
    /// Polls the I/O driver, whose sockets wake tasks.
    pub(crate) is_polling: Cell<bool>,
    /// Inside a join that is being timed.
    pub(crate) in_timed_join: Cell<bool>,
    /// The steal graces of others.
    seen_graces: GraceCache,
    /// Ticks of the last heartbeat that woke a worker.
    pub(crate) last_wake: Cell<u64>,
    /// The state of a small random generator.
    random: Cell<u32>,
    /// How its executions nest.
    nesting: Nesting,
}

impl Deref for OccupiedSlot {
    type Target = WorkerSlot;

    #[inline]
    fn deref(&self) -> &WorkerSlot {
        &self.shared
    }
}

impl OccupiedSlot {
    /// For a slot that nobody has occupied yet.
    pub(super) fn new(number: SlotNumber) -> Self {
        let mut slot = Self::default();
        slot.shared.number = number;
        slot.pushes_to_beat.set(1);
        slot.random.set(u32::from(number) * 2 + 1);
        slot
    }

    /// The half that any thread may use.
    ///
    /// # Safety
    /// `slot` is valid for ever.
    pub(super) unsafe fn shared(slot: *const Self) -> &'static WorkerSlot {
        // SAFETY: by the caller's promise.
        unsafe { &(*slot).shared }
    }

    /// Whether `slot` is this one.
    pub(crate) fn is(&self, slot: &WorkerSlot) -> bool {
        ptr::eq(&raw const self.shared, slot)
    }

    /// Runs a hook of the user's, in which no wait is declared.
    pub(super) fn run_undeclared(&self, hook: impl FnOnce()) {
        let times = self.blocking_depth.get();
        self.blocking_depth.set(times + 1);
        hook();
        self.blocking_depth.set(times);
    }

    /// Says what the occupant does now.
    pub(crate) fn set_occupant(&self, occupant: SlotState) {
        // Relaxed: a hint to the monitor.
        self.occupant.store(occupant as u32, Ordering::Relaxed);
    }

    /// Says whether the occupant helps with something that it leaves between two blocks when tasks wait.
    pub(crate) fn set_may_yield(&self, may_yield: bool) {
        // Relaxed: a hint to the monitor.
        self.may_yield.store(may_yield, Ordering::Relaxed);
    }

    /// Says where the task was spawned that the occupant runs; `None` if it runs none any more.
    #[inline]
    pub(crate) fn set_task(&self, location: Option<&'static Location<'static>>) {
        let location = location.map_or(ptr::null_mut(), |at| ptr::from_ref(at).cast_mut());
        // Relaxed: a hint, and what it points to is constant.
        self.task.store(location, Ordering::Relaxed);
    }

    /// Worker: says of what kind the job is that it has found and runs; null if it runs none. What the job runs on top of itself,
    /// while it waits, is a part of it.
    #[inline]
    pub(crate) fn set_kind(&self, kind: *const JobKind) {
        // Relaxed: a hint; kinds are only compared.
        self.kind.store(kind.cast_mut(), Ordering::Relaxed);
    }

    /// Begins an execution.
    pub(crate) fn begin_execution(&self) -> ExecutionId {
        let from = Extent {
            deque_from: self.deque.len(),
            calls_from: self.open_depth.get(),
        };
        self.executions.begin(&self.nesting, self.number, from)
    }

    /// Ends the newest execution, before the occupant pushes or opens anything else.
    pub(crate) fn end_execution(&self) {
        self.executions.end(&self.nesting);
    }

    /// Whether the occupant is a worker, and runs nothing but one execution that it has found itself.
    pub(crate) fn is_outermost(&self) -> bool {
        self.nesting.level() == 1 && self.is_worker()
    }

    /// Says which execution the occupant waits for.
    pub(crate) fn set_awaiting(&self, id: ExecutionId) {
        // Release: the record that the id names is visible to a thread that reads it.
        self.awaiting.store(id.to_bits(), Ordering::Release);
    }

    /// Whether to leave the tasks of `other` alone for a moment.
    pub(crate) fn is_in_grace(&self, other: &WorkerSlot) -> bool {
        let (seen, grace) = (&self.seen_graces, &other.steal_grace);
        let duration = clock::ticks_in(GRACE_RESPECTED_NANOS);
        seen.lasts(other.number, grace, clock::ticks, duration)
    }

    /// Worker: the shard of the tasks from outside at which it looks first when it has nothing else, and of those with a
    /// priority at which it looks first and where it queues its own.
    pub(crate) fn home_shard(&self) -> usize {
        ShardedQueue::<Job>::home_of(self.worker().unwrap_or(0))
    }

    /// A small random number.
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
