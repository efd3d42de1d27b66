//! What a task waits for, as its record keeps it.
//!
//! Nearly every task waits for one thing. That wait lies in the record (`one_wait.rs`). What else there can be lies in a box
//! that other tasks do not have: several waits, frames, kept wakers, and a wait that does not fit.
//!
//! Not here: the other parts of a record (`table.rs`), and what is recorded when (`record.rs`).

use crate::inspect::awaited_set::AwaitedSet;
use crate::inspect::coarse::CoarseTime;
use crate::inspect::frames::Frames;
use crate::inspect::interned::Line;
use crate::inspect::one_wait::OneWait;
use crate::inspect::task_number::TaskNumber;
use crate::inspect::wait_kind::WaitKind;
use std::mem;
use std::num::NonZeroU32;

/// What a task waits for.
#[derive(Debug, Clone, Default)]
pub(super) struct Waits(Held);

#[derive(Debug, Clone, Default)]
enum Held {
    #[default]
    Nothing,
    One(OneWait),
    More(Box<MoreWaits>),
}

/// What of a task's waits does not lie in its record.
#[derive(Debug, Clone, Default)]
pub(super) struct MoreWaits {
    /// While the task is polled, the first ones are those of the poll before.
    list: Vec<WaitRecord>,
    /// How many these are.
    earlier: usize,
    /// Waits that were not kept.
    left_out: u32,
    /// How many of those were direct.
    direct_left_out: u32,
    /// How many of the task's wakers this library keeps besides those of its waits.
    kept: u32,
    /// The frames in which it waits.
    frames: Frames,
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
    pub(super) at: Line,
    /// When it began; 0 until the poll has ended in which it did. Of a task's only wait as exact as [`CoarseTime`].
    pub(super) since: u64,
    /// The end of the wait wakes the task itself, not something inside it that may wait for more.
    pub(super) is_direct: bool,
    /// The frame that waits, or 0.
    pub(super) frame: usize,
}

impl Waits {
    /// Of a task that is in these frames.
    pub(super) fn none_yet(frames: Option<Frames>) -> Self {
        let mut waits = Self::default();
        if let Some(frames) = frames {
            waits.more().frames = frames;
        }
        waits
    }

