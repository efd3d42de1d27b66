//! Slots: what the threads of a pool show one another.
//!
//! A pool has a fixed number of slots. The thread in a slot pushes to its deques; any other may steal from them. A
//! slot also says what its thread executes, so that a waiter can help with what it waits for.
//!
//! # What lies where
//! - `forked`: what frames of this thread wait for, and have pushed themselves, those of each execution above those of the
//!   ones below. A thread takes a job from elsewhere only while nothing is here. So to who waits for an execution of this thread
//!   that was taken from elsewhere, all of it is a part of that.
//! - `spawned`: closures that this thread has spawned in a scope of other frames. They may be left when the execution
//!   that has pushed them has ended. All of them are of *one* scope, whose waiter may take them; see `spawned_for`.
//! - `handed`: what frames of this thread wait for, and others have pushed, or have stolen and could not use.
//! - `detached`: what nobody waits for.
//!
//! In a pool of one thread, whose order is exact, all of it is in `forked`.
//!
//! Not here: the thread's own half (`worker.rs`), what it executes (`executions.rs`), and sleeping (`sleep.rs`, `park.rs`).

use crate::executions::Executions;
use crate::job::{Awaited, JobRef, Place};
use crate::park::Parker;
use crate::sleep::{SlotState, State};
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Injector, Mutex, Ordering, Steal, Stealer};
use manyhands_system::thread_state::{self, Activity, ThreadName};
use std::collections::VecDeque;
use std::sync::PoisonError;

/// One slot, as other threads see it.
pub(crate) struct Slot {
    forked: Stealer<JobRef>,
    spawned: Stealer<JobRef>,
    spawned_for: SpawnedFor,
    detached: Stealer<JobRef>,
    pub(crate) handed: Handed,
    /// What only the thread in this slot may run.
    pub(crate) broadcasts: Injector<JobRef>,
    pub(crate) state: SlotState,
    pub(crate) parker: Parker,
    pub(crate) executions: Executions,
    /// The thread's [`ThreadName`]; 0: none.
    thread: AtomicU64,
}

impl Slot {
    pub(crate) fn new(deques: [Stealer<JobRef>; 3]) -> Self {
        let [forked, spawned, detached] = deques;
        Self {
            forked,
            spawned,
            spawned_for: SpawnedFor::default(),
            detached,
            handed: Handed::default(),
            broadcasts: Injector::new(),
            state: SlotState::default(),
            parker: Parker::default(),
            executions: Executions::default(),
            thread: AtomicU64::new(0),
        }
    }

    /// The oldest of what the thread's frames have forked.
    pub(crate) fn steal_forked(&self) -> Option<JobRef> {
        taken(|| self.forked.steal())
    }

    /// The oldest of what the thread has spawned in a scope of other frames.
    pub(crate) fn steal_spawned(&self) -> Option<JobRef> {
        taken(|| self.spawned.steal())
    }

    /// Who waits for all that the thread has spawned in a scope of other frames, as it is or was a moment ago.
    pub(crate) fn spawned_for(&self) -> Awaited {
        self.spawned_for.get()
    }

    /// The thread in the slot: whether what is awaited so may lie among what it has spawned. From now on all of that is.
    pub(crate) fn may_spawn_for(&self, awaited: Awaited) -> bool {
        if self.spawned_for.get() != awaited {
            if !self.spawned.is_empty() {
                return false;
            }
            self.spawned_for.set(awaited);
        }
        true
    }

    /// The oldest of anything that another thread may run.
    pub(crate) fn steal(&self) -> Option<JobRef> {
        self.steal_forked()
            .or_else(|| self.steal_spawned())
            .or_else(|| self.handed.take(|_| true))
            .or_else(|| taken(|| self.detached.steal()))
    }

    /// The oldest of what only the thread in this slot may run.
    pub(crate) fn take_broadcast(&self) -> Option<JobRef> {
        taken(|| self.broadcasts.steal())
    }

    /// Whether another thread may find something here.
    pub(crate) fn has_work_for_others(&self) -> bool {
        let deques = [&self.forked, &self.spawned, &self.detached];
        self.handed.has_any() || deques.iter().any(|deque| !deque.is_empty())
    }

    /// Names the thread in the slot, or says that there is none.
    pub(crate) fn set_thread(&self, thread: Option<ThreadName>) {
        // Relaxed: the name stands alone.
        self.thread.store(thread.unwrap_or(0), Ordering::Relaxed);
    }

