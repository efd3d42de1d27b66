//! The record of a task that waits or is queued, in few bytes: most of its numbers are small, and its times are close to each
//! other.
//!
//! Nothing is lost but the exact time of its last change of state, which is kept as [`CoarseTime`]: only of a task that
//! runs it must be exact, because the time for which it has run is added up from it. What lies in boxes of its own stays
//! there: a name, and waits that have no place in the record.
//!
//! Not here: when a record is packed (`shard.rs`).

use crate::inspect::coarse::{Bits48, CoarseTime};
use crate::inspect::interned::{Line, Origin};
use crate::inspect::last_waker::LastWaker;
use crate::inspect::one_wait::{OneWait, Standing};
use crate::inspect::recorded::{Boxes, Name, Record};
use crate::inspect::recorded_cell::RecordedCell;
use crate::inspect::task_state::TaskState;
use crate::inspect::varint::{BYTES_MAX, Reader, Writer};
use crate::inspect::wait_kind::WaitKind;
use crate::inspect::waits::{MoreWaits, Waits};

/// A record with few bytes. Its boxes are only out of it while somebody reads it.
#[derive(Debug)]
pub(super) enum Packed {
    Plain(RecordedCell, [u8; BYTES_MAX]),
    Named(RecordedCell, Option<Box<Name>>, [u8; BESIDE_ONE]),
    Waiting(RecordedCell, Option<Box<MoreWaits>>, [u8; BESIDE_ONE]),
    Both(RecordedCell, Boxes, [u8; BESIDE_TWO]),
}

impl Packed {
    /// Takes the boxes out of the record. `None`, and nothing is taken, if the task runs or the record does not fit.
    pub(super) fn of(record: &mut Record) -> Option<Self> {
        let cell = record.cell?;
        let written = write(record, cell)?;
        match (record.name.is_some(), record.waits.are_boxed()) {
            (false, false) => written.bytes().map(|bytes| Self::Plain(cell, bytes)),
            (true, false) => {
                let bytes = written.bytes()?;
                Some(Self::Named(cell, record.name.take(), bytes))
            }
            (false, true) => {
                let bytes = written.bytes()?;
                Some(Self::Waiting(cell, record.waits.take_box(), bytes))
            }
            (true, true) => {
                let bytes = written.bytes()?;
                Some(Self::Both(cell, record.take_boxes(), bytes))
            }
        }
    }

    /// Of the task.
    pub(super) fn cell(&self) -> RecordedCell {
        match self {
            Self::Plain(cell, ..)
            | Self::Named(cell, ..)
            | Self::Waiting(cell, ..)
            | Self::Both(cell, ..) => *cell,
        }
    }

    /// The record, with the boxes.
    pub(super) fn take_out(&mut self) -> Record {
        let Boxes { name, waits } = self.take_boxes();
        let (cell, from) = match self {
            Self::Plain(cell, bytes) => (cell, Reader::of(bytes)),
            Self::Named(cell, _, bytes) | Self::Waiting(cell, _, bytes) => {
                (cell, Reader::of(bytes))
            }
            Self::Both(cell, _, bytes) => (cell, Reader::of(bytes)),
        };
        Record {
            name,
            ..read(from, *cell, waits)
        }
    }

    /// What lies elsewhere.
    pub(super) fn take_boxes(&mut self) -> Boxes {
        let (name, waits) = match self {
            Self::Plain(..) => (None, None),
            Self::Named(_, name, _) => (name.take(), None),
            Self::Waiting(_, waits, _) => (None, waits.take()),
            Self::Both(_, boxes, _) => (boxes.name.take(), boxes.waits.take()),
        };
        Boxes { name, waits }
    }

    /// Puts the boxes back that were taken out.
    pub(super) fn put_back(&mut self, boxes: Boxes) {
        match self {
            Self::Plain(..) => {}
            Self::Named(_, name, _) => *name = boxes.name,
            Self::Waiting(_, waits, _) => *waits = boxes.waits,
            Self::Both(_, both, _) => *both = boxes,
        }
    }
}

