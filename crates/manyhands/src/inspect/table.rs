//! The table of recorded tasks: sharded, each shard behind a lock.
//!
//! A task keeps its number, not a pointer. A number names a place in the table and how often that place was used
//! before, so one that outlives its task finds nothing. A reader copies records under their shard's lock, so no record is
//! torn; different ones are read a moment apart.
//!
//! Not here: what is recorded when (`record.rs`), and what is made of it (`snapshot.rs`).

use crate::inspect::coarse::CoarseTime;
use crate::inspect::interned::Origin;
use crate::inspect::last_waker::LastWaker;
use crate::inspect::lines::is_of_library;
use crate::inspect::recorded_task::RecordedCell;
use crate::inspect::task_number::{PLACES_MAX, SHARDS, TaskNumber};
use crate::inspect::task_state::{TaskKind, TaskState};
use crate::inspect::waits::{WaitRecord, Waits};
use crate::priority::Priority;
use crate::sync::{Mutex, Padded, global, lock};
use std::mem;
use std::num::NonZeroU32;
use std::panic::Location;

/// What is recorded of one task. Times are readings of the tick counter.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// `None` of a thread.
    pub(super) cell: Option<RecordedCell>,
    /// `None` of a thread.
    pub(super) origin: Option<Origin>,
    pub(super) name: Option<Box<Name>>,
    pub(super) parent: Option<TaskNumber>,
    /// The scope or group that it belongs to.
    pub(super) set: Option<NonZeroU32>,
    /// The runtime and the worker that ran it last.
    pub(super) ran_on: Option<(NonZeroU32, u32)>,
    pub(super) state: TaskState,
    /// When it was spawned, or first seen.
    pub(super) spawned: CoarseTime,
    /// When it got into this state.
    pub(super) since: u64,
    /// How long it has run.
    pub(super) busy: u64,
    /// No further than it can be counted.
    pub(super) polls: u32,
    /// No further than it can be counted.
    pub(super) wakes: u32,
    /// `None` if it was never woken.
    pub(super) last_waker: Option<LastWaker>,
    /// Raised by each poll, each wake, and each change of its waits; goes on with 0 behind the highest number.
    pub(super) changes: u32,
    /// How many of its wakers exist, or [`UNKNOWN`].
    pub(super) wakers: u32,
    pub(super) waits: Waits,
}

/// A name: a type of its own because a pointer to a text would have two words.
#[derive(Debug, Clone)]
pub(super) struct Name(pub(super) Box<str>);

impl Record {
    /// Of a thread that was first seen now; a task has more to say.
    pub(super) fn new(now: u64) -> Self {
        Self {
            cell: None,
            origin: None,
            name: None,
            parent: None,
            set: None,
            ran_on: None,
            state: TaskState::Queued,
            spawned: CoarseTime::of(now),
            since: now,
            busy: 0,
            polls: 0,
            wakes: 0,
            last_waker: None,
            changes: 0,
            wakers: UNKNOWN,
            waits: Waits::default(),
        }
    }

    /// Which task this is for its handle and for `tracing`; 0: it is none.
    pub(super) fn id(&self) -> usize {
        self.cell.map_or(0, RecordedCell::id)
    }

