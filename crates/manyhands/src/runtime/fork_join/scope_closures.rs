//! The closures of one scope: a queue of those that wait, a count of the unfinished, and a latch on which the scope's
//! owner waits.
//!
//! Not here: running closures (`scope.rs`), and how the owner waits (`wait.rs`).
//!
//! # Threads
//! The owner calls `settle_body`, `is_over`, `fall_asleep` and `is_asleep`. A thread that runs closures, or is inside
//! one of them, calls the rest. The thread that lowers the count to zero is the owner, or has entered the scope's
//! helper slot, which keeps the scope in place.
//!
//! # Counting
//! To count each closure by itself would make the threads contend for the count. So the owner alone counts the
//! closures that it spawns while the body runs, and settles them when the body ends. Until then the count includes a
//! large number in their place, so that it cannot reach zero. A thread that runs several closures counts them off
//! together.
//!
//! # Ordering
//! S1: the owner announces that it sleeps, then looks at the queue. A thread that pushes a closure looks afterwards
//! whether the owner sleeps. These four steps are SeqCst. So either the owner sees the closure and does not sleep, or
//! the pusher sees that the owner sleeps and wakes it. The owner never sleeps while it could run something, and no
//! helper need stay for the closures that are left.
//!
//! If the queue is not empty but nothing can be taken, a pusher or another taker is in the middle of an operation. The
//! owner then sleeps briefly and repeatedly: a spin could keep that very thread from the processor.
//!
//! Unsafe: closures are queued by pointer, and the latch may be gone once it is set.

use crate::job::{Latch, SlotNumber};
use crate::queue::{Linked, TaskQueue, Unqueued};
use crate::runtime::HelperSlot;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// A scope's closures.
#[derive(Debug)]
pub(crate) struct Closures<J> {
    queue: TaskQueue<J>,
    unfinished: AtomicUsize,
    /// Spawned by the owner while the body runs; afterwards `BODY`. Only the owner's thread touches it.
    spawned_by_body: AtomicUsize,
    latch: Latch,
}

/// Which thread spawns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spawner {
    /// The thread whose scope it is.
    Owner,
    /// Any other.
    Other,
}

/// How a waiting thread is to sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Rest {
    /// Not at all: the wait is over.
    No,
    /// Briefly: another thread is in the middle of an operation.
    Brief,
    /// Until it is woken.
    Long,
}

impl Rest {
    /// Long, unless the wait is over.
    pub(crate) fn long_if(is_asleep: bool) -> Self {
        if is_asleep { Self::Long } else { Self::No }
    }

    /// Parks for as long as it says. The thread that makes `is_asleep` false unparks this one.
    pub(crate) fn while_asleep(self, is_asleep: &dyn Fn() -> bool, mut park: impl FnMut()) {
        while self != Self::No && is_asleep() {
            park();
            if self == Self::Brief {
                return;
            }
        }
    }
}

impl<J: Linked> Closures<J> {
    /// None yet; the body is about to begin.
    pub(crate) fn new() -> Self {
        Self {
            queue: TaskQueue::default(),
            unfinished: AtomicUsize::new(BODY),
            spawned_by_body: AtomicUsize::new(0),
            latch: Latch::new(),
        }
    }

    /// Counts and queues a closure. The caller must wake the returned slot.
    #[must_use]
    pub(crate) fn push(&self, job: Unqueued<J>, spawner: Spawner) -> Option<SlotNumber> {
        self.count_spawned(spawner);
        self.queue.push(job);
        match spawner {
            // It is awake.
            Spawner::Owner => None,
            // S1: after the push.
            Spawner::Other => self.latch.rouse(),
        }
    }

    /// Owner, when the body has ended: from now on only closures are counted.
    pub(crate) fn settle_body(&self) {
        // Relaxed, both: only the owner's thread touches this count.
        let spawned = self.spawned_by_body.load(Ordering::Relaxed);
        self.spawned_by_body.store(BODY, Ordering::Relaxed);
        let sleeper = self.count_finished(BODY - spawned);
        debug_assert_eq!(sleeper, None, "the owner is awake");
    }

    /// Runs queued closures until none can be taken, or `max` have been run, and counts them off. Calls `wake` with
    /// the slot to wake, if any. Returns whether there was a closure.
    pub(crate) fn run_queued(
        &self,
        max: usize,
        mut run: impl FnMut(Unqueued<J>),
        wake: impl FnOnce(SlotNumber),
    ) -> bool {
        let mut finished = 0;
        while finished < max
            && let Some(taken) = self.queue.take(1)
        {
            finished += 1;
            run(taken.split_first().0);
        }
        self.count_finished(finished).map(wake);
        finished > 0
    }

    /// Helper, about to leave `helper_slot`: invites others if closures are left. The caller must wake the returned
    /// slot.
    #[must_use]
    pub(crate) fn leave(&self, helper_slot: &HelperSlot) -> Option<SlotNumber> {
        if self.queue.is_empty() {
            return None;
        }
        // The helper left them because tasks wait, or a thread is pushing or taking one now, or pushed one since.
        helper_slot.invite();
        // S1: after a look that found the queue not empty. An owner that sleeps briefly wakes at once.
        self.latch.rouse()
    }

    /// Whether the owner would find a closure to run, now or in a moment.
    pub(crate) fn is_any_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// How often a taker found the queue in use by another.
    pub(crate) fn contentions(&self) -> u64 {
        self.queue.contentions()
    }

    /// Owner: whether every closure has finished; if so, all they did is visible.
    pub(crate) fn is_over(&self) -> bool {
        self.latch.is_final()
    }

    /// Owner: announces that it is about to sleep. Returns how it may sleep.
    pub(crate) fn fall_asleep(&self, slot: SlotNumber) -> Rest {
        if !self.latch.fall_asleep(slot) {
            Rest::No
        } else if self.queue.is_empty() {
            Rest::Long
        } else {
            Rest::Brief
        }
    }

    /// Owner, after `fall_asleep`: whether no thread has woken it since.
    pub(crate) fn is_asleep(&self) -> bool {
        self.latch.is_asleep()
    }

    fn count_spawned(&self, spawner: Spawner) {
        if spawner == Spawner::Owner {
            // Relaxed, both: only the owner's thread touches this count.
            let spawned = self.spawned_by_body.load(Ordering::Relaxed);
            if spawned != BODY {
                self.spawned_by_body.store(spawned + 1, Ordering::Relaxed);
                return;
            }
        }
        // Relaxed: the spawner is itself counted, so the count cannot reach zero before.
        self.unfinished.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts off `count` finished closures. The caller must wake the returned slot.
    #[must_use]
    fn count_finished(&self, count: usize) -> Option<SlotNumber> {
        let latch = &raw const self.latch;
        // AcqRel: each finisher's writes reach the last one, which passes them on through the latch.
        if count > 0 && self.unfinished.fetch_sub(count, Ordering::AcqRel) == count {
            // SAFETY: the last one to count off is the owner, or has entered its helper slot, which keeps the scope in place.
            return unsafe { Latch::set(latch) };
        }
        None
    }
}

/// The count of a body that has not ended, in place of the closures that it spawns: more than can be spawned.
const BODY: usize = 1 << (usize::BITS - 1);
