//! A shard of the table of recorded tasks: places, each with a record, packed or not.
//!
//! # Packed records
//! A record is packed if its task does not run and nobody has changed it for a while, and unpacked when it is changed. Where
//! a shard has many unpacked records, each one more has others looked at, and those packed that were not changed since they
//! were looked at before. A record is looked at twice before it is packed, and more than two are looked at for each one more,
//! so there are no more than one and a half times as many unpacked ones as there always may be, besides those that cannot be
//! packed.
//!
//! Not here: the lock of a shard (`shared_shard.rs`), which shard a task is in (`table.rs`), and how a record is packed
//! (`packed.rs`).

use crate::inspect::packed::Packed;
use crate::inspect::recorded::{Boxes, Record};
use crate::inspect::task_number::{PLACES_MAX, TaskNumber};
use crate::inspect::unpacked::UnpackedRecords;
use std::mem;
use std::ops::Range;

/// Who looks for changes reads one line of cache for eight places, and of records only those that have changed: others
/// have left the caches since the last look.
#[derive(Debug)]
pub(super) struct Shard {
    places: Vec<Usage>,
    /// One for each place.
    slots: Vec<Slot>,
    free: Vec<usize>,
    unpacked: UnpackedRecords,
}

/// Where the record of a place is.
#[derive(Debug)]
enum Slot {
    Free,
    /// At this index of the unpacked ones. So it may be in a place that is not used now.
    Unpacked(u32),
    Packed(Packed),
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

    fn note_change(&mut self) {
        self.version = self.version.wrapping_add(IS_USED << 1);
    }
}

impl Shard {
    pub(super) const fn empty() -> Self {
        Self {
            places: Vec::new(),
            slots: Vec::new(),
            free: Vec::new(),
            unpacked: UnpackedRecords::none(),
        }
    }

    /// Adds a record to this shard, which is the `shard`-th. `None` if it is full.
    #[inline]
    pub(super) fn insert(&mut self, shard: usize, record: Record) -> Option<TaskNumber> {
        let place = match self.free.pop() {
            Some(place) => place,
            None if self.places.len() >= PLACES_MAX => return None,
            None => {
                self.places.push(Usage::default());
                self.slots.push(Slot::Free);
                self.places.len() - 1
            }
        };
        let usage = &mut self.places[place];
        usage.uses = usage.uses.wrapping_add(1).max(1);
        usage.version |= IS_USED;
        let (uses, version) = (usage.uses, usage.version);
        match self.slots[place] {
            Slot::Unpacked(index) => {
                self.unpacked.replace(index, version, record);
                if self.unpacked.len() > UNPACKED_MIN {
                    self.pack_some();
                }
            }
            Slot::Free | Slot::Packed(_) => {
                self.put(place, record);
            }
        }
        Some(TaskNumber::new(uses, place, shard))
    }

    /// Changes a record, if the task is still there.
    #[inline]
    pub(super) fn change(&mut self, number: TaskNumber, change: impl FnOnce(&mut Record)) {
        if let Some(record) = self.record_of(number) {
            change(record);
            self.places[number.place()].note_change();
        }
    }

    /// Whether the task has not ended.
    pub(super) fn is_there(&self, number: TaskNumber) -> bool {
        let usage = self.places.get(number.place());
        usage.is_some_and(|usage| usage.is_of(number))
    }

