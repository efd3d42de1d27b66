//! The table of recorded tasks: sharded, each shard behind a lock.
//!
//! A task keeps its number, not a pointer. A number names a place in the table and how often that place was used
//! before, so one that outlives its task finds nothing. A reader copies records under their shard's lock, so no record is
//! torn; different ones are read a moment apart.
//!
//! Not here: what is recorded when (`record.rs`), and what is made of it (`snapshot.rs`).

use crate::inspect::awaited_set::AwaitedSet;
use crate::inspect::frames::Frames;
use crate::inspect::last_waker::LastWaker;
use crate::inspect::recorded_task::RecordedTask;
use crate::inspect::task_state::{TaskKind, TaskState};
use crate::inspect::wait_kind::WaitKind;
use crate::priority::Priority;
use crate::sync::{Mutex, Padded, global, lock};
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::panic::Location;

/// Where a record is: rises from one record to the next of [`for_each_entry`].
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    shard: usize,
    place: usize,
}

/// Names a recorded task. No two tasks of a process have the same number.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect")] {
/// use manyhands::{inspect, task};
/// inspect::open();
/// let tasks = [1, 2].map(|_| task::spawn(std::future::pending::<()>()));
/// let numbers: Vec<inspect::TaskNumber> =
///     inspect::snapshot().tasks.iter().map(|task| task.number).collect();
/// assert!(numbers.len() >= 2 && numbers[0] != numbers[1]);
/// tasks.iter().for_each(task::JoinHandle::cancel);
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskNumber(NonZeroU64);

/// What is recorded of one task. Times are readings of the tick counter.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) kind: TaskKind,
    /// `None` of a thread.
    pub(super) task: Option<RecordedTask>,
    pub(super) name: Option<Box<str>>,
    /// `None` of a thread.
    pub(super) priority: Option<Priority>,
    pub(super) spawned_at: Option<&'static Location<'static>>,
    pub(super) parent: Option<TaskNumber>,
    /// The scope or group that it belongs to.
    pub(super) set: Option<NonZeroU32>,
    /// The runtime and the worker that ran it last.
    pub(super) ran_on: Option<(u32, u32)>,
    pub(super) state: TaskState,
    /// When it was spawned, or first seen.
    pub(super) spawned: u64,
    /// When it got into this state.
    pub(super) since: u64,
    /// How long it has run.
    pub(super) busy: u64,
    pub(super) polls: u64,
    pub(super) wakes: u64,
    /// `None` if it was never woken.
    pub(super) last_waker: Option<LastWaker>,
    /// Raised by each poll, each wake, and each change of its waits.
    pub(super) changes: u64,
    pub(super) waits: Waits,
}

/// What a task waits for.
#[derive(Debug, Clone, Default)]
pub(super) struct Waits {
    /// While the task is polled, the first ones are those of the poll before.
    list: Vec<WaitRecord>,
    /// How many these are.
    earlier: usize,
    /// Waits that were not kept.
    pub(super) left_out: u32,
    /// How many of those were direct.
    pub(super) direct_left_out: u32,
    /// How many wakers of the task exist, as far as that is known.
    pub(super) wakers: Option<u32>,
    /// How many of them this library keeps besides those of its waits.
    pub(super) kept: u32,
    /// The frames in which it waits. Most tasks have none.
    pub(super) frames: Option<Box<Frames>>,
}

/// One wait of a task.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaitRecord {
    /// Where the future that waits is.
    pub(super) leaf: usize,
    pub(super) kind: WaitKind,
    /// What it waits for: an address.
    pub(super) resource: usize,
    /// The task that it waits for.
    pub(super) owner: Option<TaskNumber>,
    /// The scope or group whose tasks it waits for.
    pub(super) set: Option<AwaitedSet>,
    pub(super) at: &'static Location<'static>,
    /// When it began; 0 until the poll has ended in which it did.
    pub(super) since: u64,
    /// The end of the wait wakes the task itself, not something inside it that may wait for more.
    pub(super) is_direct: bool,
    /// The frame that waits, or 0.
    pub(super) frame: usize,
}

impl Record {
    /// Which task this is for its handle and for `tracing`; 0: it is none.
    pub(super) fn id(&self) -> usize {
        self.task.map_or(0, |task| task.id())
    }