    /// The type of its closure or future; empty of a thread.
    pub(super) fn type_name(&self) -> &'static str {
        self.origin.map_or("", |origin| origin.work().type_name())
    }

    /// Where it was spawned; `None` of a thread.
    pub(super) fn spawned_at(&self) -> Option<&'static Location<'static>> {
        self.origin.map(Origin::spawned_at)
    }

    /// The line of one of its waits: that of its spawning if it is nothing but a future of this library.
    pub(super) fn line_of(&self, wait: &WaitRecord) -> &'static Location<'static> {
        let at = wait.at.location();
        let spawned_at = is_of_library(at).then(|| self.spawned_at()).flatten();
        spawned_at.unwrap_or(at)
    }

    /// What a snapshot shows of it is not what it was.
    pub(super) fn note_change(&mut self) {
        self.changes = self.changes.wrapping_add(1);
    }

    /// Changes its state. A thread that waits may wake up to look, and sleep again: that alone is no change of what it
    /// waits for.
    pub(super) fn enter(&mut self, state: TaskState, now: u64) {
        if self.state == TaskState::Running {
            self.busy += now.saturating_sub(self.since);
        }
        self.state = state;
        self.since = now;
    }

    /// What it is.
    pub(super) fn kind(&self) -> TaskKind {
        self.origin
            .map_or(TaskKind::Thread, |origin| origin.work().kind())
    }

    /// `None` of a thread.
    pub(super) fn priority(&self) -> Option<Priority> {
        self.origin.map(Origin::priority)
    }

    /// How many of its wakers exist, as far as that is known.
    pub(super) fn wakers(&self) -> Option<u32> {
        (self.wakers != UNKNOWN).then_some(self.wakers)
    }

    pub(super) fn set_wakers(&mut self, wakers: Option<u32>) {
        self.wakers = wakers.map_or(UNKNOWN, |wakers| wakers.min(UNKNOWN - 1));
    }

    /// The task is about to be polled: what it waited for so far counts only for since when it waits for the same again.
    pub(super) fn begin_poll(&mut self) {
        self.waits.begin_poll();
        self.note_change();
    }

    /// Puts other waits and wakers in, and returns these.
    pub(super) fn replace_waits(
        &mut self,
        waits: Waits,
        wakers: Option<u32>,
    ) -> (Waits, Option<u32>) {
        self.note_change();
        let before = self.wakers();
        self.set_wakers(wakers);
        (mem::replace(&mut self.waits, waits), before)
    }

    /// Adds a wait; see [`Waits::add`].
    pub(super) fn add_wait(&mut self, wait: WaitRecord) {
        self.note_change();
        self.waits.add(wait);
    }

    /// A task was added to a scope or group that this one may wait for.
    pub(super) fn grow_awaited_set(&mut self, number: NonZeroU32) {
        self.waits.grow_set(number);
        self.note_change();
    }

    /// Takes out the wait of a future that is dropped, or whose wait is over.
    pub(super) fn remove_wait(&mut self, leaf: usize, is_same: impl Fn(&WaitRecord) -> bool) {
        if self.waits.remove(leaf) || self.waits.remove_same(is_same) {
            self.note_change();
        }
    }
}

/// Adds a record. `spread` chooses the shard. `None` if the shard is full.
pub(super) fn insert(spread: usize, record: Record) -> Option<TaskNumber> {
    let shard = spread % SHARDS;
    let mut slots = lock(&TABLE[shard]);
    let place = match slots.free.pop() {
        Some(place) => place,
        None if slots.places.len() >= PLACES_MAX => return None,
        None => {
            slots.places.push(Usage::default());
            slots.records.push(None);
            slots.places.len() - 1
        }
    };
    let usage = &mut slots.places[place];
    usage.uses = usage.uses.wrapping_add(1).max(1);
    usage.version |= IS_USED;
    let uses = usage.uses;
    slots.records[place] = Some(record);
    Some(TaskNumber::new(uses, place, shard))
}

/// Changes a record, if the task is still there.
pub(super) fn change(number: TaskNumber, change: impl FnOnce(&mut Record)) {
    let mut slots = lock(&TABLE[number.shard()]);
    if let Some(Some(record)) = slots.record_of(number) {
        change(record);
        slots.places[number.place()].note_change();
    }
}

/// Whether the task has not ended.
pub(super) fn is_there(number: TaskNumber) -> bool {
    let slots = lock(&TABLE[number.shard()]);
    let usage = slots.places.get(number.place());
    usage.is_some_and(|usage| usage.is_used() && usage.uses == number.uses())
}

/// Takes a record out.
pub(super) fn remove(number: TaskNumber) {
    let mut slots = lock(&TABLE[number.shard()]);
    let removed = slots.record_of(number).and_then(Option::take);
    if removed.is_some() {
        let place = number.place();
        slots.places[place].version &= !IS_USED;
        slots.free.push(place);
    }
    drop(slots);
    drop(removed);
}

/// How many records there are.
#[cfg(unix)]
pub(super) fn len() -> usize {
    let of_shard = |slots: &Padded<Mutex<Slots>>| {
        let slots = lock(slots);
        slots.places.len() - slots.free.len()
    };
    TABLE.iter().map(of_shard).sum()
}

