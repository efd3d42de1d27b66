//! What a task waits for, as its record keeps it.
//!
//! Not here: the other parts of a record (`record.rs`), and what is recorded when (`recording/enabled/tasks/hooks.rs` of the
//! library).

use crate::tasks::frames::Frames;
use crate::tasks::number::TaskNumber;
use crate::tasks::wait_kind::WaitKind;
use std::num::NonZeroU32;
use std::panic::Location;

/// What a task waits for.
#[derive(Debug, Clone, Default)]
pub struct Waits {
    /// While the task is polled, the first ones are those of the poll before.
    list: Vec<WaitRecord>,
    /// How many these are.
    earlier: usize,
    /// Waits that were not kept.
    pub left_out: u32,
    /// How many of those were direct.
    pub direct_left_out: u32,
    /// How many of the task's wakers exist; `None` if nobody has counted them.
    pub wakers: Option<u32>,
    /// The frames in which it waits; few tasks have any.
    pub frames: Option<Box<Frames>>,
}

/// One wait of a task.
#[derive(Debug, Clone, Copy)]
pub struct WaitRecord {
    /// Where the future that waits is.
    pub leaf: usize,
    /// What it waits for.
    pub kind: WaitKind,
    /// The address of that.
    pub resource: usize,
    /// The task that it waits for.
    pub owner: Option<TaskNumber>,
    /// The scope or group whose tasks it waits for.
    pub set: Option<AwaitedSet>,
    /// The line.
    pub at: &'static Location<'static>,
    /// When it began; 0 until the poll has ended in which it did.
    pub since: u64,
    /// The end of the wait wakes the task itself, not something inside it that may wait for more.
    pub is_direct: bool,
    /// The frame that waits, or 0.
    pub frame: usize,
}

/// A set of tasks that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedSet {
    /// Its number.
    pub number: NonZeroU32,
    /// What of it.
    pub until: SetWait,
}

/// What of a set of tasks is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetWait {
    /// The end of all its tasks. A task that has the scope can cancel the others.
    All,
    /// As [`All`](Self::All); one that fails cancels the others.
    AllOrFailure,
    /// The end of one of this many tasks.
    OneOf(u32),
    /// The end of each of its tasks, none of which can cancel the others.
    Each,
}

impl Waits {
    /// None yet, in these frames.
    #[inline]
    #[must_use]
    pub fn within(frames: Option<Box<Frames>>, wakers: Option<u32>) -> Self {
        Self {
            frames,
            wakers,
            ..Self::default()
        }
    }

