//! What the thread in a slot executes, one job on top of another.
//!
//! A thread waits in one job, and helps with another meanwhile. Each level has a record: a serial number, odd while an
//! execution runs, and who waits for it: a latch, and the [`Place`] of the frame that waits there.
//!
//! A job is a *part* of an execution if a frame on top of that waits for it, or will: the execution cannot end before. So
//! the place says it all: it is in the execution's slot, and higher. What runs elsewhere for such a frame is a part, too, with
//! its own parts, however long that chain is.
//!
//! Places of frames that have gone say nothing. But who has a job in its hands, not performed, knows that the frame that waits
//! for it is there; if an execution below that frame still runs, then that is the one which was found, and the job is a
//! part of it (held by `tests/models/places.rs`).
//!
//! The records lie in segments, each twice as long as the one before. A segment is made when it is needed for the first
//! time, and kept.
//!
//! # Threads
//! The thread in the slot calls `begin` and `end`; any thread may call the others.

use crate::job::{Awaited, Place};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;

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
    /// A [`Place`].
    waiter: AtomicU64,
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
    /// The link that it is a part of; `None`: the thread that searches waits for it.
    pub(crate) whole: Option<usize>,
}

impl Link {
    /// Whether a frame in `place` is on top of this execution, if that runs.
    pub(crate) fn carries(&self, place: Place) -> bool {
        place.slot() == Some(self.slot) && place.level() > self.execution.level
    }
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
        record
            .waiter
            .store(awaited.waiter.to_bits(), Ordering::Relaxed);
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

    /// The lowest execution here of whose waiter this holds.
    pub(crate) fn find(&self, is_sought: impl Fn(Awaited) -> bool) -> Option<Execution> {
        let mut running = self.running();
        let found = running.find(|(_, record)| is_sought(record.awaited()));
        found.map(|(execution, _)| execution)
    }

    /// Whether `execution`, found here, still runs.
    pub(crate) fn runs(&self, execution: Execution) -> bool {
        self.record(execution.level)
            // Acquire: what was read before this is not older than it.
            .is_some_and(|record| record.serial.load(Ordering::Acquire) == execution.serial)
    }

    /// The slots that wait for what runs here, the innermost first.
    pub(crate) fn waiters(&self) -> impl Iterator<Item = usize> {
        let depth = self.running().count();
        let record = |level| self.record(level);
        (0..depth)
            .rev()
            .filter_map(move |level| record(level)?.awaited().waiter.slot())
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

impl Record {
    /// Who waits, or waited at this level before.
    fn awaited(&self) -> Awaited {
        Awaited {
            // Relaxed, both: the serial decides whether they are of one execution.
            latch: self.latch.load(Ordering::Relaxed),
            waiter: Place::from_bits(self.waiter.load(Ordering::Relaxed)),
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
    use super::{Execution, Executions, FIRST, Link, place_of};
    use crate::job::{Awaited, Place};

    fn awaited(latch: usize) -> Awaited {
        Awaited {
            latch,
            waiter: Place::lowest(2),
        }
    }

    fn find(executions: &Executions, latch: usize) -> Option<Execution> {
        executions.find(|awaited| awaited.latch == latch)
    }

    #[test]
    fn an_execution_is_found_by_its_latch_while_it_runs() {
        let executions = Executions::default();
        executions.begin(0, awaited(7));
        executions.begin(1, awaited(8));
        let outer = find(&executions, 7).unwrap();
        let inner = find(&executions, 8).unwrap();
        assert!(outer.is_below(inner) && !inner.is_below(outer) && !inner.is_below(inner));
        assert!(executions.runs(outer) && executions.runs(inner));
        assert_eq!(executions.waiters().collect::<Vec<_>>(), [2, 2]);
        executions.end(1);
        assert!(executions.runs(outer) && !executions.runs(inner));
        assert_eq!(find(&executions, 8), None);
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
        let found: Vec<_> = (1..=DEPTH).map(|latch| find(&executions, latch)).collect();
        assert!(
            found
                .iter()
                .all(|found| found.is_some_and(|it| executions.runs(it)))
        );
        assert_eq!(executions.waiters().count(), DEPTH);
        for level in (0..DEPTH).rev() {
            executions.end(level);
            assert_eq!(find(&executions, level + 1), None);
            assert!(!executions.runs(found[level].unwrap()));
        }
    }

    #[test]
    fn an_execution_carries_the_frames_on_top_of_it_in_its_own_slot() {
        let executions = Executions::default();
        executions.begin(0, awaited(7));
        executions.begin(1, awaited(8));
        let link = Link {
            slot: 4,
            execution: find(&executions, 8).unwrap(),
            whole: None,
        };
        let below = Place::lowest(4).above();
        let on_top = below.above();
        let carried = [below, on_top, on_top.above()].map(|place| link.carries(place));
        assert_eq!(carried, [false, true, true]);
        assert!(!link.carries(Place::lowest(5).above().above()));
        assert_eq!(Place::from_bits(on_top.to_bits()), on_top);
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