    /// How many records there are.
    #[cfg(unix)]
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    /// Calls `see` for each record in these places of the shard, which is the `shard`-th. False: there are none behind them.
    pub(super) fn for_each_entry(
        &mut self,
        shard: usize,
        places: Range<usize>,
        mut see: impl FnMut(&mut Entry<'_>),
    ) -> bool {
        let end = places.end.min(self.places.len());
        for place in places.start..end {
            let usage = &self.places[place];
            if usage.is_used() {
                see(&mut Entry {
                    number: TaskNumber::new(usage.uses, place, shard),
                    version: usage.version,
                    slot: &mut self.slots[place],
                    unpacked: &self.unpacked,
                    taken_out: None,
                });
            }
        }
        end < self.places.len()
    }

    /// The record, unpacked, if its place was not used again since.
    #[inline]
    fn record_of(&mut self, number: TaskNumber) -> Option<&mut Record> {
        let place = number.place();
        if !self.places.get(place)?.is_of(number) {
            return None;
        }
        let index = match self.slots[place] {
            Slot::Unpacked(index) => index,
            Slot::Free | Slot::Packed(_) => self.unpack(place)?,
        };
        Some(self.unpacked.get_mut(index))
    }

    #[cold]
    fn unpack(&mut self, place: usize) -> Option<u32> {
        let Slot::Packed(packed) = &mut self.slots[place] else {
            return None;
        };
        let record = packed.take_out();
        Some(self.put(place, record))
    }

    /// Puts an unpacked record into this place, and returns its index.
    #[cold]
    fn put(&mut self, place: usize, record: Record) -> u32 {
        if self.unpacked.len() >= UNPACKED_MIN {
            self.pack_some();
        }
        let version = self.places[place].version;
        let index = self.unpacked.add(place, version, record);
        self.slots[place] = Slot::Unpacked(index);
        index
    }

    /// Looks at some of the unpacked records, and packs those that were not changed since they were looked at before.
    #[cold]
    fn pack_some(&mut self) {
        for _ in 0..LOOKS {
            let Some(unpacked) = self.unpacked.at_hand() else {
                return;
            };
            let place = unpacked.place as usize;
            let usage = &self.places[place];
            let seen = mem::replace(&mut unpacked.version_seen, usage.version);
            let packed = if !usage.is_used() {
                Some(Slot::Free)
            } else if seen == usage.version {
                Packed::of(&mut unpacked.record).map(Slot::Packed)
            } else {
                None
            };
            let Some(packed) = packed else {
                self.unpacked.move_hand();
                continue;
            };
            self.slots[place] = packed;
            if let Some((moved, index)) = self.unpacked.remove_at_hand() {
                self.slots[moved] = Slot::Unpacked(index);
            }
        }
    }

    /// Takes out the record of this number, and its place is free. Returns what is left to be dropped.
    pub(super) fn take(&mut self, number: TaskNumber) -> Option<Boxes> {
        let place = number.place();
        let usage = self.places.get_mut(place)?;
        if !usage.is_of(number) {
            return None;
        }
        usage.version &= !IS_USED;
        self.free.push(place);
        match &mut self.slots[place] {
            Slot::Unpacked(index) => Some(self.unpacked.get_mut(*index).take_boxes()),
            Slot::Packed(packed) => {
                let boxes = packed.take_boxes();
                self.slots[place] = Slot::Free;
                Some(boxes)
            }
            Slot::Free => None,
        }
    }
}

/// A record that has not been looked at yet.
#[derive(Debug)]
pub(super) struct Entry<'table> {
    pub(super) number: TaskNumber,
    /// Another one after each change of the record.
    #[cfg_attr(not(unix), expect(dead_code, reason = "nobody asks for changes"))]
    pub(super) version: u32,
    slot: &'table mut Slot,
    unpacked: &'table UnpackedRecords,
    /// If it is packed and was looked at.
    taken_out: Option<Record>,
}

impl Entry<'_> {
    pub(super) fn record(&mut self) -> &Record {
        match self.slot {
            Slot::Free => unreachable!("a place that is used has a record"),
            Slot::Unpacked(index) => self.unpacked.get(*index),
            Slot::Packed(packed) => self.taken_out.get_or_insert_with(|| packed.take_out()),
        }
    }

    /// [`Record::id`], without unpacking it.
    pub(super) fn id(&self) -> usize {
        match &*self.slot {
            Slot::Free => 0,
            Slot::Unpacked(index) => self.unpacked.get(*index).id(),
            Slot::Packed(packed) => packed.cell().id(),
        }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        if let (Slot::Packed(packed), Some(mut record)) = (&mut *self.slot, self.taken_out.take()) {
            packed.put_back(record.take_boxes());
        }
    }
}

/// In a version: there is a record in this place.
const IS_USED: u32 = 1;
/// Unpacked records of a shard that are left alone.
const UNPACKED_MIN: usize = 256;
/// Unpacked records that are looked at for one more.
const LOOKS: usize = 3;

#[cfg(test)]
mod tests {
    use super::{Shard, Slot, UNPACKED_MIN, Usage};
    use crate::inspect::interned::Origin;
    use crate::inspect::recorded::Record;
    use crate::inspect::recorded_cell::RecordedCell;
    use crate::inspect::task_number::TaskNumber;
    use crate::inspect::task_state::TaskState;
    use crate::inspect::unpacked::UnpackedRecord;
    use std::num::NonZeroU32;
    use std::ptr::NonNull;

