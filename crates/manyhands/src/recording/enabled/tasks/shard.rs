//! A shard of the table of recorded tasks: places, each with a record.
//!
//! Not here: the lock of a shard (`shared_shard.rs`), which shard a task is in (`table.rs`), and what is recorded of one
//! (`Record` of `manyhands-analysis`).

use crate::recording::enabled::RecordedCell;
use manyhands_analysis::{PLACES_MAX, Record, TaskNumber};
use std::ops::Range;

pub(crate) struct Shard {
    places: Vec<Place>,
    free: Vec<usize>,
}

#[derive(Default)]
struct Place {
    uses: u32,
    /// A count of changes. It starts again behind the highest number: a reader sees no change only if there were exactly 2^32, or
    /// a multiple of that, between two of its looks.
    version: u32,
    /// `None` if the place is free.
    record: Option<Record>,
    /// `None` of a thread.
    cell: Option<RecordedCell>,
}

impl Shard {
    pub(crate) const fn empty() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a record to this shard, which is the `shard`-th. `None` if it is full.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        shard: usize,
        record: Record,
        cell: Option<RecordedCell>,
    ) -> Option<TaskNumber> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.places.len() >= PLACES_MAX => return None,
            None => {
                self.places.push(Place::default());
                self.places.len() - 1
            }
        };
        let place = &mut self.places[index];
        place.uses = place.uses.wrapping_add(1).max(1);
        place.record = Some(record);
        place.cell = cell;
        Some(TaskNumber::new(place.uses, index, shard))
    }

    /// The place of this number, if its record is there.
    fn place_of(&mut self, number: TaskNumber) -> Option<&mut Place> {
        let place = self.places.get_mut(number.place())?;
        (place.record.is_some() && place.uses == number.uses()).then_some(place)
    }

    /// Changes a record, if the task is still there.
    #[inline]
    pub(crate) fn change<R>(
        &mut self,
        number: TaskNumber,
        change: impl FnOnce(&mut Record) -> R,
    ) -> Option<R> {
        let place = self.place_of(number)?;
        place.version = place.version.wrapping_add(1);
        place.record.as_mut().map(change)
    }

    /// What `see` makes of a record and the task's cell, if the task is still there.
    pub(crate) fn with_cell<R>(
        &mut self,
        number: TaskNumber,
        see: impl FnOnce(&Record, Option<RecordedCell>) -> R,
    ) -> Option<R> {
        let place = self.place_of(number)?;
        let cell = place.cell;
        place.record.as_ref().map(|record| see(record, cell))
    }

    /// How many records there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Calls `see` for each record in these places of the shard, which is the `shard`-th, with its number, and with another
    /// version after each change of it. False: there are none behind them.
    pub(crate) fn for_each(
        &self,
        shard: usize,
        places: Range<usize>,
        mut see: impl FnMut(TaskNumber, u32, &Record),
    ) -> bool {
        let end = places.end.min(self.places.len());
        for index in places.start..end {
            let place = &self.places[index];
            if let Some(record) = &place.record {
                let number = TaskNumber::new(place.uses, index, shard);
                see(number, place.version, record);
            }
        }
        end < self.places.len()
    }

    /// Takes out the record of this number, and its place is free.
    pub(crate) fn take(&mut self, number: TaskNumber) -> Option<Record> {
        let place = self.place_of(number)?;
        place.cell = None;
        let taken = place.record.take();
        self.free.push(number.place());
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::{Record, Shard};

    #[test]
    fn only_a_change_is_another_version() {
        let mut shard = Shard::empty();
        let number = shard.insert(0, Record::new(0), None).unwrap();
        let version = |shard: &Shard| {
            let mut versions = Vec::new();
            shard.for_each(0, 0..1, |_, version, _| versions.push(version));
            versions
        };
        let before = version(&shard);
        assert!(shard.with_cell(number, |_, _| ()).is_some());
        assert_eq!(version(&shard), before);
        shard.change(number, |_| ());
        assert_ne!(version(&shard), before);
    }
}
