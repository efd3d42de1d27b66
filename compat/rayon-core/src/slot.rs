//! Slots: what the threads of a pool show one another.
//!
//! A pool has a fixed number of slots. The thread in a slot pushes to its deques; any other may steal from them. A
//! slot also says what its thread executes and waits for, so that a waiter can help with what it waits for.
//!
//! Not here: the thread's own half (`worker.rs`), what it executes (`executions.rs`), and sleeping (`sleep.rs`).

use crate::executions::Executions;
use crate::job::JobRef;
use crate::sleep::{Parker, SlotState, State};
use crossbeam_deque::{Injector, Steal, Stealer};
use manyhands::facade::ThreadName;
use std::sync::atomic::{AtomicU64, Ordering};

/// One slot, as other threads see it.
pub(crate) struct Slot {
    /// Second halves of joins, closures of scopes, work from elsewhere.
    deque: Stealer<JobRef>,
    /// Detached closures.
    detached: Stealer<JobRef>,
    /// What was stolen from the deque by a thread that could not use it.
    returned: Injector<JobRef>,
    /// What only the thread in this slot may run.
    pub(crate) broadcasts: Injector<JobRef>,
    pub(crate) state: SlotState,
    pub(crate) parker: Parker,
    pub(crate) executions: Executions,
    /// The thread's [`ThreadName`]; 0: none.
    thread: AtomicU64,
}

impl Slot {
    pub(crate) fn new(deque: Stealer<JobRef>, detached: Stealer<JobRef>) -> Self {
        Self {
            deque,
            detached,
            returned: Injector::new(),
            broadcasts: Injector::new(),
            state: SlotState::default(),
            parker: Parker::default(),
            executions: Executions::default(),
            thread: AtomicU64::new(0),
        }
    }

    /// The oldest of what the thread's frames have forked.
    pub(crate) fn steal_forked(&self) -> Option<JobRef> {
        taken(|| self.deque.steal())
    }

    /// The oldest of anything that another thread may run.
    pub(crate) fn steal(&self) -> Option<JobRef> {
        self.steal_forked()
            .or_else(|| self.take_returned())
            .or_else(|| taken(|| self.detached.steal()))
    }

    /// Gives back a job that was stolen here. The thread in this slot may wait for it, and look for it here only.
    pub(crate) fn give_back(&self, job: JobRef) {
        self.returned.push(job);
    }

    /// The oldest of what was given back.
    pub(crate) fn take_returned(&self) -> Option<JobRef> {
        taken(|| self.returned.steal())
    }

    /// The oldest of what only the thread in this slot may run.
    pub(crate) fn take_broadcast(&self) -> Option<JobRef> {
        taken(|| self.broadcasts.steal())
    }

    /// Whether another thread may find something here.
    pub(crate) fn has_work_for_others(&self) -> bool {
        !(self.deque.is_empty() && self.returned.is_empty() && self.detached.is_empty())
    }

    /// Names the thread in the slot, or says that there is none.
    pub(crate) fn set_thread(&self, thread: Option<ThreadName>) {
        // Relaxed: the name stands alone.
        self.thread
            .store(thread.map_or(0, ThreadName::to_bits), Ordering::Relaxed);
    }

    /// Whether the thread in the slot has work, and sleeps in it. Where the system does not say, it may.
    pub(crate) fn is_blocked(&self) -> bool {
        // Relaxed: as above.
        let thread = self.thread.load(Ordering::Relaxed);
        thread != 0
            && self.state.is(State::Awake)
            && ThreadName::from_bits(thread).is_asleep().unwrap_or(true)
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
    use crate::job::{Awaited, HeapJob};
    use crossbeam_deque::Worker as Deque;

    fn slot() -> Slot {
        Slot::new(Deque::new_lifo().stealer(), Deque::new_lifo().stealer())
    }

    #[test]
    #[expect(unsafe_code, reason = "a job of its own, taken back before it is lost")]
    fn what_was_given_back_is_there_for_the_owner_and_for_thieves() {
        let slot = slot();
        // SAFETY: it borrows nothing; it is performed below.
        let job = unsafe { HeapJob::job(Awaited::NOBODY, || ()) };
        slot.give_back(job);
        assert!(slot.has_work_for_others());
        assert_eq!(slot.steal(), Some(job));
        slot.give_back(job);
        assert_eq!(slot.steal_forked(), None, "it is no part of what runs here");
        assert_eq!(slot.take_returned(), Some(job));
        // SAFETY: 1. once. 2. The closure asks for no slot.
        unsafe { job.perform() };
    }
}