    /// Whether the thread in the slot has work, and sleeps in it. Where the system does not say, it may.
    pub(crate) fn is_blocked(&self) -> bool {
        // Relaxed: as above.
        let thread = self.thread.load(Ordering::Relaxed);
        thread != 0
            && self.state.is(State::Awake)
            && thread_state::activity(thread).is_none_or(|activity| activity == Activity::Asleep)
    }
}

/// Who waits for all spawned closures of a slot. The thread in the slot writes it, others use it as a hint: they look at what
/// they have stolen.
#[derive(Default)]
struct SpawnedFor {
    latch: AtomicUsize,
    /// A [`Place`].
    waiter: AtomicU64,
}

impl SpawnedFor {
    fn get(&self) -> Awaited {
        Awaited {
            // Relaxed, both: a hint to others.
            latch: self.latch.load(Ordering::Relaxed),
            waiter: Place::from_bits(self.waiter.load(Ordering::Relaxed)),
        }
    }

    fn set(&self, awaited: Awaited) {
        // Relaxed, both: as above.
        self.latch.store(awaited.latch, Ordering::Relaxed);
        self.waiter
            .store(awaited.waiter.to_bits(), Ordering::Relaxed);
    }
}

/// Jobs of which one may be taken from the middle. Few come here, so it has a lock.
#[derive(Default)]
pub(crate) struct Handed {
    jobs: Mutex<VecDeque<JobRef>>,
    has_any: AtomicBool,
}

impl Handed {
    pub(crate) fn push(&self, job: JobRef) {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.push_back(job);
        // Relaxed: as for all pushes, a fence follows where somebody may sleep.
        self.has_any.store(true, Ordering::Relaxed);
    }

    /// The oldest one of whose waiter this holds.
    pub(crate) fn take(&self, is_sought: impl Fn(Awaited) -> bool) -> Option<JobRef> {
        if !self.has_any() {
            return None;
        }
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let place = jobs.iter().position(|job| is_sought(job.awaited()))?;
        let job = jobs.remove(place);
        // Relaxed: under the lock.
        self.has_any.store(!jobs.is_empty(), Ordering::Relaxed);
        job
    }

    /// Whether there is one, or was a moment ago.
    pub(crate) fn has_any(&self) -> bool {
        // Relaxed: who must not miss a push has a fence before this.
        self.has_any.load(Ordering::Relaxed)
    }
}

/// Repeats a steal that met another one.
pub(crate) fn taken(steal: impl Fn() -> Steal<JobRef>) -> Option<JobRef> {
    loop {
        match steal() {
            Steal::Success(job) => return Some(job),
            Steal::Empty => return None,
            Steal::Retry => std::hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Slot;
    use crate::job::{Awaited, HeapJob, JobRef, Place};
    use crate::sync::Deque;

    fn slot() -> Slot {
        Slot::new([(); 3].map(|()| Deque::new_lifo().stealer()))
    }

    #[expect(unsafe_code, reason = "a job of its own, performed by the test")]
    fn job(latch: usize) -> JobRef {
        let awaited = Awaited {
            latch,
            waiter: Place::lowest(0),
        };
        // SAFETY: it borrows nothing; each test performs its jobs.
        unsafe { HeapJob::job(awaited, || ()) }
    }

    #[expect(unsafe_code, reason = "as above")]
    fn perform(job: JobRef) {
        // SAFETY: 1. once. 2. The closure asks for no slot.
        unsafe { job.perform() };
    }

    #[test]
    fn what_was_handed_over_is_there_for_its_waiter_and_for_thieves() {
        let slot = slot();
        let (first, second) = (job(7), job(8));
        slot.handed.push(first);
        slot.handed.push(second);
        assert!(slot.has_work_for_others());
        assert_eq!(slot.steal_forked(), None, "its thread has not pushed it");
        assert_eq!(slot.handed.take(|awaited| awaited.latch == 9), None);
        assert_eq!(
            slot.handed.take(|awaited| awaited.latch == 8),
            Some(second),
            "also from the middle"
        );
        assert_eq!(slot.steal(), Some(first));
        assert!(!slot.has_work_for_others());
        [first, second].into_iter().for_each(perform);
    }
}
