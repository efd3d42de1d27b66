//! What the thread in a slot executes, one job on top of another.
//!
//! A thread waits in one job, and helps with another meanwhile. Each level has a record: a serial number, odd while an
//! execution runs, the latch that its waiter waits at, and the latch that it waits at itself. So a waiter finds what
//! runs for it, and what that waits for in turn, however deep that is.
//!
//! The deque of a slot is empty whenever its thread takes work from elsewhere, so all that is in it while such a job
//! runs was pushed by that job. A thief that checks *after* its steal that the execution still runs has taken a part of
//! it: the record ends before the thread pushes anything else, and the steal makes visible what came before the push.
//!
//! When that job has ended, closures of scopes may be left there, which the thread runs next. The execution of one names
//! its latch only if all that is left is awaited at the same latch. So a thief has taken a part of that, too.
//!
//! What an execution waits for, and what those on top of it wait for, is a part of it too: it cannot end before. A latch
//! that was read there is of a frame above the execution's, because each wait takes its latch's name back, and stays so
//! while the execution runs, whatever else has the same place in that frame by then.
//!
//! The records lie in segments, each twice as long as the one before. A segment is made when it is needed for the first
//! time, and kept.
//!
//! # Threads
//! The thread in the slot calls `begin`, `set_awaits` and `end`; any thread may call the others.

use crate::job::Awaited;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The records of one slot.
#[derive(Default)]
pub(crate) struct Executions {
    first: [Record; FIRST],
    more: [OnceLock<Box<[Record]>>; MORE],
}

#[derive(Default)]
struct Record {
    /// Odd while the execution runs.
    serial: AtomicU64,
    latch: AtomicUsize,
    /// The slot of the waiter, plus one; 0: none.
    waiter: AtomicUsize,
    /// The latch at which the execution itself waits; 0: it runs.
    awaits: AtomicUsize,
}

/// An execution that ran when it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Execution {
    level: usize,
    serial: u64,
}

impl Execution {
    /// Whether `other`, of the same slot, runs on top of it.
    pub(crate) fn is_below(self, other: Self) -> bool {
        self.level < other.level
    }
}

/// A slot where a part of what is waited for runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) slot: usize,
    pub(crate) execution: Execution,
    /// The link whose thread waits for it; `None`: the one that searches.
    pub(crate) waiter: Option<usize>,
}

impl Executions {
    /// The thread in the slot: begins to execute a job at `level`, on top of those below.
    pub(crate) fn begin(&self, level: usize, awaited: Awaited) {
        let record = match place_of(level) {
            (0, place) => &self.first[place],
            (segment, place) => &self.more[segment - 1].get_or_init(|| new_segment(segment))[place],
        };
        // Relaxed, all: only this thread writes; a reader that sees an old serial discards what it has read.
        record.latch.store(awaited.latch, Ordering::Relaxed);
        record.waiter.store(awaited.slot, Ordering::Relaxed);
        let serial = record.serial.load(Ordering::Relaxed);
        // Release: who sees the serial sees the rest.
        record.serial.store(serial + 1, Ordering::Release);
    }

    /// The thread in the slot: has executed the job at `level`.
    pub(crate) fn end(&self, level: usize) {
        let Some(record) = self.record(level) else {
            unreachable!("an execution has begun before it ends");
        };
        // Relaxed: only this thread writes.
        let serial = record.serial.load(Ordering::Relaxed);
        // Release: pairs with the Acquire in `runs`.
        record.serial.store(serial + 1, Ordering::Release);
    }

    /// The thread in the slot: the execution at `level`, its newest, waits at `latch`; 0: not any more.
    pub(crate) fn set_awaits(&self, level: usize, latch: usize) {
        if let Some(record) = self.record(level) {
            // Release: what was executed before is visible to who follows this.
            record.awaits.store(latch, Ordering::Release);
        }
    }

    /// The lowest execution here that is part of what is waited for at `latch`.
    pub(crate) fn find(&self, latch: usize) -> Option<Execution> {
        self.running().find_map(|(execution, record)| {
            // Relaxed: `runs` decides.
            (record.latch.load(Ordering::Relaxed) == latch).then_some(execution)
        })
    }

    /// Whether `execution`, found here, still runs.
    pub(crate) fn runs(&self, execution: Execution) -> bool {
        self.record(execution.level)
            // Acquire: what was read before this is not older than it.
            .is_some_and(|record| record.serial.load(Ordering::Acquire) == execution.serial)
    }

    /// The latches at which `execution`, found here, and those on top of it wait; none once it has ended.
    pub(crate) fn awaited_in(&self, execution: Execution) -> impl Iterator<Item = usize> {
        self.running()
            .skip(execution.level)
            // Acquire: pairs with the Release in `set_awaits`.
            .map(|(_, record)| record.awaits.load(Ordering::Acquire))
            .filter(move |latch| *latch != 0 && self.runs(execution))
    }

