//! The executions of a slot: which part of its work belongs to what its occupant has taken from elsewhere.
//!
//! Whatever an occupant takes from elsewhere runs as an *execution*: a record of its slot that holds a number
//! never used before, and how long the deque was when it began. Every entry of the deque at or above that
//! length belongs to that execution or to one nested in it, for as long as the record holds that number. That is
//! what a waiter relies on when it steals only what it waits for.
//!
//! # Threads
//! The occupant begins and ends executions; any thread looks.
//!
//! # Protocol
//! A record changes before anything later is exposed. A thief looks at the record, takes something, and looks
//! again: if the record still holds the number, what it has taken belongs to that execution.

use crate::job::{ExecutionId, SlotNumber};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::cell::Cell;

/// The records of one slot.
#[derive(Debug)]
pub(crate) struct Executions {
    records: [Record; ExecutionId::LEVELS],
    /// By the thread in the slot: how many it runs, one on top of the other.
    level: Cell<usize>,
    /// By the thread in the slot: how many it has begun.
    sequence: Cell<u64>,
}

#[derive(Debug)]
struct Record {
    /// Which execution holds the record, or 0.
    id: AtomicU64,
    deque_from: AtomicUsize,
    slots_from: AtomicUsize,
}

/// Where the work of an execution begins in its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) deque_from: usize,
    pub(crate) slots_from: usize,
}

/// What came of an attempt to take a part of an execution.
#[derive(Debug)]
#[must_use]
pub(crate) enum Taken<T> {
    /// A part of it.
    Part(T),
    /// Something that may belong to another: it must be given back untouched.
    Foreign(T),
    /// The execution runs, and there is nothing to take.
    Nothing,
    /// The execution is over.
    Over,
}

impl Executions {
    /// None runs.
    pub(crate) fn new() -> Self {
        Self {
            records: std::array::from_fn(|_| Record {
                id: AtomicU64::new(0),
                deque_from: AtomicUsize::new(0),
                slots_from: AtomicUsize::new(0),
            }),
            level: Cell::new(0),
            sequence: Cell::new(0),
        }
    }

    /// By the thread in slot `slot`: begins an execution, to which belongs what is pushed and opened from now on.
    pub(crate) fn begin(&self, slot: SlotNumber, from: Extent) -> ExecutionId {
        let level = self.level.get();
        self.level.set(level + 1);
        let Some(record) = self.records.get(level) else {
            return ExecutionId::UNKNOWN;
        };
        self.sequence.set(self.sequence.get() + 1);
        let id = ExecutionId::new(slot, level, self.sequence.get());
        // Relaxed, both: published by the store of the id.
        record.deque_from.store(from.deque_from, Ordering::Relaxed);
        record.slots_from.store(from.slots_from, Ordering::Relaxed);
        // Who reads the id finds the two numbers above.
        record.publish(id.to_bits());
        id
    }

    /// By the thread in the slot: ends the newest execution, before it pushes or opens anything else.
    pub(crate) fn end(&self) {
        let level = self.level.get() - 1;
        self.level.set(level);
        if let Some(record) = self.records.get(level) {
            // Entries pushed later are published after this, so whoever takes one of them and looks here again
            // finds that the execution is over.
            record.publish(0);
        }
    }

    /// By the thread in the slot: how many run, one on top of the other.
    pub(crate) fn level(&self) -> usize {
        self.level.get()
    }

    /// The number of the outermost, or 0: a hint.
    pub(crate) fn outermost(&self) -> u64 {
        // Relaxed: a hint.
        self.records[0].id.load(Ordering::Relaxed)
    }

    /// Takes something with `take`, which may look for it from the given places on, and finds out whether it
    /// belongs to execution `id`.
    pub(crate) fn take_part<T>(
        &self,
        id: ExecutionId,
        take: impl FnOnce(Extent) -> Option<T>,
    ) -> Taken<T> {
        let Some(extent) = self.extent(id) else {
            return Taken::Over;
        };
        match take(extent) {
            Some(taken) if self.is_running(id) => Taken::Part(taken),
            Some(taken) => Taken::Foreign(taken),
            None => Taken::Nothing,
        }
    }

    /// Where the work of execution `id` begins, if it still runs.
    fn extent(&self, id: ExecutionId) -> Option<Extent> {
        let record = &self.records[id.level()];
        let extent = Extent {
            // Relaxed, both: checked by `is_running` below.
            deque_from: record.deque_from.load(Ordering::Relaxed),
            slots_from: record.slots_from.load(Ordering::Relaxed),
        };
        self.is_running(id).then_some(extent)
    }

    /// Whether execution `id` still runs. Once false, false for ever.
    pub(crate) fn is_running(&self, id: ExecutionId) -> bool {
        // AcqRel: an exchange that changes nothing reads the newest value and orders what was read before
        // it; a plain load could be satisfied before the caller's earlier loads.
        self.records[id.level()].id.fetch_or(0, Ordering::AcqRel) == id.to_bits()
    }
}

impl Record {
    #[inline]
    fn publish(&self, id: u64) {
        if cfg!(loom) {
            // Release: as below. loom does not know that a store comes after an exchange that read the value
            // before it, and so would see that value again.
            self.id.swap(id, Ordering::Release);
        } else {
            // Release: what the occupant has written before is visible to who reads this; pairs with the
            // exchange in `is_running`.
            self.id.store(id, Ordering::Release);
        }
    }
}
