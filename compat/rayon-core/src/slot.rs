//! Slots: what the threads of a pool show one another.
//!
//! A pool has a fixed number of slots. The thread in a slot pushes to its deques; any other may steal from them. A
//! slot also says what its thread executes and what it waits for, so that a waiter can help with what it waits for.
//!
//! # Executions
//! A thread in a slot executes jobs on top of one another: it waits in one, and helps with another. Each level has a
//! record: a serial number, odd while an execution runs, and the latch that its waiter waits at. The deque of a slot
//! is empty whenever its thread takes work from elsewhere, so all that is in it while such a job runs was pushed by
//! that job. A thief that checks *after* its steal that the execution still runs has taken a part of it: the record
//! ends before the thread pushes anything else, and the steal makes visible what came before the push.
//!
//! Not here: the thread's own half (`worker.rs`), and sleeping (`sleep.rs`).

use crate::job::{Awaited, JobRef};
use crate::sleep::{Parker, SlotState, State};
use crossbeam_deque::{Injector, Steal, Stealer};
use manyhands::facade::ThreadName;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

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
    executions: [Record; LEVELS],
    /// The latch at which the thread waits in its newest frame; 0: none.
    awaiting: AtomicUsize,
    /// The thread's [`ThreadName`]; 0: none.
    thread: AtomicU64,
}

/// Executions that are recorded on top of one another; nobody helps with deeper ones.
const LEVELS: usize = 8;

#[derive(Default)]
struct Record {
    /// Odd while the execution runs.
    serial: AtomicU64,
    latch: AtomicUsize,
    /// The slot of the waiter, plus one; 0: none.
    waiter: AtomicUsize,
}

/// An execution that ran when it was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Execution {
    pub(crate) slot: usize,
    level: usize,
    serial: u64,
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
            executions: Default::default(),
            awaiting: AtomicUsize::new(0),
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

    /// The thread in the slot: begins to execute a job at `level`.
    pub(crate) fn begin_execution(&self, level: usize, awaited: Awaited) {
        let Some(record) = self.executions.get(level) else {
            return;
        };
        // Relaxed, all: only this thread writes; a reader that sees an old serial discards what it has read.
        record.latch.store(awaited.latch, Ordering::Relaxed);
        record.waiter.store(awaited.slot, Ordering::Relaxed);
        let serial = record.serial.load(Ordering::Relaxed);
        // Release: who sees the serial sees the rest.
        record.serial.store(serial + 1, Ordering::Release);
    }

    /// The thread in the slot: has executed it.
    pub(crate) fn end_execution(&self, level: usize) {
        let Some(record) = self.executions.get(level) else {
            return;
        };
        // Relaxed: only this thread writes.
        let serial = record.serial.load(Ordering::Relaxed);
        // Release: pairs with the Acquire in `runs`.
        record.serial.store(serial + 1, Ordering::Release);
    }

    /// An execution here that is part of what is waited for at `latch`. `slot` is this slot's number.
    pub(crate) fn execution_for(&self, slot: usize, latch: usize) -> Option<Execution> {
        self.executions
            .iter()
            .enumerate()
            .find_map(|(level, record)| {
                // Acquire: pairs with the Release in `begin_execution`.
                let serial = record.serial.load(Ordering::Acquire);
                // Relaxed: `runs` decides.
                let is_it = serial % 2 == 1 && record.latch.load(Ordering::Relaxed) == latch;
                is_it.then_some(Execution {
                    slot,
                    level,
                    serial,
                })
            })
    }

    /// Whether `execution`, found here, still runs.
    pub(crate) fn runs(&self, execution: Execution) -> bool {
        // Acquire: what was read before this is not older than it.
        self.executions[execution.level]
            .serial
            .load(Ordering::Acquire)
            == execution.serial
    }

    /// The slots that wait for what runs here, the innermost first.
    pub(crate) fn waiters(&self) -> impl Iterator<Item = usize> {
        self.executions.iter().rev().filter_map(|record| {
            // Relaxed, both: a hint.
            let runs = record.serial.load(Ordering::Relaxed) % 2 == 1;
            let waiter = record.waiter.load(Ordering::Relaxed);
            (runs && waiter != 0).then(|| waiter - 1)
        })
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

    /// The thread in the slot: says where it waits; 0: nowhere.
    pub(crate) fn set_awaiting(&self, latch: usize) {
        // Release: what was executed before is visible to who follows this.
        self.awaiting.store(latch, Ordering::Release);
    }

    /// Where the thread waits.
    pub(crate) fn awaiting(&self) -> usize {
        // Acquire: pairs with the Release in `set_awaiting`.
        self.awaiting.load(Ordering::Acquire)
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
    fn an_execution_is_found_by_its_latch_while_it_runs() {
        let slot = slot();
        let awaited = |latch| Awaited { latch, slot: 3 };
        slot.begin_execution(0, awaited(7));
        slot.begin_execution(1, awaited(8));
        let outer = slot.execution_for(5, 7).unwrap();
        let inner = slot.execution_for(5, 8).unwrap();
        assert!(slot.runs(outer) && slot.runs(inner));
        assert_eq!(
            (inner.slot, slot.waiters().collect::<Vec<_>>()),
            (5, vec![2, 2])
        );
        slot.end_execution(1);
        assert!(slot.runs(outer) && !slot.runs(inner));
        assert!(slot.execution_for(5, 8).is_none());
        slot.begin_execution(1, awaited(8));
        assert!(!slot.runs(inner), "another execution for the same latch");
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
