//! The closures of one scope: queued until somebody takes them, counted until they have finished, and waited
//! for by the scope's owner.
//!
//! Not here: who runs them (`scope.rs`), and how the owner waits (`wait.rs`).
//!
//! # Threads
//! The owner calls `settle_body`, `is_over`, `fall_asleep` and `is_asleep`; whoever runs closures, or is inside
//! one of them, calls the rest. Whoever brings the count to zero is the owner or holds a pin on the scope's
//! helper_slot, which keeps all this in place.
//!
//! # Counting
//! One by one it would cost a fight over the count for each closure. So what the owner spawns while the body
//! runs is counted by the owner alone and settled when the body ends; until then a large number stands for it,
//! so that the count cannot reach zero. And who runs closures counts them off together.
//!
//! # Ordering
//! S1: the owner announces that it sleeps, then looks at the queue; who pushes a closure looks afterwards
//! whether the owner sleeps. These four steps are SeqCst, so either the owner finds the closure and does not
//! sleep, or the pusher finds the owner asleep and wakes it. So the owner never sleeps while there is
//! something that it could run, and no helper need stay for what is left.
//!
//! Where the queue is not empty but nothing can be taken, a pusher or another taker is between two steps. The
//! owner then sleeps for a moment at a time: a spin could keep that very thread from the processor.
//!
//! Unsafe: closures are queued by pointer, and the latch may be gone once it is set.

use crate::job::{Latch, SlotNumber};
use crate::queue::{Linked, TaskQueue};
use crate::runtime::HelperSlot;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// A scope's closures.
#[derive(Debug)]
pub(crate) struct Closures<J> {
    queue: TaskQueue<J>,
    unfinished: AtomicUsize,
    /// Spawned by the owner while the body runs; afterwards `SETTLED`. Only the owner's thread touches it.
    spawned_by_body: AtomicUsize,
    latch: Latch,
}

/// Who spawns.
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
    /// Not at all: what it waits for has happened.
    No,
    /// For a moment: somebody is between two steps.
    Brief,
    /// Until it is woken.
    Long,
}

impl Rest {
    /// Long, unless what is waited for has happened.
    pub(crate) fn long_if(is_asleep: bool) -> Self {
        if is_asleep { Self::Long } else { Self::No }
    }

    /// Parks for as long as it says; who is waited for unparks the thread when `is_asleep` has become false.
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
            queue: TaskQueue::new(),
            unfinished: AtomicUsize::new(BODY),
            spawned_by_body: AtomicUsize::new(0),
            latch: Latch::new(),
        }
    }

    /// Counts and queues a closure. The caller must wake the returned slot.
    ///
    /// # Safety
    /// `job` is valid until it is taken, and is in no queue.
    #[must_use]
    pub(crate) unsafe fn push(&self, job: *mut J, spawner: Spawner) -> Option<SlotNumber> {
        self.count_spawned(spawner);
        // SAFETY: as the caller promises.
        unsafe { self.queue.push(job) };
        match spawner {
            // It is awake.
            Spawner::Owner => None,
            Spawner::Other => self.rouse(),
        }
    }

    /// Owner, when the body has ended: from now on the count is of closures alone.
    pub(crate) fn settle_body(&self) {
        // Relaxed, both: only the owner's thread touches this count.
        let spawned = self.spawned_by_body.load(Ordering::Relaxed);
        self.spawned_by_body.store(SETTLED, Ordering::Relaxed);
        let sleeper = self.count_finished(BODY - spawned);
        debug_assert_eq!(sleeper, None, "the owner is awake");
    }

    /// Runs queued closures until none can be taken just now, or `max` have been run, and counts them off;
    /// `wake` is given the slot to wake. Returns whether there was one.
    pub(crate) fn run_queued(
        &self,
        max: usize,
        mut run: impl FnMut(*mut J),
        wake: impl FnOnce(SlotNumber),
    ) -> bool {
        let mut finished = 0;
        while finished < max
            && let Some(taken) = self.queue.take(1)
        {
            finished += 1;
            run(taken.first);
        }
        self.count_finished(finished).map(wake);
        finished > 0
    }

    /// Helper, about to leave the helper_slot where it came in: has others come for what is left. The caller must wake
    /// the returned slot.
    #[must_use]
    pub(crate) fn leave(&self, helper_slot: &HelperSlot) -> Option<SlotNumber> {
        if self.queue.is_empty() {
            return None;
        }
        // Left because others wait, or pushed since, or half pushed, or just being taken.
        helper_slot.invite();
        // An owner that sleeps for a moment need not sleep to the end of it.
        self.rouse()
    }

    /// Whether the owner would find something to run, now or in a moment.
    pub(crate) fn is_any_queued(&self) -> bool {
        !self.queue.is_empty()
    }

    /// How often who wanted a closure found another taker at work.
    #[cfg(not(loom))]
    pub(crate) fn contentions(&self) -> u64 {
        self.queue.contentions()
    }

    /// Owner: whether every closure has finished; if so, all they did is visible.
    pub(crate) fn is_over(&self) -> bool {
        self.latch.is_final()
    }

    /// Owner: announces that it is about to sleep; how it is to.
    pub(crate) fn fall_asleep(&self, slot: SlotNumber) -> Rest {
        if !self.latch.fall_asleep(slot) {
            Rest::No
        } else if self.queue.is_empty() {
            Rest::Long
        } else {
            Rest::Brief
        }
    }

    /// Owner, after it fell asleep: whether nobody has anything for it.
    pub(crate) fn is_asleep(&self) -> bool {
        self.latch.is_asleep()
    }

    /// Wakes an owner that sleeps.
    fn rouse(&self) -> Option<SlotNumber> {
        // S1: after the push, or after a look that found the queue not empty.
        self.latch.rouse()
    }

    fn count_spawned(&self, spawner: Spawner) {
        if spawner == Spawner::Owner {
            // Relaxed, both: only the owner's thread touches this count.
            let spawned = self.spawned_by_body.load(Ordering::Relaxed);
            if spawned != SETTLED {
                self.spawned_by_body.store(spawned + 1, Ordering::Relaxed);
                return;
            }
        }
        // Relaxed: the spawner is itself counted, so the count cannot reach zero before.
        self.unfinished.fetch_add(1, Ordering::Relaxed);
    }

    /// So many of the counted have finished. The caller must wake the returned slot.
    #[must_use]
    fn count_finished(&self, count: usize) -> Option<SlotNumber> {
        let latch = &raw const self.latch;
        // AcqRel: each finisher's writes reach the last one, which passes them on through the latch.
        if count > 0 && self.unfinished.fetch_sub(count, Ordering::AcqRel) == count {
            // SAFETY: the last one to count off is the owner, or holds a pin that keeps the scope in place.
            return unsafe { Latch::set(latch) };
        }
        None
    }
}

/// Stands for the body and what it spawns until it has ended: more than can be spawned.
const BODY: usize = 1 << (usize::BITS - 1);
/// The body has ended.
const SETTLED: usize = usize::MAX;