    #[test]
    fn a_packed_record_and_its_place_have_no_more_bytes_than_this() {
        let sizes = (size_of::<Slot>(), size_of::<Usage>());
        let unpacked = size_of::<UnpackedRecord>();
        // Who makes them smaller writes so here; they do not grow unnoticed.
        #[cfg(target_pointer_width = "64")]
        assert_eq!((sizes, unpacked), ((56, 8), 120));
        #[cfg(not(target_pointer_width = "64"))]
        assert!(
            sizes.0 <= 56 && sizes.1 == 8 && unpacked <= 120,
            "{sizes:?}"
        );
    }

    /// Of a task.
    fn waiting() -> Record {
        let cell = NonNull::without_provenance(16.try_into().unwrap());
        Record {
            cell: Some(RecordedCell::new(cell)),
            origin: Some(Origin::of_number(NonZeroU32::MIN)),
            state: TaskState::Waiting,
            ..Record::new(0)
        }
    }

    /// How many of these are unpacked.
    fn unpacked(shard: &Shard, numbers: &[TaskNumber]) -> usize {
        let is_unpacked = |number: &&TaskNumber| {
            let slot = &shard.slots[number.place()];
            matches!(slot, Slot::Unpacked(_))
        };
        numbers.iter().filter(is_unpacked).count()
    }

    fn wake(shard: &mut Shard, number: TaskNumber) {
        shard.change(number, |record| {
            record.wakes += 1;
            record.note_change();
        });
    }

    #[test]
    fn however_many_tasks_are_spawned_and_woken_few_that_wait_are_unpacked() {
        let count = if cfg!(miri) { 900 } else { 20_000 };
        let mut shard = Shard::empty();
        let numbers: Vec<_> = (0..count)
            .map(|_| shard.insert(0, waiting()).unwrap())
            .collect();
        assert!(unpacked(&shard, &numbers) <= UNPACKED_MIN);
        for round in 0..5_u32 {
            // In the same order, and once from the end.
            for at in 0..count {
                let at = if round == 3 { count - 1 - at } else { at };
                (0..3).for_each(|_| wake(&mut shard, numbers[at]));
            }
            assert!(unpacked(&shard, &numbers) <= UNPACKED_MIN * 3 / 2);
        }
        let polled = numbers
            .iter()
            .all(|number| shard.record_of(*number).unwrap().wakes == 15);
        assert!(polled, "nothing was lost");
    }

    #[test]
    fn what_is_changed_again_and_again_stays_unpacked_beside_others_that_are_packed() {
        let mut shard = Shard::empty();
        let hot: Vec<_> = (0..100)
            .map(|_| shard.insert(0, waiting()).unwrap())
            .collect();
        let count = if cfg!(miri) { 900 } else { 5_000 };
        for _ in 0..count {
            shard.insert(0, waiting()).unwrap();
            hot.iter().for_each(|number| wake(&mut shard, *number));
            assert_eq!(unpacked(&shard, &hot), hot.len());
        }
        assert!(shard.unpacked.len() <= UNPACKED_MIN);
    }

    #[test]
    fn those_that_cannot_be_packed_stay_and_the_others_do_not_grow_without_end() {
        let mut shard = Shard::empty();
        let running = || Record {
            state: TaskState::Running,
            ..waiting()
        };
        let numbers: Vec<_> = (0..1_000)
            .map(|_| shard.insert(0, running()).unwrap())
            .collect();
        assert_eq!(unpacked(&shard, &numbers), numbers.len());
        let count = if cfg!(miri) { 900 } else { 20_000 };
        (0..count).for_each(|_| assert!(shard.insert(0, waiting()).is_some()));
        assert_eq!(unpacked(&shard, &numbers), numbers.len());
        assert!(shard.unpacked.len() <= numbers.len() * 2);
        numbers
            .iter()
            .for_each(|number| drop(shard.take(*number).unwrap()));
        assert!(
            numbers
                .iter()
                .all(|number| shard.record_of(*number).is_none())
        );
        // As many as have ended, in their places.
        let others: Vec<_> = (0..numbers.len())
            .map(|_| shard.insert(0, waiting()).unwrap())
            .collect();
        assert!(unpacked(&shard, &others) <= UNPACKED_MIN);
    }
}
