//! The executions of a slot: which of its entries belong to the work that its occupant has taken from elsewhere.
//!
//! An occupant runs work that it takes from elsewhere as an *execution*. A record in its slot holds a number never
//! used before, and the length of the deque when the execution began. While the record holds that number, every
//! entry of the deque at or above that length belongs to that execution or to one nested in it. A waiter relies on
//! this to steal only work that it waits for.
//!
//! # Threads
//! The occupant begins and ends executions; any thread reads the records. How the executions nest is the occupant's own.
//!
//! # Protocol
//! The occupant changes a record before it exposes anything later. A thief reads the record, takes an entry, and
//! reads the record again. If the record still holds the number, the entry belongs to that execution.

use crate::job::{ExecutionId, SlotNumber};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::cell::Cell;

/// The records of one slot.
#[derive(Debug, Default)]
pub(crate) struct Executions {
    records: [Record; ExecutionId::LEVELS],
}

/// The occupant's own part of it, which no other thread reads.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    /// How many it runs, one on top of the other.
    level: Cell<usize>,
    /// How many it has begun.
    sequence: Cell<u64>,
}

#[derive(Debug, Default)]
struct Record {
    /// Which execution holds the record, or 0.
    id: AtomicU64,
    deque_from: AtomicUsize,
    calls_from: AtomicUsize,
}

/// Where the work of an execution begins in its slot; by default, all that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Extent {
    pub(crate) deque_from: usize,
    pub(crate) calls_from: usize,
}

/// The result of an attempt to take a part of an execution.
#[must_use]
pub(crate) enum Taken<T> {
    /// A part of it.
    Part(T),
    /// An entry that may belong to another execution: it must be passed on untouched.
    Foreign(T),
    /// The execution runs, and there is nothing to take.
    Nothing,
    /// The execution is over.
    Over,
}

impl Executions {
    /// Occupant of slot `slot`: begins an execution, to which belongs what is pushed and opened from now on.
    pub(crate) fn begin(&self, nesting: &Nesting, slot: SlotNumber, from: Extent) -> ExecutionId {
        let level = nesting.level.get();
        nesting.level.set(level + 1);
        let Some(record) = self.records.get(level) else {
            return ExecutionId::UNKNOWN;
        };
        nesting.sequence.set(nesting.sequence.get() + 1);
        let id = ExecutionId::new(slot, level, nesting.sequence.get());
        // Relaxed, both: published by the store of the id.
        record.deque_from.store(from.deque_from, Ordering::Relaxed);
        record.calls_from.store(from.calls_from, Ordering::Relaxed);
        // A thread that reads the id sees the two numbers above.
        record.publish(id.to_bits());
        id
    }

    /// Occupant: ends the newest execution, before it pushes or opens anything else.
    pub(crate) fn end(&self, nesting: &Nesting) {
        let level = nesting.level.get() - 1;
        nesting.level.set(level);
        if let Some(record) = self.records.get(level) {
            // Entries pushed later are published after this, so a thief that takes one of them and reads the
            // record again sees that the execution is over.
            record.publish(0);
        }
    }

    /// The number of the outermost, or 0: a hint.
    pub(crate) fn outermost(&self) -> u64 {
        // Relaxed: a hint.
        self.records[0].id.load(Ordering::Relaxed)
    }

    /// Takes an entry with `take`, which may look for it at or above the given extent, and checks whether it belongs
    /// to execution `id`.
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
            calls_from: record.calls_from.load(Ordering::Relaxed),
        };
        self.is_running(id).then_some(extent)
    }

    /// Whether execution `id` still runs. Once false, it stays false.
    pub(crate) fn is_running(&self, id: ExecutionId) -> bool {
        // AcqRel: an exchange that changes nothing reads the newest value and orders what was read before
        // it; a plain load could be satisfied before the caller's earlier loads.
        self.records[id.level()].id.fetch_or(0, Ordering::AcqRel) == id.to_bits()
    }
}

impl Nesting {
    /// How many run, one on top of the other.
    pub(crate) fn level(&self) -> usize {
        self.level.get()
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
            // Release: earlier writes of the occupant are visible to a thread that reads this; pairs with the
            // exchange in `is_running`.
            self.id.store(id, Ordering::Release);
        }
    }
}