    /// What the task waits for; while it is polled, those of this poll.
    #[inline]
    pub fn current(&self) -> impl Iterator<Item = WaitRecord> + '_ {
        self.list[self.earlier..].iter().copied()
    }

    /// Those of [`current`](Self::current) for tasks that were not recorded when they began.
    #[inline]
    pub fn without_owner(&mut self) -> impl Iterator<Item = &mut WaitRecord> {
        let current = self.list[self.earlier..].iter_mut();
        current.filter(|wait| wait.kind == WaitKind::Task && wait.owner.is_none())
    }

    /// The task is about to be polled: what it waited for so far counts only for since when it waits for the same again.
    /// `around`: the frame that is around all others; 0: none.
    #[inline]
    pub fn begin_poll(&mut self, around: usize) {
        self.forget_earlier();
        self.earlier = self.list.len();
        self.left_out = 0;
        self.direct_left_out = 0;
        if let Some(frames) = &mut self.frames {
            frames.forget(around);
        }
    }

    /// The poll has ended: waits that it began begin now.
    #[inline]
    pub fn end_poll(&mut self, now: u64) {
        self.forget_earlier();
        let begun = self.list.iter_mut().filter(|wait| wait.since == 0);
        begun.for_each(|wait| wait.since = now);
    }

    /// Adds a wait; one of the same future takes the place of the earlier one. If that was for the same thing, this one goes
    /// on with it. Direct waits are kept rather than others.
    #[inline]
    pub fn add(&mut self, mut wait: WaitRecord) {
        let known = self.list.iter().position(|known| known.leaf == wait.leaf);
        if let Some(place) = known {
            let earlier = &self.list[place];
            if (earlier.kind, earlier.resource) == (wait.kind, wait.resource) {
                wait.since = earlier.since;
            }
            if place >= self.earlier {
                self.list[place] = wait;
                return;
            }
            self.remove_at(place);
        }
        if self.list.len() - self.earlier < WAITS_MAX {
            // Few tasks have more waits than this one.
            self.list.reserve_exact(1);
            self.list.push(wait);
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

    /// Takes out a wait that is over: that of a future, or one that is the same. False: there is none.
    #[inline]
    pub fn remove(&mut self, is_over: impl Fn(&WaitRecord) -> bool) -> bool {
        let place = self.list.iter().position(is_over);
        place.map(|place| self.remove_at(place)).is_some()
    }

    /// A task was added to a scope or group that this one may wait for.
    #[inline]
    pub fn grow_set(&mut self, number: NonZeroU32) {
        let sets = self.list.iter_mut().flat_map(|wait| &mut wait.set);
        for set in sets.filter(|set| set.number == number) {
            if let SetWait::OneOf(tasks) = &mut set.until {
                *tasks += 1;
            }
        }
    }

    fn forget_earlier(&mut self) {
        self.list.drain(..self.earlier);
        self.earlier = 0;
    }

    fn remove_at(&mut self, place: usize) {
        self.list.remove(place);
        self.earlier -= usize::from(place < self.earlier);
    }
}

impl WaitRecord {
    /// Of a future that waits on this line, but in no frame, and for no task that is known.
    #[inline]
    #[must_use]
    pub fn new(
        leaf: usize,
        kind: WaitKind,
        resource: usize,
        at: &'static Location<'static>,
    ) -> Self {
        Self {
            leaf,
            kind,
            resource,
            owner: None,
            set: None,
            at,
            since: 0,
            is_direct: true,
            frame: 0,
        }
    }
}

/// Waits of one task that are kept.
const WAITS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::{AwaitedSet, SetWait, WAITS_MAX, WaitRecord, Waits};
    use crate::tasks::number::TaskNumber;
    use crate::tasks::wait_kind::WaitKind;
    use std::num::NonZeroU32;
    use std::panic::Location;

    #[test]
    fn waits_beyond_the_limit_are_counted_and_a_future_has_one() {
        let mut waits = Waits::default();
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
        (0..WAITS_MAX + 3).for_each(|leaf| waits.add(wait(leaf)));
        waits.add(wait(0));
        assert_eq!(waits.current().count(), WAITS_MAX);
        assert_eq!(waits.left_out, 3);
        waits.remove(|wait| wait.leaf == 0);
        assert_eq!(waits.current().count(), WAITS_MAX - 1);
        waits.begin_poll(0);
        assert_eq!((waits.current().count(), waits.left_out), (0, 0));
        (0..WAITS_MAX + 3).for_each(|leaf| waits.add(wait(leaf + 9)));
        assert_eq!(waits.current().count(), WAITS_MAX);
        waits.end_poll(99);
        assert_eq!(waits.list.len(), WAITS_MAX);
        waits.begin_poll(0);
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
        assert_eq!((waits.left_out, waits.direct_left_out), (2, 0));
        (100..100 + WAITS_MAX).for_each(|leaf| waits.add(wait(leaf)));
        assert_eq!(waits.direct_left_out, 1);
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
            at: Location::caller(),
            since,
            is_direct: true,
            frame: 0,
        };
        let poll = |kept: &mut Waits, waits: &[WaitRecord]| {
            kept.begin_poll(0);
            waits.iter().for_each(|wait| kept.add(*wait));
            kept.end_poll(99);
            let current = kept.current();
            current
                .map(|wait| (wait.leaf, wait.since))
                .collect::<Vec<_>>()
        };
        let first = [wait(1, 7, 10), wait(2, 8, 11)];
        assert_eq!(poll(&mut waits, &first), [(1, 10), (2, 11)]);
        // In another order, and one of them for something else.
        let second = [wait(2, 8, 20), wait(1, 9, 21), wait(1, 9, 22)];
        assert_eq!(poll(&mut waits, &second), [(2, 11), (1, 21)]);
        waits.remove(|wait| wait.leaf == 2);
        let third = [wait(1, 9, 30), wait(2, 8, 31)];
        assert_eq!(poll(&mut waits, &third), [(1, 21), (2, 31)]);
        assert_eq!(poll(&mut waits, &[wait(1, 9, 40)]), [(1, 21)]);
        let fifth = [wait(2, 8, 50), wait(1, 9, 51)];
        assert_eq!(poll(&mut waits, &fifth), [(2, 50), (1, 21)]);
        let sixth = [wait(2, 8, 0), wait(3, 9, 0)];
        assert_eq!(poll(&mut waits, &sixth), [(2, 50), (3, 99)]);
        assert_eq!(poll(&mut waits, &fifth), [(2, 50), (1, 51)]);
        waits.begin_poll(0);
        waits.remove(|wait| wait.leaf == 1);
        waits.add(wait(1, 9, 60));
        waits.end_poll(99);
        let current: Vec<_> = waits.current().collect();
        assert_eq!((current.len(), current[0].since), (1, 60));
    }

    #[test]
    fn a_set_grows_while_it_is_waited_for() {
        let mut waits = Waits::default();
        let set = AwaitedSet {
            number: NonZeroU32::MIN,
            until: SetWait::OneOf(3),
        };
        waits.add(WaitRecord {
            set: Some(set),
            ..wait(1)
        });
        waits.grow_set(NonZeroU32::MIN);
        waits.grow_set(NonZeroU32::MAX);
        let grown = waits.current().next().and_then(|wait| wait.set);
        assert_eq!(grown.map(|set| set.until), Some(SetWait::OneOf(4)));
    }

    #[test]
    fn an_earlier_wait_is_none_of_this_poll_and_its_beginning_outlives_others_beside_it() {
        let mut waits = Waits::default();
        waits.add(wait(1));
        waits.end_poll(10);
        waits.begin_poll(0);
        assert!(waits.current().next().is_none());
        waits.add(wait(2));
        let leaves = |waits: &Waits| waits.current().map(|wait| wait.leaf).collect::<Vec<_>>();
        assert_eq!(leaves(&waits), [2]);
        waits.add(wait(1));
        assert_eq!(leaves(&waits), [2, 1]);
        assert!(waits.remove(|wait| wait.leaf == 2));
        waits.end_poll(20);
        assert_eq!(waits.current().next().unwrap().since, 10);
        waits.begin_poll(0);
        waits.add(wait(1));
        waits.end_poll(25);
        assert_eq!(waits.current().next().unwrap().since, 10, "it goes on");
        waits.begin_poll(0);
        waits.end_poll(30);
        assert!(waits.current().next().is_none() && waits.list.is_empty());
    }

    /// A wait of the future at `leaf`.
    fn wait(leaf: usize) -> WaitRecord {
        WaitRecord {
            leaf,
            kind: WaitKind::Completion,
            resource: 7,
            owner: TaskNumber::from_bits(9),
            set: None,
            at: Location::caller(),
            since: 0,
            is_direct: true,
            frame: 0,
        }
    }
}