/// Writes all of a record but its cell and its boxes.
fn write(record: &Record, cell: RecordedCell) -> Option<Writer> {
    let origin = record.origin?;
    let state = STATES.iter().position(|state| *state == record.state)?;
    let wait = record.waits.in_record();
    if wait.is_some_and(OneWait::is_earlier) {
        return None;
    }
    let since = CoarseTime::of(record.since);
    let wakers_expected = u32::from(wait.is_some());
    let mut flags = Flags(0);
    flags.add(STATE, state);
    flags.add(
        WAKER,
        record.last_waker.map_or(0, |waker| 1 + waker as usize),
    );
    flags.set(HAS_PARENT, record.parent.is_some());
    flags.set(HAS_SET, record.set.is_some());
    flags.set(HAS_RUN, record.ran_on.is_some());
    flags.set(HAS_OTHER_WAKERS, record.wakers != wakers_expected);
    if let Some(wait) = wait {
        flags.set(HAS_WAIT, true);
        flags.add(KIND, wait.kind as usize);
        flags.set(IS_INSIDE, wait.standing == Standing::Inside);
        flags.set(HAS_OWNER, wait.owner.is_some());
        flags.set(HAS_OTHER_SINCE, wait.since != since);
    }
    let mut to = Writer::new();
    to.raw(flags.0.into(), size_of::<Flags>());
    to.number(origin.number().get().into());
    if record.wakers != wakers_expected {
        // Unknown ones have the highest number, and become 0.
        to.number(record.wakers.wrapping_add(1).into());
    }
    record.parent.into_iter().for_each(|parent| to.task(parent));
    if let Some(set) = record.set {
        to.number(set.get().into());
    }
    if let Some((runtime, worker)) = record.ran_on {
        to.number(runtime.get().into());
        to.number(worker.into());
    }
    to.time(record.spawned);
    to.step(record.spawned.steps(), since.steps());
    to.number(record.busy);
    to.number(record.polls.into());
    to.step(record.polls.into(), record.wakes.into());
    to.number(record.changes.into());
    if let Some(wait) = wait {
        to.number(wait.at.number().get().into());
        to.step(cell.id() as u64, wait.leaf.get());
        to.near(cell.id() as u64, wait.resource.get());
        wait.owner.into_iter().for_each(|owner| to.task(owner));
        if wait.since != since {
            to.step(since.steps(), wait.since.steps());
        }
    }
    Some(to)
}

/// Reads what [`write`] has written.
fn read(mut from: Reader, cell: RecordedCell, waits: Option<Box<MoreWaits>>) -> Record {
    let flags = from.raw(size_of::<Flags>());
    let flags = Flags(u16::try_from(flags).expect("it has no more bits"));
    let origin = Origin::of_number(from.name());
    let wakers = if flags.has(HAS_OTHER_WAKERS) {
        from.word().wrapping_sub(1)
    } else {
        u32::from(flags.has(HAS_WAIT))
    };
    let parent = flags.has(HAS_PARENT).then(|| from.task());
    let set = flags.has(HAS_SET).then(|| from.name());
    let ran_on = flags.has(HAS_RUN).then(|| (from.name(), from.word()));
    let spawned = from.time();
    let since = CoarseTime::of_steps(from.step(spawned.steps()));
    let busy = from.number();
    let polls = from.word();
    let wakes = u32::try_from(from.step(polls.into())).expect("it was written so");
    let changes = from.word();
    let wait = flags.has(HAS_WAIT).then(|| {
        let bits = |number| Bits48::of(number).expect("it had no more bits");
        let at = Line::of_number(from.name());
        let leaf = bits(from.step(cell.id() as u64));
        let resource = bits(from.near(cell.id() as u64));
        let owner = flags.has(HAS_OWNER).then(|| from.task());
        let other = flags.has(HAS_OTHER_SINCE).then(|| from.step(since.steps()));
        OneWait {
            owner,
            at,
            leaf,
            resource,
            since: other.map_or(since, CoarseTime::of_steps),
            kind: KINDS[flags.get(KIND)],
            standing: if flags.has(IS_INSIDE) {
                Standing::Inside
            } else {
                Standing::Direct
            },
        }
    });
    Record {
        cell: Some(cell),
        origin: Some(origin),
        name: None,
        parent,
        set,
        ran_on,
        state: STATES[flags.get(STATE)],
        spawned,
        since: since.ticks(),
        busy,
        polls,
        wakes,
        last_waker: flags.get(WAKER).checked_sub(1).map(|waker| WAKERS[waker]),
        changes,
        wakers,
        waits: Waits::of_parts(wait, waits),
    }
}

/// What a record has, and what has few values.
#[derive(Debug, Clone, Copy)]
struct Flags(u16);

impl Flags {
    fn set(&mut self, flag: u32, is_set: bool) {
        self.0 |= u16::from(is_set) << flag;
    }

    fn has(self, flag: u32) -> bool {
        self.0 >> flag & 1 != 0
    }

    /// Adds a number of a field that is still 0.
    fn add(&mut self, field: Field, number: usize) {
        let number = u16::try_from(number).expect("an index of a short list");
        self.0 |= number << field.shift;
    }

    fn get(self, field: Field) -> usize {
        (self.0 >> field.shift & field.mask).into()
    }
}

/// Bits of [`Flags`].
#[derive(Debug, Clone, Copy)]
struct Field {
    shift: u32,
    mask: u16,
}