    /// The slots that wait for what runs here, the innermost first.
    pub(crate) fn waiters(&self) -> impl Iterator<Item = usize> {
        let depth = self.running().count();
        (0..depth).rev().filter_map(|level| {
            // Relaxed: a hint.
            let waiter = self.record(level)?.waiter.load(Ordering::Relaxed);
            waiter.checked_sub(1)
        })
    }

    /// What runs, from the lowest level up.
    fn running(&self) -> impl Iterator<Item = (Execution, &Record)> {
        (0..).map_while(|level| {
            let record = self.record(level)?;
            // Acquire: pairs with the Release in `begin`.
            let serial = record.serial.load(Ordering::Acquire);
            (serial % 2 == 1).then_some((Execution { level, serial }, record))
        })
    }

    /// The record of `level`; `None` if the thread was never there.
    fn record(&self, level: usize) -> Option<&Record> {
        match place_of(level) {
            (0, place) => Some(&self.first[place]),
            (segment, place) => self.more[segment - 1].get()?.get(place),
        }
    }
}

/// The segment of a level, and its place there.
fn place_of(level: usize) -> (usize, usize) {
    let segment = (level / FIRST + 1).ilog2();
    (segment as usize, level - FIRST * ((1 << segment) - 1))
}

fn new_segment(segment: usize) -> Box<[Record]> {
    (0..FIRST << segment).map(|_| Record::default()).collect()
}

/// The records of the first segment.
const FIRST: usize = 8;
/// Further segments: together for more levels than any stack has room for.
const MORE: usize = 24;

#[cfg(test)]
mod tests {
    use super::{Executions, FIRST, place_of};
    use crate::job::Awaited;

    fn awaited(latch: usize) -> Awaited {
        Awaited { latch, slot: 3 }
    }

    #[test]
    fn an_execution_is_found_by_its_latch_while_it_runs() {
        let executions = Executions::default();
        executions.begin(0, awaited(7));
        executions.begin(1, awaited(8));
        let outer = executions.find(7).unwrap();
        let inner = executions.find(8).unwrap();
        assert!(executions.runs(outer) && executions.runs(inner));
        assert_eq!(executions.waiters().collect::<Vec<_>>(), [2, 2]);
        executions.end(1);
        assert!(executions.runs(outer) && !executions.runs(inner));
        assert_eq!(executions.find(8), None);
        executions.begin(1, awaited(8));
        assert!(
            !executions.runs(inner),
            "another execution for the same latch"
        );
    }

    #[test]
    fn an_execution_of_any_depth_is_found() {
        const DEPTH: usize = 1000;
        let executions = Executions::default();
        for level in 0..DEPTH {
            executions.begin(level, awaited(level + 1));
        }
        let found: Vec<_> = (0..DEPTH).map(|level| executions.find(level + 1)).collect();
        assert!(
            found
                .iter()
                .all(|found| found.is_some_and(|it| executions.runs(it)))
        );
        assert_eq!(executions.waiters().count(), DEPTH);
        for level in (0..DEPTH).rev() {
            executions.end(level);
            assert_eq!(executions.find(level + 1), None);
            assert!(!executions.runs(found[level].unwrap()));
        }
    }

    #[test]
    fn waits_of_an_execution_and_of_those_on_top_are_found_while_it_runs() {
        let executions = Executions::default();
        let awaited_in = |execution| executions.awaited_in(execution).collect::<Vec<_>>();
        executions.begin(0, awaited(7));
        executions.set_awaits(0, 20);
        executions.begin(1, awaited(8));
        let (outer, inner) = (executions.find(7).unwrap(), executions.find(8).unwrap());
        assert!(outer.is_below(inner) && !inner.is_below(outer) && !inner.is_below(inner));
        assert_eq!((awaited_in(outer), awaited_in(inner)), (vec![20], vec![]));
        executions.set_awaits(1, 21);
        assert_eq!(
            (awaited_in(outer), awaited_in(inner)),
            (vec![20, 21], vec![21])
        );
        executions.set_awaits(1, 0);
        executions.end(1);
        assert_eq!((awaited_in(outer), awaited_in(inner)), (vec![20], vec![]));
        executions.set_awaits(0, 0);
        executions.end(0);
        assert_eq!(awaited_in(outer), []);
    }

    #[test]
    fn segments_follow_one_another_without_a_gap() {
        let mut expected = (0, 0);
        for level in 0..10_000 {
            assert_eq!(place_of(level), expected);
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }
}