    /// What the task waits for; while it is polled, those of this poll.
    pub(super) fn current(&self) -> impl Iterator<Item = WaitRecord> + '_ {
        let (one, list): (_, &[WaitRecord]) = match &self.0 {
            Held::Nothing => (None, &[]),
            Held::One(wait) => ((!wait.is_earlier()).then(|| wait.record()), &[]),
            Held::More(more) => (None, more.current()),
        };
        one.into_iter().chain(list.iter().copied())
    }

    /// Waits that were not kept.
    pub(super) fn left_out(&self) -> u32 {
        self.boxed().map_or(0, |more| more.left_out)
    }

    /// How many of those were direct.
    pub(super) fn direct_left_out(&self) -> u32 {
        self.boxed().map_or(0, |more| more.direct_left_out)
    }

    /// How many of the task's wakers this library keeps besides those of its waits.
    pub(super) fn kept(&self) -> u32 {
        self.boxed().map_or(0, |more| more.kept)
    }

    /// The library keeps one more.
    pub(super) fn keep(&mut self) {
        self.more().kept += 1;
    }

    /// The frames in which the task waits.
    pub(super) fn frames(&self) -> Option<&Frames> {
        self.boxed().map(|more| &more.frames)
    }

    /// The same, to take one out.
    pub(super) fn frames_mut(&mut self) -> Option<&mut Frames> {
        match &mut self.0 {
            Held::More(more) => Some(&mut more.frames),
            Held::Nothing | Held::One(_) => None,
        }
    }

    /// The same, to add one.
    pub(super) fn frames_to_enter(&mut self) -> &mut Frames {
        &mut self.more().frames
    }

    /// The task is about to be polled: what it waited for so far counts only for since when it waits for the same again.
    pub(super) fn begin_poll(&mut self) {
        match &mut self.0 {
            Held::Nothing => {}
            Held::One(wait) if wait.is_earlier() => self.0 = Held::Nothing,
            Held::One(wait) => wait.standing = wait.standing.earlier(),
            Held::More(more) => more.begin_poll(),
        }
    }

    /// The poll has ended: waits that it began begin now.
    #[inline]
    pub(super) fn end_poll(&mut self, now: u64) {
        match &mut self.0 {
            Held::One(wait) if wait.is_earlier() => self.0 = Held::Nothing,
            Held::One(wait) if wait.since == CoarseTime::NONE => {
                wait.since = CoarseTime::of(now);
            }
            Held::Nothing | Held::One(_) => {}
            Held::More(_) => self.end_poll_in_box(now),
        }
    }

    #[cold]
    fn end_poll_in_box(&mut self, now: u64) {
        let more = self.more();
        more.end_poll(now);
        if let Some(held) = more.in_short() {
            self.0 = held;
        }
    }

    /// Adds a wait; one of the same future takes the place of the earlier one. If that was for the same thing, this one goes
    /// on with it. Direct waits are kept rather than others.
    pub(super) fn add(&mut self, mut wait: WaitRecord) {
        let is_only = match &self.0 {
            Held::Nothing => true,
            Held::One(known) if known.leaf.get() == wait.leaf as u64 => {
                wait.go_on_with(&known.record());
                true
            }
            Held::One(_) | Held::More(_) => false,
        };
        match OneWait::of(&wait).filter(|_| is_only) {
            Some(one) => self.0 = Held::One(one),
            None => self.more().add(wait),
        }
    }

    /// Takes out the wait of a future that is dropped, or whose wait is over. False: there is none.
    #[inline]
    pub(super) fn remove(&mut self, leaf: usize) -> bool {
        match &mut self.0 {
            Held::One(wait) if wait.leaf.get() == leaf as u64 => {
                self.0 = Held::Nothing;
                true
            }
            Held::Nothing | Held::One(_) => false,
            Held::More(more) => more.remove_wait_of(leaf),
        }
    }

    /// Takes out a wait that is the same as that of a future which was moved. False: there is none.
    pub(super) fn remove_same(&mut self, is_same: impl Fn(&WaitRecord) -> bool) -> bool {
        let leaf = match &self.0 {
            Held::Nothing => None,
            Held::One(wait) => Some(wait.record()).filter(is_same).map(|wait| wait.leaf),
            Held::More(more) => more
                .list
                .iter()
                .find(|wait| is_same(wait))
                .map(|wait| wait.leaf),
        };
        leaf.is_some_and(|leaf| self.remove(leaf))
    }

    /// A task was added to a scope or group that this one may wait for.
    pub(super) fn grow_set(&mut self, number: NonZeroU32) {
        // The only wait of a task is in the box if it is for a set.
        if let Held::More(more) = &mut self.0 {
            let sets = more.list.iter_mut().flat_map(|wait| &mut wait.set);
            sets.filter(|set| set.number == number)
                .for_each(AwaitedSet::grow);
        }
    }

    /// Of these parts, of which there is at most one.
    pub(super) fn of_parts(one: Option<OneWait>, more: Option<Box<MoreWaits>>) -> Self {
        let one = one.map(Held::One);
        Self(more.map(Held::More).or(one).unwrap_or_default())
    }

    /// The wait that lies in the record.
    pub(super) fn in_record(&self) -> Option<&OneWait> {
        match &self.0 {
            Held::One(wait) => Some(wait),
            Held::Nothing | Held::More(_) => None,
        }
    }

    /// Whether something does not lie in the record.
    pub(super) fn are_boxed(&self) -> bool {
        self.boxed().is_some()
    }

    /// Takes out what does not lie in the record.
    pub(super) fn take_box(&mut self) -> Option<Box<MoreWaits>> {
        if !self.are_boxed() {
            return None;
        }
        match mem::take(&mut self.0) {
            Held::More(more) => Some(more),
            Held::Nothing | Held::One(_) => None,
        }
    }

    fn boxed(&self) -> Option<&MoreWaits> {
        match &self.0 {
            Held::More(more) => Some(more),
            Held::Nothing | Held::One(_) => None,
        }
    }

    /// The box, which is made if there is none.
    fn more(&mut self) -> &mut MoreWaits {
        if !matches!(self.0, Held::More(_)) {
            let mut more = Box::<MoreWaits>::default();
            if let Held::One(wait) = mem::replace(&mut self.0, Held::Nothing) {
                more.earlier = usize::from(wait.is_earlier());
                more.push(wait.record());
            }
            self.0 = Held::More(more);
        }
        match &mut self.0 {
            Held::More(more) => more,
            Held::Nothing | Held::One(_) => unreachable!("it was made above"),
        }
    }
}

impl MoreWaits {
    fn current(&self) -> &[WaitRecord] {
        &self.list[self.earlier..]
    }

    /// The same without the box, if nothing is in it that needs one.
    fn in_short(&self) -> Option<Held> {
        let needs_none =
            self.earlier == 0 && self.left_out == 0 && self.kept == 0 && self.frames.are_none();
        match self.list.as_slice() {
            [] => needs_none.then_some(Held::Nothing),
            [wait] if needs_none => OneWait::of(wait).map(Held::One),
            _ => None,
        }
    }

    fn begin_poll(&mut self) {
        self.forget_earlier();
        self.earlier = self.list.len();
        self.left_out = 0;
        self.direct_left_out = 0;
        self.kept = 0;
        self.frames.forget();
    }