const STATE: Field = Field { shift: 0, mask: 3 };
const WAKER: Field = Field { shift: 2, mask: 3 };
const KIND: Field = Field { shift: 4, mask: 15 };
const HAS_PARENT: u32 = 8;
const HAS_SET: u32 = 9;
const HAS_RUN: u32 = 10;
const HAS_OTHER_WAKERS: u32 = 11;
const HAS_WAIT: u32 = 12;
const IS_INSIDE: u32 = 13;
const HAS_OWNER: u32 = 14;
const HAS_OTHER_SINCE: u32 = 15;

/// Those in which a task does not run.
const STATES: [TaskState; 3] = [TaskState::Waiting, TaskState::Queued, TaskState::Frozen];
const WAKERS: [LastWaker; 2] = [LastWaker::Tokio, LastWaker::Other];
const KINDS: [WaitKind; 10] = [
    WaitKind::Task,
    WaitKind::Group,
    WaitKind::Receive,
    WaitKind::Send,
    WaitKind::ChannelEnd,
    WaitKind::Completion,
    WaitKind::Scope,
    WaitKind::Timer,
    WaitKind::Cancellation,
    WaitKind::Outside,
];
/// Bytes of a record that has a box.
const BESIDE_ONE: usize = BYTES_MAX - size_of::<Option<Box<Name>>>();
/// Bytes of one that has both.
const BESIDE_TWO: usize = BESIDE_ONE - size_of::<Option<Box<MoreWaits>>>();

// The addresses in it have 48 bits.
#[cfg(test)]
#[cfg(target_pointer_width = "64")]
mod tests {
    use super::{BESIDE_ONE, BESIDE_TWO, BYTES_MAX, KINDS, Packed, STATES, WAKERS, write};
    use crate::inspect::coarse::CoarseTime;
    use crate::inspect::interned::{Line, Origin};
    use crate::inspect::recorded::{Name, Record};
    use crate::inspect::recorded_cell::RecordedCell;
    use crate::inspect::task_number::TaskNumber;
    use crate::inspect::task_state::TaskState;
    use crate::inspect::wait_kind::WaitKind;
    use crate::inspect::waits::WaitRecord;
    use std::num::NonZeroU32;
    use std::ptr::NonNull;

