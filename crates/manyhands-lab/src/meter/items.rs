//! When the items of a call end, as the arm says itself.
//!
//! # Threads
//! Any thread may say that an item has ended. The thread that began the record reads it after the call.

use crate::{clock::Stopwatch, record::ItemEnds};
use std::sync::{
    OnceLock,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// An arm says that one of its items has ended. With `--memory` the reports then have when the first, each
/// hundredth and the last item of a call ended, unless it has more than about a million of them.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// use manyhands_lab::{Case, meter::item_ended};
///
/// let case = Case::returning("sums").full_sizes([100]).arm("for", |n| {
///     parallel::for_each(0..n, |index| {
///         std::hint::black_box((0..index).sum::<usize>());
///         item_ended();
///     });
///     n
/// });
/// # drop(case);
/// ```
///
/// # Cost
/// A nanosecond where nothing is recorded, which is so whenever a call is timed. Else about 50 ns.
pub fn item_ended() {
    if let Some(record) = RECORD.get() {
        record.add();
    }
}

/// Room for the ends of the items of one call.
#[derive(Debug)]
pub(crate) struct ItemRecord {
    watch: Stopwatch,
    nanos: Box<[AtomicU64]>,
    ended: AtomicUsize,
}

impl ItemRecord {
    /// Makes room for this many items, or for [`ITEMS_MAX`]. All of the memory is written, so that it is
    /// resident before a measurement of memory begins.
    pub(crate) fn with_room(items: usize) -> Self {
        let room = 0..items.min(ITEMS_MAX);
        Self {
            watch: Stopwatch::start(),
            nanos: room.map(|_| AtomicU64::new(u64::MAX)).collect(),
            ended: AtomicUsize::new(0),
        }
    }

    /// Begins to record in this process; `None` if it has recorded a call before.
    pub(crate) fn begin(mut self) -> Option<&'static Self> {
        self.watch = Stopwatch::start();
        RECORD.set(self).ok()?;
        RECORD.get()
    }

    /// What was recorded; `None` if no item has ended, or more than there was room for.
    pub(crate) fn ends(&self) -> Option<ItemEnds> {
        // `Relaxed`: the call has waited for its items before it returned, which orders this after them.
        let ended = self.ended.load(Ordering::Relaxed);
        let recorded = self.nanos.get(..ended)?.iter();
        // `Relaxed`: as above.
        ItemEnds::of(recorded.map(|one| one.load(Ordering::Relaxed)).collect())
    }

    fn add(&self) {
        let nanos = u64::try_from(self.watch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        // `Relaxed`: only the number counts; each thread gets a place of its own.
        let place = self.ended.fetch_add(1, Ordering::Relaxed);
        if let Some(one) = self.nanos.get(place) {
            // `Relaxed`: who reads it is ordered after the call.
            one.store(nanos, Ordering::Relaxed);
        }
    }
}

/// More items are not recorded: the record of these takes 8 MiB.
const ITEMS_MAX: usize = 1 << 20;
/// The record of this process. A process records one call, so nothing ends a record.
static RECORD: OnceLock<ItemRecord> = OnceLock::new();

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn every_thread_s_items_are_recorded_all_or_none() {
        let record = ItemRecord::with_room(100);
        assert_eq!(record.ends(), None);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..20).for_each(|_| record.add()));
            }
        });
        let ends = record.ends().unwrap();
        assert_eq!((ends.items, ends.percentiles_nanos.len()), (80, 101));
        assert!(ends.percentiles_nanos.is_sorted());
        assert!(ends.at(100) < Some(u64::MAX));
        (0..50).for_each(|_| record.add());
        assert_eq!(record.ends(), None);
    }
}