/// Calls `see` with each record; see [`for_each_entry`].
pub(super) fn for_each(mut see: impl FnMut(TaskNumber, &Record)) {
    for_each_entry(|entry| see(entry.number, entry.record()));
}

/// Calls `see` for each record, one shard after the other. The lock of a shard is let go from time to time, so that no
/// task waits for it for long.
pub(super) fn for_each_entry(mut see: impl FnMut(&Entry<'_>)) {
    for (shard, slots) in TABLE.iter().enumerate() {
        let mut from = 0;
        loop {
            let slots = lock(slots);
            let places = from..slots.places.len().min(from + PLACES_AT_ONCE);
            if places.is_empty() {
                break;
            }
            from = places.end;
            for place in places {
                let usage = &slots.places[place];
                if usage.is_used() {
                    see(&Entry {
                        number: TaskNumber::new(usage.uses, place, shard),
                        version: usage.version,
                        record: &slots.records[place],
                    });
                }
            }
        }
    }
}

/// A record that has not been looked at yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'table> {
    pub(super) number: TaskNumber,
    /// Another one after each change of the record.
    #[cfg_attr(not(unix), expect(dead_code, reason = "nobody asks for changes"))]
    pub(super) version: u32,
    record: &'table Option<Record>,
}

impl<'table> Entry<'table> {
    pub(super) fn record(&self) -> &'table Record {
        self.record
            .as_ref()
            .expect("a place that is used has a record")
    }
}

/// Who looks for changes reads one line of cache for eight places, and of records only those that have changed: others
/// have left the caches since the last look.
#[derive(Debug)]
struct Slots {
    places: Vec<Usage>,
    /// One for each place.
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

    fn note_change(&mut self) {
        self.version = self.version.wrapping_add(IS_USED << 1);
    }
}

impl Slots {
    /// The place of this record, if it was not used again since.
    fn record_of(&mut self, number: TaskNumber) -> Option<&mut Option<Record>> {
        let place = number.place();
        let is_same = self.places.get(place)?.uses == number.uses();
        is_same.then(|| &mut self.records[place])
    }
}

global! {
    static TABLE: [Padded<Mutex<Slots>>; SHARDS] = [const {
        Padded(Mutex::new(Slots {
            places: Vec::new(),
            records: Vec::new(),
            free: Vec::new(),
        }))
    }; SHARDS];
}

/// In a version: there is a record in this place.
const IS_USED: u32 = 1;
/// Of wakers: nobody has counted them.
const UNKNOWN: u32 = u32::MAX;
/// Read under one lock.
const PLACES_AT_ONCE: usize = 512;

#[cfg(test)]
mod tests {
    use super::{Record, SHARDS, TaskNumber, Usage, insert, is_there, remove};

    fn record() -> Record {
        Record::new(0)
    }

    #[test]
    fn a_record_and_its_place_have_no_more_bytes_than_this() {
        let sizes = (size_of::<Option<Record>>(), size_of::<Usage>());
        // Who makes it smaller writes so here; it does not grow unnoticed.
        #[cfg(target_pointer_width = "64")]
        assert_eq!(sizes, (112, 8));
        #[cfg(not(target_pointer_width = "64"))]
        assert!(sizes.0 <= 112 && sizes.1 == 8, "{sizes:?}");
    }

    #[test]
    fn a_number_that_outlives_its_task_finds_nothing() {
        // No other test of this process fills this shard.
        let first = insert(SHARDS - 1, record()).unwrap();
        assert!(is_there(first));
        remove(first);
        assert!(!is_there(first));
        let mut again = insert(SHARDS - 1, record()).unwrap();
        while again.place() != first.place() {
            again = insert(SHARDS - 1, record()).unwrap();
        }
        assert_ne!(first, again);
        assert!(is_there(again) && !is_there(first));
        remove(first);
        assert!(is_there(again), "an old number removes nothing");
        assert_eq!(again.to_string(), format!("{first}.{}", again.uses()));
        assert_eq!(TaskNumber::from_bits(again.to_bits()), Some(again));
        for number in [first, again] {
            assert_eq!(TaskNumber::from_text(&number.to_string()), Some(number));
        }
        for text in ["", "x", "1.0", "1.x", "-1", "1.2.3", "4294967296"] {
            assert_eq!(TaskNumber::from_text(text), None, "{text}");
        }
    }
}