    /// Numbers that look random, the same for the same seed.
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        }

        fn below(&mut self, limit: u32) -> u32 {
            let number = (self.next() >> 20) % u64::from(limit);
            number.try_into().unwrap()
        }

        /// Of any length.
        fn number(&mut self) -> u64 {
            let bits = self.below(65);
            self.next().checked_shr(64 - bits).unwrap_or(0)
        }

        fn address(&mut self) -> usize {
            usize::try_from(self.number() >> 17).unwrap_or(usize::MAX)
        }

        fn word(&mut self) -> u32 {
            (self.number() >> 32) as u32
        }

        fn name(&mut self) -> NonZeroU32 {
            NonZeroU32::new(self.word()).unwrap_or(NonZeroU32::MAX)
        }

        fn task(&mut self) -> TaskNumber {
            let uses = u64::from(self.word().max(1));
            TaskNumber::from_bits(uses << 32 | u64::from(self.word())).unwrap()
        }

        fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
            (self.below(2) == 0).then(|| make(self))
        }

        fn wait(&mut self) -> WaitRecord {
            WaitRecord {
                leaf: self.address(),
                kind: KINDS[self.below(10) as usize],
                resource: self.address(),
                owner: self.maybe(Self::task),
                set: None,
                at: Line::of_number(self.name()),
                since: self.number(),
                is_direct: self.below(2) == 0,
                frame: (self.below(4) == 0).into(),
            }
        }

        /// Of which about half fits.
        fn record(&mut self) -> Record {
            let mut record = Record {
                cell: Some(cell(self.address() | 16)),
                origin: Some(Origin::of_number(self.name())),
                name: self.maybe(|random| name(&random.next().to_string())),
                parent: self.maybe(Self::task),
                set: self.maybe(Self::name),
                ran_on: self.maybe(|random| (random.name(), random.word())),
                state: STATES[self.below(3) as usize],
                spawned: CoarseTime::of(self.number()),
                since: self.number(),
                busy: self.number(),
                polls: self.word(),
                wakes: self.word(),
                last_waker: self.maybe(|random| WAKERS[random.below(2) as usize]),
                changes: self.word(),
                wakers: self.below(3),
                ..Record::new(0)
            };
            if self.below(8) == 0 {
                record.set_wakers(None);
            }
            for _ in 0..[0, 1, 1, 2][self.below(4) as usize] {
                record.waits.add(self.wait());
            }
            if self.below(2) == 0 {
                record.waits.end_poll(record.since);
            }
            record
        }
    }

    fn cell(address: usize) -> RecordedCell {
        RecordedCell::new(NonNull::without_provenance(address.try_into().unwrap()))
    }

    fn name(name: &str) -> Box<Name> {
        Box::new(Name(name.into()))
    }

    /// All that is kept.
    fn shown(record: &Record) -> String {
        let since = CoarseTime::of(record.since).ticks();
        let record = Record {
            since,
            ..record.clone()
        };
        format!("{record:?}")
    }

    #[test]
    fn what_is_packed_comes_back_and_what_is_not_is_left_as_it_was() {
        let (rounds, mut packed) = if cfg!(miri) { (300, 0) } else { (50_000, 0) };
        for seed in 1..=rounds {
            let mut record = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed)).record();
            let before = shown(&record);
            match Packed::of(&mut record) {
                None => assert_eq!(shown(&record), before, "seed {seed}"),
                Some(mut it) => {
                    packed += 1;
                    let read = it.take_out();
                    assert_eq!(shown(&read), before, "seed {seed}");
                    let mut read = read;
                    it.put_back(read.take_boxes());
                    assert_eq!(it.cell().id(), read.id());
                    assert_eq!(shown(&it.take_out()), before, "seed {seed}, again");
                }
            }
        }
        assert!(packed > rounds / 20, "{packed} of {rounds}");
    }

    /// Of a task that another one has spawned, a year after the machine was started, and that has waited for an hour since.
    fn typical(kind: WaitKind, resource: usize, owner: Option<TaskNumber>) -> Record {
        let year = 365 * 24 * 3600 * 3_000_000_000;
        let at_cell = 0x7fff_1234_5670;
        let mut record = Record {
            cell: Some(cell(at_cell)),
            origin: Some(Origin::of_number(NonZeroU32::new(300).unwrap())),
            parent: TaskNumber::from_bits(1 << 32 | 5000),
            ran_on: Some((NonZeroU32::MIN, 31)),
            state: TaskState::Waiting,
            spawned: CoarseTime::of(year),
            since: year + 3_600 * 3_000_000_000,
            busy: 3_000_000,
            polls: 9,
            wakes: 8,
            last_waker: Some(super::LastWaker::Other),
            changes: 40,
            wakers: 1,
            ..Record::new(0)
        };
        record.waits.add(WaitRecord {
            leaf: at_cell + 100,
            kind,
            resource,
            owner,
            set: None,
            at: Line::of_number(NonZeroU32::new(400).unwrap()),
            since: record.since,
            is_direct: true,
            frame: 0,
        });
        record
    }

    #[test]
    fn a_typical_task_that_waits_fits_with_and_without_a_name() {
        let owner = TaskNumber::from_bits(1 << 32 | 16_000_000);
        let far = 0x5555_1234_5670;
        for (kind, resource, owner) in [
            (WaitKind::Receive, far, None),
            (WaitKind::Timer, 0, None),
            (WaitKind::Task, 0x7fff_4321_0000, owner),
            (WaitKind::Completion, far, None),
            (WaitKind::Cancellation, far, None),
        ] {
            let mut record = typical(kind, resource, owner);
            assert!(Packed::of(&mut record).is_some(), "{record:?}");
            record.name = Some(name("a name"));
            assert!(Packed::of(&mut record).is_some(), "{record:?}");
            // In frames, or for several things.
            record.waits.keep();
            assert!(matches!(Packed::of(&mut record), Some(Packed::Waiting(..))));
            record.name = Some(name("a name"));
            record.waits.keep();
            assert!(matches!(Packed::of(&mut record), Some(Packed::Both(..))));
        }
    }

    #[test]
    fn a_task_that_has_run_for_long_fits_and_one_that_runs_is_not_packed() {
        let mut record = Record {
            busy: 3_000_000_000 * 60,
            polls: 1_000_000,
            wakes: 999_990,
            changes: 4_000_000,
            parent: TaskNumber::from_bits(1 << 32 | 16_000_000),
            ..typical(WaitKind::Receive, 0x5555_1234_5670, None)
        };
        let written = write(&record, record.cell.unwrap()).unwrap();
        assert!(written.bytes::<BYTES_MAX>().is_some());
        for state in [TaskState::Running, TaskState::Blocked] {
            record.state = state;
            assert!(Packed::of(&mut record).is_none());
        }
        record.state = TaskState::Queued;
        record.begin_poll();
        assert!(
            Packed::of(&mut record).is_none(),
            "a wait of the poll before"
        );
    }

    #[test]
    fn what_has_few_values_has_its_number() {
        for (number, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
        for (number, waker) in WAKERS.into_iter().enumerate() {
            assert_eq!(waker as usize, number);
        }
        assert_eq!(
            (BESIDE_TWO < BESIDE_ONE, BESIDE_ONE < BYTES_MAX),
            (true, true)
        );
    }
}