    fn end_poll(&mut self, now: u64) {
        self.forget_earlier();
        let begun = self.list.iter_mut().filter(|wait| wait.since == 0);
        begun.for_each(|wait| wait.since = now);
    }

    fn add(&mut self, mut wait: WaitRecord) {
        let known = self.list.iter().position(|known| known.leaf == wait.leaf);
        if let Some(place) = known {
            wait.go_on_with(&self.list[place]);
            if place >= self.earlier {
                self.list[place] = wait;
                return;
            }
            self.remove(place);
        }
        if self.current().len() < WAITS_MAX {
            self.push(wait);
        } else {
            self.left_out += 1;
            let current = &mut self.list[self.earlier..];
            let other = current.iter_mut().rfind(|known| !known.is_direct);
            match other.filter(|_| wait.is_direct) {
                Some(other) => *other = wait,
                None => self.direct_left_out += u32::from(wait.is_direct),
            }
        }
    }

    /// Few tasks have more waits than this one.
    fn push(&mut self, wait: WaitRecord) {
        self.list.reserve_exact(1);
        self.list.push(wait);
    }

    #[cold]
    fn remove_wait_of(&mut self, leaf: usize) -> bool {
        let place = self.list.iter().position(|wait| wait.leaf == leaf);
        place.map(|place| self.remove(place)).is_some()
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

/// Waits of one task that are kept.
const WAITS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::{Held, WAITS_MAX, WaitRecord, Waits};
    use crate::inspect::awaited_set::{AwaitedSet, SetWait};
    use crate::inspect::interned::Line;
    use crate::inspect::task_number::TaskNumber;
    use crate::inspect::wait_kind::WaitKind;
    use std::num::NonZeroU32;
    use std::panic::Location;

    /// A wait that lies in the record knows its time to this.
    const T: u64 = 1 << 12;

    #[test]
    fn waits_beyond_the_limit_are_counted_and_a_future_has_one() {
        let mut waits = Waits::default();
        let wait = |leaf| WaitRecord {
            leaf,
            kind: WaitKind::Timer,
            resource: 0,
            owner: None,
            set: None,
            at: Line::of(Location::caller()),
            since: 0,
            is_direct: true,
            frame: 0,
        };
        (0..WAITS_MAX + 3).for_each(|leaf| waits.add(wait(leaf)));
        waits.add(wait(0));
        assert_eq!(waits.current().count(), WAITS_MAX);
        assert_eq!(waits.left_out(), 3);
        waits.remove(0);
        assert_eq!(waits.current().count(), WAITS_MAX - 1);
        waits.begin_poll();
        assert_eq!((waits.current().count(), waits.left_out()), (0, 0));
        (0..WAITS_MAX + 3).for_each(|leaf| waits.add(wait(leaf + 9)));
        assert_eq!(waits.current().count(), WAITS_MAX);
        waits.end_poll(99);
        assert_eq!(waits.more().list.len(), WAITS_MAX);
        waits.begin_poll();
        waits.end_poll(99);
        // Direct waits come in place of others.
        let inside = |leaf| WaitRecord {
            is_direct: false,
            ..wait(leaf)
        };
        (0..WAITS_MAX).for_each(|leaf| waits.add(inside(leaf)));
        waits.add(wait(WAITS_MAX));
        waits.add(inside(WAITS_MAX + 1));
        let direct = waits.current().filter(|wait| wait.is_direct);
        assert_eq!((direct.count(), waits.current().count()), (1, WAITS_MAX));
        assert_eq!((waits.left_out(), waits.direct_left_out()), (2, 0));
        (100..100 + WAITS_MAX).for_each(|leaf| waits.add(wait(leaf)));
        assert_eq!(waits.direct_left_out(), 1);
    }

    #[test]
    fn a_wait_for_the_same_goes_on_in_the_next_poll_unless_it_was_over_or_left_out_in_between() {
        let mut waits = Waits::default();
        let wait = |leaf, resource, since| WaitRecord {
            leaf,
            kind: WaitKind::Receive,
            resource,
            owner: None,
            set: None,
            at: Line::of(Location::caller()),
            since: since * T,
            is_direct: true,
            frame: 0,
        };
        let poll = |kept: &mut Waits, waits: &[WaitRecord]| {
            kept.begin_poll();
            waits.iter().for_each(|wait| kept.add(*wait));
            kept.end_poll(99 * T);
            let current = kept.current();
            current
                .map(|wait| (wait.leaf, wait.since / T))
                .collect::<Vec<_>>()
        };
        let first = [wait(1, 7, 10), wait(2, 8, 11)];
        assert_eq!(poll(&mut waits, &first), [(1, 10), (2, 11)]);
        // In another order, and one of them for something else.
        let second = [wait(2, 8, 20), wait(1, 9, 21), wait(1, 9, 22)];
        assert_eq!(poll(&mut waits, &second), [(2, 11), (1, 21)]);
        waits.remove(2);
        let third = [wait(1, 9, 30), wait(2, 8, 31)];
        assert_eq!(poll(&mut waits, &third), [(1, 21), (2, 31)]);
        assert_eq!(poll(&mut waits, &[wait(1, 9, 40)]), [(1, 21)]);
        let fifth = [wait(2, 8, 50), wait(1, 9, 51)];
        assert_eq!(poll(&mut waits, &fifth), [(2, 50), (1, 21)]);
        let sixth = [wait(2, 8, 0), wait(3, 9, 0)];
        assert_eq!(poll(&mut waits, &sixth), [(2, 50), (3, 99)]);
        assert_eq!(poll(&mut waits, &fifth), [(2, 50), (1, 51)]);
        waits.begin_poll();
        waits.remove(1);
        waits.add(wait(1, 9, 60));
        waits.end_poll(99);
        let current: Vec<_> = waits.current().collect();
        assert_eq!((current.len(), current[0].since), (1, 60 * T));
    }

    /// A wait for the resource 7 of the future at `leaf`.
    fn wait(leaf: usize) -> WaitRecord {
        WaitRecord {
            leaf,
            kind: WaitKind::Completion,
            resource: 7,
            owner: TaskNumber::from_bits(9),
            set: None,
            at: Line::of(Location::caller()),
            since: 0,
            is_direct: true,
            frame: 0,
        }
    }

    fn is_in_short(waits: &Waits) -> bool {
        matches!(waits.0, Held::One(_))
    }

    #[test]
    fn a_task_s_only_wait_has_no_box_and_is_the_same_as_in_one() {
        assert_eq!(size_of::<Waits>(), 32);
        let of_inside = WaitRecord {
            is_direct: false,
            ..wait(5)
        };
        for wait in [wait(5), of_inside] {
            let mut waits = Waits::default();
            waits.add(wait);
            assert!(is_in_short(&waits));
            let in_short = waits.current().next().unwrap();
            waits.keep();
            assert!(!is_in_short(&waits));
            let in_box = waits.current().next().unwrap();
            let text = format!("{wait:?}");
            assert_eq!(
                (format!("{in_short:?}"), format!("{in_box:?}")),
                (text.clone(), text)
            );
            waits.begin_poll();
            waits.add(wait);
            waits.end_poll(T);
            assert!(is_in_short(&waits), "nothing needs the box any more");
            assert!(waits.remove(5) && !waits.remove(5) && waits.current().next().is_none());
        }
    }

    #[test]
    fn what_does_not_fit_beside_the_others_has_a_box_and_loses_nothing() {
        let set = AwaitedSet {
            number: NonZeroU32::MIN,
            until: SetWait::OneOf(3),
        };
        let of_set = WaitRecord {
            set: Some(set),
            ..wait(1)
        };
        let in_frame = WaitRecord {
            frame: 8,
            ..wait(1)
        };
        let far = WaitRecord {
            resource: usize::MAX,
            ..wait(1)
        };
        for wait in [of_set, in_frame, far] {
            let mut waits = Waits::default();
            waits.add(wait);
            waits.grow_set(NonZeroU32::MIN);
            waits.end_poll(T);
            let kept = waits.current().next().unwrap();
            assert_eq!((kept.frame, kept.resource), (wait.frame, wait.resource));
            let grown = kept.set.map(|set| set.until);
            assert_eq!(grown, wait.set.map(|_| SetWait::OneOf(4)));
        }
    }

    #[test]
    fn an_earlier_wait_is_none_of_this_poll_and_its_beginning_outlives_others_beside_it() {
        let mut waits = Waits::default();
        waits.add(wait(1));
        waits.end_poll(10 * T);
        waits.begin_poll();
        assert!(waits.current().next().is_none() && is_in_short(&waits));
        waits.add(wait(2));
        let leaves = |waits: &Waits| waits.current().map(|wait| wait.leaf).collect::<Vec<_>>();
        assert_eq!(leaves(&waits), [2]);
        waits.add(wait(1));
        assert_eq!(leaves(&waits), [2, 1]);
        assert!(waits.remove(2));
        waits.end_poll(20 * T);
        assert!(is_in_short(&waits));
        assert_eq!(waits.current().next().unwrap().since, 10 * T);
        waits.begin_poll();
        waits.add(wait(1));
        waits.end_poll(25 * T);
        assert!(is_in_short(&waits));
        assert_eq!(waits.current().next().unwrap().since, 10 * T, "it goes on");
        waits.begin_poll();
        waits.end_poll(30 * T);
        assert!(waits.current().next().is_none() && matches!(waits.0, Held::Nothing));
    }
}