    /// The type of its closure or future; empty of a thread.
    pub(super) fn type_name(&self) -> &'static str {
        self.task.map_or("", |task| task.type_name())
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

    /// The task is about to be polled: what it waited for so far counts only for since when it waits for the same again.
    pub(super) fn begin_poll(&mut self) {
        self.waits.forget_earlier();
        self.waits.earlier = self.waits.list.len();
        self.waits.left_out = 0;
        self.waits.direct_left_out = 0;
        self.waits.kept = 0;
        if let Some(frames) = &mut self.waits.frames {
            frames.forget();
        }
        self.changes += 1;
    }

    /// The poll has ended: waits that it began begin now.
    pub(super) fn end_poll(&mut self, now: u64) {
        self.waits.forget_earlier();
        let begun = self.waits.list.iter_mut().filter(|wait| wait.since == 0);
        begun.for_each(|wait| wait.since = now);
    }

    /// Puts other waits in, and returns these.
    pub(super) fn replace_waits(&mut self, waits: Waits) -> Waits {
        self.changes += 1;
        std::mem::replace(&mut self.waits, waits)
    }

    /// Adds a wait; one of the same future takes the place of the earlier one. If that was for the same thing, this one goes
    /// on with it. Direct waits are kept rather than others.
    pub(super) fn add_wait(&mut self, mut wait: WaitRecord) {
        self.changes += 1;
        let waits = &mut self.waits;
        let known = waits.list.iter().position(|known| known.leaf == wait.leaf);
        if let Some(place) = known {
            wait.go_on_with(&waits.list[place]);
            if place >= waits.earlier {
                waits.list[place] = wait;
                return;
            }
            waits.remove(place);
        }
        if waits.current().len() < WAITS_MAX {
            // Most tasks wait for one thing.
            waits.list.reserve_exact(1);
            waits.list.push(wait);
        } else {
            waits.left_out += 1;
            let current = &mut waits.list[waits.earlier..];
            let other = current.iter_mut().rfind(|known| !known.is_direct);
            match other.filter(|_| wait.is_direct) {
                Some(other) => *other = wait,
                None => waits.direct_left_out += u32::from(wait.is_direct),
            }
        }
    }

    /// A task was added to a scope or group that this one may wait for.
    pub(super) fn grow_awaited_set(&mut self, number: NonZeroU32) {
        let sets = self.waits.list.iter_mut().flat_map(|wait| &mut wait.set);
        sets.filter(|set| set.number == number)
            .for_each(AwaitedSet::grow);
        self.changes += 1;
    }

    /// Takes out the wait of a future that is dropped, or whose wait is over.
    pub(super) fn remove_wait(&mut self, leaf: usize) {
        let list = &self.waits.list;
        if let Some(place) = list.iter().position(|wait| wait.leaf == leaf) {
            self.waits.remove(place);
            self.changes += 1;
        }
    }
}

impl Waits {
    /// Of a task that has these wakers and is in these frames.
    pub(super) fn none_yet(wakers: Option<u32>, frames: Option<Box<Frames>>) -> Self {
        Self {
            wakers,
            frames,
            ..Self::default()
        }
    }

    /// What the task waits for; while it is polled, those of this poll.
    pub(super) fn current(&self) -> &[WaitRecord] {
        &self.list[self.earlier..]
    }

    fn forget_earlier(&mut self) {
        self.list.drain(..self.earlier);
        self.earlier = 0;
    }

    fn remove(&mut self, place: usize) {
        self.list.remove(place);
        self.earlier -= usize::from(place < self.earlier);
    }
}

impl WaitRecord {
    /// Takes the beginning of an earlier wait of the same future, if that was for the same thing.
    fn go_on_with(&mut self, earlier: &Self) {
        if (earlier.kind, earlier.resource) == (self.kind, self.resource) {
            self.since = earlier.since;
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
            slots.places.push(Usage {
                uses: 0,
                is_used: false,
                version: 0,
            });
            slots.records.push(None);
            slots.places.len() - 1
        }
    };
    let usage = &mut slots.places[place];
    usage.uses = usage.uses.wrapping_add(1).max(1);
    usage.is_used = true;
    let uses = usage.uses;
    slots.records[place] = Some(record);
    Some(TaskNumber::new(uses, place, shard))
}

