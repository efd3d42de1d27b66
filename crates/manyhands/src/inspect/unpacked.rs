//! The records of a shard that are not packed: those of tasks that run, or have been woken or spawned not long ago.
//!
//! There are as many as have been changed lately, and always some. A hand goes round over them (the clock algorithm, or second
//! chance): one that nobody has changed since the hand came by the last time may be packed.
//!
//! A record whose task has ended stays with its place, without its boxes, until the hand comes by: the next task in this
//! place has it then.
//!
//! Not here: how a record is packed (`packed.rs`), and when the hand moves (`shard.rs`).

use crate::inspect::recorded::Record;

#[derive(Debug)]
pub(super) struct UnpackedRecords {
    list: Vec<UnpackedRecord>,
    hand: usize,
}

/// One of them.
#[derive(Debug)]
pub(super) struct UnpackedRecord {
    pub(super) record: Record,
    /// Its place in the shard.
    pub(super) place: u32,
    /// The version that it had when the hand came by, or when it was added.
    pub(super) version_seen: u32,
}

impl UnpackedRecords {
    pub(super) const fn none() -> Self {
        Self {
            list: Vec::new(),
            hand: 0,
        }
    }

    /// Adds one, and returns its index.
    pub(super) fn add(&mut self, place: usize, version: u32, record: Record) -> u32 {
        self.list.push(UnpackedRecord {
            record,
            place: u32::try_from(place).expect("a number has bits for the place"),
            version_seen: version,
        });
        u32::try_from(self.list.len() - 1).expect("there are no more than places")
    }

    /// Puts the record of the next task of the same place there.
    #[inline]
    pub(super) fn replace(&mut self, index: u32, version: u32, record: Record) {
        let unpacked = &mut self.list[index as usize];
        unpacked.record = record;
        unpacked.version_seen = version;
    }

    pub(super) fn get(&self, index: u32) -> &Record {
        &self.list[index as usize].record
    }

    #[inline]
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Record {
        &mut self.list[index as usize].record
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// That to which the hand points.
    pub(super) fn at_hand(&mut self) -> Option<&mut UnpackedRecord> {
        if self.hand >= self.list.len() {
            self.hand = 0;
        }
        self.list.get_mut(self.hand)
    }

    /// Moves the hand on to the next one.
    pub(super) fn move_hand(&mut self) {
        self.hand += 1;
    }

    /// Removes that to which the hand points. The last one comes in its place, unless it was that: returns the place in the
    /// shard of the one that has come, and its index.
    pub(super) fn remove_at_hand(&mut self) -> Option<(usize, u32)> {
        self.list.swap_remove(self.hand);
        let moved = self.list.get(self.hand)?;
        Some((moved.place as usize, u32::try_from(self.hand).ok()?))
    }
}
