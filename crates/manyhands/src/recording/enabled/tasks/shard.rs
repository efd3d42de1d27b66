//! A shard of the table of recorded tasks: places, each with a record.
//!
//! Not here: the lock of a shard (`shared_shard.rs`), which shard a task is in (`table.rs`), and what is recorded of one
//! (`record.rs`).

use crate::recording::enabled::tasks::task_number::PLACES_MAX;
use crate::recording::enabled::{Record, TaskNumber};
use std::ops::Range;

/// A scan for changes reads eight versions per cache line and only touches changed records.
#[derive(Debug)]
pub(crate) struct Shard {
    places: Vec<Usage>,
    /// One for each place; `None` if that is free.
    records: Vec<Option<Record>>,
    free: Vec<usize>,
}

#[derive(Debug, Default)]
struct Usage {
    uses: u32,
    /// [`IS_USED`], and above it a count of changes. It starts again behind the highest number: a reader sees no change
    /// only if there were exactly 2^31, or a multiple of that, between two of its looks.
    version: u32,
}

impl Usage {
    fn is_used(&self) -> bool {
        self.version & IS_USED != 0
    }

    /// Whether the record of this number is there.
    fn is_of(&self, number: TaskNumber) -> bool {
        self.is_used() && self.uses == number.uses()
    }
}

impl Shard {
    pub(crate) const fn empty() -> Self {
        Self {
            places: Vec::new(),
            records: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a record to this shard, which is the `shard`-th. `None` if it is full.
    #[inline]
    pub(crate) fn insert(&mut self, shard: usize, record: Record) -> Option<TaskNumber> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.places.len() >= PLACES_MAX => return None,
            None => {
                self.places.push(Usage::default());
                self.records.push(None);
                self.places.len() - 1
            }
        };
        let usage = &mut self.places[place];
        usage.uses = usage.uses.wrapping_add(1).max(1);
        usage.version |= IS_USED;
        self.records[place] = Some(record);
        Some(TaskNumber::new(usage.uses, place, shard))
    }

    /// Changes a record, if the task is still there.
    #[inline]
    pub(crate) fn change<R>(
        &mut self,
        number: TaskNumber,
        change: impl FnOnce(&mut Record) -> R,
    ) -> Option<R> {
        let place = number.place();
        let usage = self.places.get_mut(place)?;
        let record = self.records[place].as_mut();
        let record = record.filter(|_| usage.is_of(number))?;
        usage.version = usage.version.wrapping_add(IS_USED << 1);
        Some(change(record))
    }

    /// Whether the task has not ended.
    pub(crate) fn is_there(&self, number: TaskNumber) -> bool {
        let usage = self.places.get(number.place());
        usage.is_some_and(|usage| usage.is_of(number))
    }

    /// How many records there are.
    #[cfg(unix)]
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Calls `see` for each record in these places of the shard, which is the `shard`-th. False: there are none behind them.
    pub(crate) fn for_each_entry(
        &self,
        shard: usize,
        places: Range<usize>,
        mut see: impl FnMut(&Entry<'_>),
    ) -> bool {
        let end = places.end.min(self.places.len());
        for place in places.start..end {
            let usage = &self.places[place];
            if usage.is_used() {
                see(&Entry {
                    number: TaskNumber::new(usage.uses, place, shard),
                    version: usage.version,
                    record: &self.records[place],
                });
            }
        }
        end < self.places.len()
    }

    /// Takes out the record of this number, and its place is free.
    pub(crate) fn take(&mut self, number: TaskNumber) -> Option<Record> {
        if !self.is_there(number) {
            return None;
        }
        let place = number.place();
        self.places[place].version &= !IS_USED;
        self.free.push(place);
        self.records[place].take()
    }
}

/// A record that has not been looked at yet.
#[derive(Debug)]
pub(crate) struct Entry<'table> {
    pub(crate) number: TaskNumber,
    /// Another one after each change of the record.
    #[cfg_attr(not(unix), expect(dead_code, reason = "nobody asks for changes"))]
    pub(crate) version: u32,
    record: &'table Option<Record>,
}

impl Entry<'_> {
    pub(crate) fn record(&self) -> &Record {
        let record = self.record.as_ref();
        record.expect("a place that is used has a record")
    }
}

/// In a version: there is a record in this place.
const IS_USED: u32 = 1;