/// Changes a record, if the task is still there.
pub(super) fn change(number: TaskNumber, change: impl FnOnce(&mut Record)) {
    let mut slots = lock(&TABLE[number.shard()]);
    if let Some(Some(record)) = slots.record_of(number) {
        change(record);
        slots.places[number.place()].version += 1;
    }
}

/// Whether the task has not ended.
pub(super) fn is_there(number: TaskNumber) -> bool {
    let slots = lock(&TABLE[number.shard()]);
    let usage = slots.places.get(number.place());
    usage.is_some_and(|usage| usage.is_used && usage.uses == number.uses())
}

/// Takes a record out.
pub(super) fn remove(number: TaskNumber) {
    let mut slots = lock(&TABLE[number.shard()]);
    let removed = slots.record_of(number).and_then(Option::take);
    if removed.is_some() {
        let place = number.place();
        slots.places[place].is_used = false;
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
                if usage.is_used {
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
    /// Rises with each change of the record.
    #[cfg_attr(not(unix), expect(dead_code, reason = "nobody asks for changes"))]
    pub(super) version: u64,
    record: &'table Option<Record>,
}

impl<'table> Entry<'table> {
    pub(super) fn record(&self) -> &'table Record {
        self.record
            .as_ref()
            .expect("a place that is used has a record")
    }
}

impl TaskNumber {
    fn new(uses: u32, place: usize, shard: usize) -> Self {
        let bits = u64::from(uses) << 32 | ((place << SHARD_BITS) | shard) as u64;
        Self(NonZeroU64::new(bits).expect("a place that is in use was used"))
    }

    /// As a word that is not 0.
    pub(super) fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The number that is shown as this text.
    #[cfg(unix)]
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let (low, uses) = match text.split_once('.') {
            Some((low, uses)) => (low.parse::<u32>().ok()?, uses.parse::<u32>().ok()?),
            None => (text.parse::<u32>().ok()?, 1),
        };
        Self::from_bits(u64::from(uses) << 32 | u64::from(low)).filter(|_| uses > 0)
    }

    /// The number that became this word, or `None` of 0.
    pub(super) fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(Self)
    }

    /// Where its record is.
    #[cfg(unix)]
    pub(super) fn in_table(self) -> Place {
        Place {
            shard: self.shard(),
            place: self.place(),
        }
    }

    fn uses(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    fn low(self) -> usize {
        usize::try_from(self.0.get() & u64::from(u32::MAX)).expect("32 bits are an index")
    }

    fn place(self) -> usize {
        self.low() >> SHARD_BITS
    }

    fn shard(self) -> usize {
        self.low() % SHARDS
    }
}

/// Short: the place, and from its second use on how often it was used.
impl fmt::Display for TaskNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.low())?;
        match self.uses() {
            1 => Ok(()),
            uses => write!(f, ".{uses}"),
        }
    }
}

impl fmt::Debug for TaskNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Who looks for changes reads one line of cache for four places, and of records only those that have changed: others
/// have left the caches since the last look.
#[derive(Debug)]
struct Slots {
    places: Vec<Usage>,
    /// One for each place.
    records: Vec<Option<Record>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Usage {
    uses: u32,
    is_used: bool,
    version: u64,
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

const SHARD_BITS: u32 = 4;
/// This number of threads can record tasks without contention for one lock.
const SHARDS: usize = 1 << SHARD_BITS;
/// Places of a shard: what a number has bits for.
const PLACES_MAX: usize = 1 << (32 - SHARD_BITS);
/// Waits of one task that are kept.
const WAITS_MAX: usize = 8;
/// Read under one lock.
const PLACES_AT_ONCE: usize = 512;

#[cfg(test)]
mod tests {
    use super::{
        Record, SHARDS, TaskNumber, WAITS_MAX, WaitRecord, Waits, insert, is_there, remove,
    };
    use crate::inspect::task_state::{TaskKind, TaskState};
    use crate::inspect::wait_kind::WaitKind;
    use std::panic::Location;

    fn record() -> Record {
        Record {
            kind: TaskKind::Future,
            task: None,
            name: None,
            priority: None,
            spawned_at: None,
            parent: None,
            set: None,
            ran_on: None,
            state: TaskState::Queued,
            spawned: 0,
            since: 0,
            busy: 0,
            polls: 0,
            wakes: 0,
            last_waker: None,
            changes: 0,
            waits: Waits::default(),
        }
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

    #[test]
    fn waits_beyond_the_limit_are_counted_and_a_future_has_one() {
        let mut record = record();
        let wait = |leaf| WaitRecord {
            leaf,
            kind: WaitKind::Timer,
            resource: 0,
            owner: None,
            set: None,
            at: Location::caller(),
            since: 0,
            is_direct: true,
            frame: 0,
        };
        (0..WAITS_MAX + 3).for_each(|leaf| record.add_wait(wait(leaf)));
        record.add_wait(wait(0));
        assert_eq!(record.waits.current().len(), WAITS_MAX);
        assert_eq!(record.waits.left_out, 3);
        record.remove_wait(0);
        assert_eq!(record.waits.current().len(), WAITS_MAX - 1);
        record.begin_poll();
        assert_eq!(
            (record.waits.current().len(), record.waits.left_out),
            (0, 0)
        );
        (0..WAITS_MAX + 3).for_each(|leaf| record.add_wait(wait(leaf + 9)));
        assert_eq!(record.waits.current().len(), WAITS_MAX);
        record.end_poll(99);
        assert_eq!(record.waits.list.len(), WAITS_MAX);
        record.begin_poll();
        record.end_poll(99);
        // Direct waits come in place of others.
        let inside = |leaf| WaitRecord {
            is_direct: false,
            ..wait(leaf)
        };
        (0..WAITS_MAX).for_each(|leaf| record.add_wait(inside(leaf)));
        record.add_wait(wait(WAITS_MAX));
        record.add_wait(inside(WAITS_MAX + 1));
        let direct = record.waits.current().iter().filter(|wait| wait.is_direct);
        assert_eq!(
            (direct.count(), record.waits.current().len()),
            (1, WAITS_MAX)
        );
        assert_eq!(
            (record.waits.left_out, record.waits.direct_left_out),
            (2, 0)
        );
        (100..100 + WAITS_MAX).for_each(|leaf| record.add_wait(wait(leaf)));
        assert_eq!(record.waits.direct_left_out, 1);
    }

    #[test]
    fn a_wait_for_the_same_goes_on_in_the_next_poll_unless_it_was_over_or_left_out_in_between() {
        let mut record = record();
        let wait = |leaf, resource, since| WaitRecord {
            leaf,
            kind: WaitKind::Receive,
            resource,
            owner: None,
            set: None,
            at: Location::caller(),
            since,
            is_direct: true,
            frame: 0,
        };
        let poll = |record: &mut Record, waits: &[WaitRecord]| {
            record.begin_poll();
            waits.iter().for_each(|wait| record.add_wait(*wait));
            record.end_poll(99);
            let current = record.waits.current().iter();
            current
                .map(|wait| (wait.leaf, wait.since))
                .collect::<Vec<_>>()
        };
        let first = [wait(1, 7, 10), wait(2, 8, 11)];
        assert_eq!(poll(&mut record, &first), [(1, 10), (2, 11)]);
        // In another order, and one of them for something else.
        let second = [wait(2, 8, 20), wait(1, 9, 21), wait(1, 9, 22)];
        assert_eq!(poll(&mut record, &second), [(2, 11), (1, 21)]);
        record.remove_wait(2);
        let third = [wait(1, 9, 30), wait(2, 8, 31)];
        assert_eq!(poll(&mut record, &third), [(1, 21), (2, 31)]);
        assert_eq!(poll(&mut record, &[wait(1, 9, 40)]), [(1, 21)]);
        let fifth = [wait(2, 8, 50), wait(1, 9, 51)];
        assert_eq!(poll(&mut record, &fifth), [(2, 50), (1, 21)]);
        let sixth = [wait(2, 8, 0), wait(3, 9, 0)];
        assert_eq!(poll(&mut record, &sixth), [(2, 50), (3, 99)]);
        assert_eq!(poll(&mut record, &fifth), [(2, 50), (1, 51)]);
        record.begin_poll();
        record.remove_wait(1);
        record.add_wait(wait(1, 9, 60));
        record.end_poll(99);
        let current = record.waits.current();
        assert_eq!((current.len(), current[0].since), (1, 60));
    }
}
