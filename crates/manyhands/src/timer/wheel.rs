//! A hierarchical timing wheel: timers in lists, by the millisecond in which they are due.
//!
//! Six levels of 64 slots. A slot of level 0 is one tick, of level 1 64 ticks, and so on; the whole wheel
//! spans 2³⁶ ticks, more than two years, and what is due later waits in its last slot for another round.
//! Inserting and removing take constant time. A timer is moved down at most five times before it is due.
//! Timers due at the same tick fire in the order in which they reached that tick's slot.
//!
//! After G. Varghese and T. Lauck, "Hashed and Hierarchical Timing Wheels", SOSP 1987,
//! <https://doi.org/10.1145/41457.37504>.
//!
//! Not here: the clock, locks, wakers. The caller passes the current tick, and locks the wheel.
//!
//! # Which thread may touch what
//! Only the wheel reads and writes a node's links, while the wheel's owner has locked it. The node's owner
//! writes the deadline while the node is in no wheel, and never while it is in one; so both may read it. The thread
//! that inserted a node keeps it valid and does not move it until it is removed or fired. The code makes no reference
//! to a whole node, since two threads may access different fields of one.
//!
//! Unsafe: nodes are linked by pointer.

use crate::timer::Moment;
use std::ptr::{self, NonNull};

/// The part of a timer that the wheel links into its lists.
pub(crate) struct Node {
    /// What is before it in its list, or `Link::NONE` in no list.
    before: Link,
    after: Link,
    /// It is due at the first tick that is not before this.
    deadline: Moment,
}

/// A neighbour of a node, or, as an odd address, the ends of the list of a slot: each list is a circle through them. One
/// word, because every sleeping task has two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link(*mut Node);

impl Link {
    /// Of a node that is in no list.
    const NONE: Self = Self(ptr::null_mut());

    fn to(node: ValidNode) -> Self {
        Self(node.0.as_ptr())
    }

    /// The ends of the list of this slot: level × 64 + slot.
    fn ends_of(slot_index: usize) -> Self {
        Self(ptr::without_provenance_mut(slot_index << 1 | 1))
    }

    /// The node that it leads to, or else the slot to the ends of whose list; not of `NONE`.
    fn node(self) -> Result<ValidNode, usize> {
        match NonNull::new(self.0) {
            // SAFETY: made by `to`, and unlinked, with both neighbours' links, before its owner takes it away.
            Some(node) if self.0.addr().is_multiple_of(2) => Ok(unsafe { ValidNode::new(node) }),
            _ => Err(self.0.addr() >> 1),
        }
    }
}

impl Node {
    /// A node that is in no wheel.
    pub(crate) fn new(deadline: Moment) -> Self {
        Self {
            before: Link::NONE,
            after: Link::NONE,
            deadline,
        }
    }

    /// Its deadline.
    ///
    /// # Safety
    /// The node is valid, and no thread sets its deadline meanwhile.
    pub(crate) unsafe fn deadline(node: NonNull<Self>) -> Moment {
        // SAFETY: by the caller's promise.
        unsafe { (*node.as_ptr()).deadline }
    }

    /// Sets its deadline.
    ///
    /// # Safety
    /// The node is valid, in no wheel, and only the caller reaches it.
    pub(crate) unsafe fn set_deadline(node: NonNull<Self>, deadline: Moment) {
        // SAFETY: by the caller's promise.
        unsafe { (*node.as_ptr()).deadline = deadline };
    }
}

/// A node that the wheel may use: it is linked in the wheel, or the thread that passed it in keeps it valid. Only the functions of a
/// wheel that is borrowed by `&mut` have one, so no other thread accesses its links.
#[derive(Debug, Clone, Copy)]
struct ValidNode(NonNull<Node>);

impl ValidNode {
    /// # Safety
    /// The node is valid, and stays so until it is in no wheel and this value is not used any more.
    unsafe fn new(node: NonNull<Node>) -> Self {
        Self(node)
    }

    fn deadline(self) -> Moment {
        // SAFETY: valid; deadlines do not change while a node is inserted.
        unsafe { Node::deadline(self.0) }
    }

    /// The links to what is before and after it.
    fn links(self) -> (Link, Link) {
        let node = self.0.as_ptr();
        // SAFETY: valid, and only this thread accesses its links.
        let before = unsafe { (*node).before };
        // SAFETY: as above.
        (before, unsafe { (*node).after })
    }

    fn set_before(self, link: Link) {
        // SAFETY: valid, and only this thread accesses its links.
        unsafe { (*self.0.as_ptr()).before = link };
    }

    fn set_after(self, link: Link) {
        // SAFETY: as above.
        unsafe { (*self.0.as_ptr()).after = link };
    }
}

/// The result of one step of the wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// This node is due, and in no list any more.
    Due(NonNull<Node>),
    /// Some nodes were moved to finer levels; call again.
    Moved,
    /// Nothing more is due.
    Done,
}

/// Timers by the tick at which they are due.
pub(crate) struct Wheel {
    /// All timers due up to this tick have fired.
    now: u64,
    /// For each level one bit per slot: whether it has nodes.
    occupied: [u64; LEVELS],
    slots: Box<[List]>,
}

// SAFETY: the wheel is used through `&mut` only, and owns the nodes while they are linked. It does not depend on
// which thread that is.
unsafe impl Send for Wheel {}

impl Wheel {
    /// An empty wheel at tick `now`.
    pub(crate) fn new(now: u64) -> Self {
        Self {
            now,
            occupied: [0; LEVELS],
            slots: (0..LEVELS * SLOTS).map(List::empty).collect(),
        }
    }

    /// Links a node at tick `now` or later. A node that is due already fires at the next step.
    ///
    /// # Safety
    /// The node is in no wheel. It stays valid and is not moved until it is removed or fired.
    pub(crate) unsafe fn insert(&mut self, now: u64, node: NonNull<Node>) {
        if self.occupied == [0; LEVELS] {
            // The wheel is empty, so the current tick can jump; a node with a close deadline is moved down less often.
            self.now = self.now.max(now);
        }
        // SAFETY: by the caller's promise.
        self.link(unsafe { ValidNode::new(node) });
    }

    /// Takes a node out. Nothing happens if it is not linked.
    ///
    /// # Safety
    /// The node was inserted into this wheel or is in none, and is valid.
    pub(crate) unsafe fn remove(&mut self, node: NonNull<Node>) {
        // SAFETY: by the caller's promise.
        self.unlink(unsafe { ValidNode::new(node) });
    }

    /// Takes a node out, if it is linked.
    fn unlink(&mut self, node: ValidNode) {
        let (before, after) = node.links();
        if before == Link::NONE {
            return;
        }
        node.set_before(Link::NONE);
        node.set_after(Link::NONE);
        self.set_after(before, after);
        self.set_before(after, before);
        if let (Err(slot_index), Err(_)) = (before.node(), after.node()) {
            self.occupied[slot_index / SLOTS] &= !(1 << (slot_index % SLOTS));
        }
    }

    /// Sets what comes after a node, or first in a list.
    fn set_after(&mut self, before: Link, link: Link) {
        match before.node() {
            Ok(node) => node.set_after(link),
            Err(slot_index) => self.slots[slot_index].first = link,
        }
    }

    /// Sets what comes before a node, or last in a list.
    fn set_before(&mut self, after: Link, link: Link) {
        match after.node() {
            Ok(node) => node.set_before(link),
            Err(slot_index) => self.slots[slot_index].last = link,
        }
    }

    /// Takes out one node that is due by tick `to`, the earliest first. When none is left, the wheel's current tick is
    /// `to`. Each step is short, however many nodes there are.
    pub(crate) fn step(&mut self, to: u64) -> Step {
        let Some((level, slot, start)) = self.next_slot().filter(|(_, _, start)| *start <= to)
        else {
            self.now = self.now.max(to);
            return Step::Done;
        };
        self.now = self.now.max(start);
        let slot_index = level * SLOTS + slot;
        if level > 0 {
            self.spread(slot_index);
            return Step::Moved;
        }
        let node = self.slots[slot_index].first.node();
        let node = node.expect("an occupied slot has a first node");
        self.unlink(node);
        Step::Due(node.0)
    }

    /// Takes out any one node, due or not.
    pub(crate) fn take_any(&mut self) -> Option<NonNull<Node>> {
        let node = self.slots.iter().find_map(|slot| slot.first.node().ok())?;
        self.unlink(node);
        Some(node.0)
    }

    /// A tick before which nothing is due; `None` if the wheel is empty. A later call may return a later tick.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.next_slot().map(|(_, _, start)| start)
    }

    /// Moves some nodes of a slot whose time has begun to finer levels. Until the slot is empty, it
    /// remains the next one.
    fn spread(&mut self, slot_index: usize) {
        for _ in 0..MOVED_IN_A_STEP {
            let Ok(node) = self.slots[slot_index].first.node() else {
                return;
            };
            self.unlink(node);
            self.link(node);
        }
    }

    /// Links a node, which is in no list, by its deadline.
    fn link(&mut self, node: ValidNode) {
        let slot_index = slot_index_of(node.deadline().tick_due(), self.now);
        self.occupied[slot_index / SLOTS] |= 1 << (slot_index % SLOTS);
        let (ends, last) = (Link::ends_of(slot_index), self.slots[slot_index].last);
        node.set_before(last);
        node.set_after(ends);
        self.set_after(last, Link::to(node));
        self.set_before(ends, Link::to(node));
    }

    /// The slot that begins next: level, slot, first tick. On each level the slots follow each other in time,
    /// from the current one on, and a finer level's slots come before a coarser one's.
    fn next_slot(&self) -> Option<(usize, usize, u64)> {
        let of_level = |level: usize| {
            let occupied = self.occupied[level];
            if occupied == 0 {
                return None;
            }
            let current = slot_of(self.now, level);
            let ahead = occupied.rotate_right(current).trailing_zeros();
            let start_of_current = self.now & !(width_of(level) - 1);
            let start = start_of_current + u64::from(ahead) * width_of(level);
            // The current slot has begun already; its remaining nodes are being moved to finer levels.
            let start = self.now.max(start);
            Some((level, (current + ahead) as usize % SLOTS, start))
        };
        (0..LEVELS)
            .filter_map(of_level)
            .min_by_key(|(_, _, start)| *start)
    }
}

/// The slot of a deadline when the current tick is `now`: level × 64 + slot.
fn slot_index_of(deadline: u64, now: u64) -> usize {
    let latest = now.saturating_add(SPAN - width_of(LEVELS - 1));
    let deadline = deadline.clamp(now, latest);
    let differing = (deadline ^ now).checked_ilog2().unwrap_or(0);
    let level = (differing / SLOT_BITS) as usize;
    let level = level.min(LEVELS - 1);
    level * SLOTS + slot_of(deadline, level) as usize
}

/// The slot of a tick on a level.
fn slot_of(tick: u64, level: usize) -> u32 {
    ((tick / width_of(level)) & SLOT_MASK) as u32
}

/// Ticks in one slot of a level.
const fn width_of(level: usize) -> u64 {
    1 << (SLOT_BITS as usize * level)
}

/// The ends of a list of nodes. Both lead to themselves if it is empty.
struct List {
    first: Link,
    last: Link,
}

impl List {
    fn empty(slot_index: usize) -> Self {
        let ends = Link::ends_of(slot_index);
        Self {
            first: ends,
            last: ends,
        }
    }
}

const LEVELS: usize = 6;
const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_MASK: u64 = SLOTS as u64 - 1;
/// Nodes moved down in one step.
const MOVED_IN_A_STEP: usize = 64;
/// Ticks the wheel spans.
const SPAN: u64 = 1 << (SLOT_BITS as usize * LEVELS);

#[cfg(test)]
mod tests {
    use super::{MOVED_IN_A_STEP, Node, SPAN, Step, Wheel};
    use crate::timer::Moment;
    use std::collections::BTreeMap;
    use std::ptr::NonNull;

    /// Timers that are freed with their wheel.
    struct Timers {
        wheel: Wheel,
        nodes: Vec<NonNull<Node>>,
    }

    impl Timers {
        fn new(now: u64) -> Self {
            Self {
                wheel: Wheel::new(now),
                nodes: Vec::new(),
            }
        }

        /// Inserts a timer that is due at a tick, and returns its number.
        fn insert(&mut self, deadline: u64) -> usize {
            let node = Box::leak(Box::new(Node::new(Moment::at_tick(deadline))));
            let node = NonNull::from(node);
            // SAFETY: freed after the wheel's last use.
            unsafe { self.wheel.insert(self.wheel.now, node) };
            self.nodes.push(node);
            self.nodes.len() - 1
        }

        fn remove(&mut self, number: usize) {
            // SAFETY: it was inserted here, and it is valid.
            unsafe { self.wheel.remove(self.nodes[number]) };
        }

        /// Numbers of the timers that are due by `to`, in the order in which they fire.
        fn advance(&mut self, to: u64) -> Vec<usize> {
            let mut fired = Vec::new();
            loop {
                match self.wheel.step(to) {
                    Step::Due(node) => fired.push(node),
                    Step::Moved => {}
                    Step::Done => break,
                }
            }
            let number = |node: &NonNull<Node>| self.nodes.iter().position(|own| own == node);
            fired.iter().filter_map(number).collect()
        }
    }

    impl Drop for Timers {
        fn drop(&mut self) {
            for node in &self.nodes {
                // SAFETY: from a box, and the wheel is not used again.
                drop(unsafe { Box::from_raw(node.as_ptr()) });
            }
        }
    }

    #[test]
    fn a_timer_fires_at_its_tick_and_not_before() {
        for deadline in [1, 2, 63, 64, 65, 4_095, 4_096, 4_097, 300_000, 20_000_000] {
            let mut timers = Timers::new(0);
            let number = timers.insert(deadline);
            assert!(timers.advance(deadline - 1).is_empty(), "{deadline}");
            assert_eq!(timers.advance(deadline), [number], "{deadline}");
            assert_eq!(timers.wheel.next_due(), None);
        }
    }

    #[test]
    fn a_timer_that_is_due_already_fires_at_the_next_step() {
        let mut timers = Timers::new(10);
        let (now, past) = (timers.insert(10), timers.insert(0));
        assert_eq!(timers.wheel.next_due(), Some(10));
        assert_eq!(timers.advance(10), [now, past]);
    }

    #[test]
    fn many_timers_in_one_slot_are_moved_down_in_several_short_steps() {
        let mut timers = Timers::new(0);
        let count = MOVED_IN_A_STEP * 3 + 1;
        let deadline = 70_000;
        let all: Vec<_> = (0..count).map(|_| timers.insert(deadline)).collect();
        assert_eq!(timers.wheel.step(deadline - 1), Step::Moved);
        // Between two steps: a timer inserted now fires at its tick.
        let early = timers.insert(deadline - 1);
        assert_eq!(timers.advance(deadline - 1), [early]);
        assert_eq!(timers.advance(deadline), all);
    }

    #[test]
    fn a_removed_timer_never_fires_and_removing_it_twice_is_nothing() {
        let mut timers = Timers::new(0);
        let (first, second, third) = (timers.insert(5), timers.insert(5), timers.insert(5));
        timers.remove(second);
        timers.remove(second);
        assert_eq!(timers.advance(5), [first, third]);
        timers.remove(first);
        assert_eq!(timers.wheel.next_due(), None);
    }

    #[test]
    fn a_timer_beyond_the_span_waits_for_another_round() {
        let mut timers = Timers::new(77);
        let deadline = 3 * SPAN + 5;
        let number = timers.insert(deadline);
        assert!(timers.advance(deadline - 1).is_empty());
        assert_eq!(timers.advance(deadline), [number]);
    }

    #[test]
    fn advancing_only_at_next_due_fires_every_timer_at_its_tick() {
        let mut timers = Timers::new(0);
        let deadlines = [3, 70, 71, 5_000, 5_000, 262_144, 262_145];
        for deadline in deadlines {
            timers.insert(deadline);
        }
        let mut fired = Vec::new();
        let mut looks = 0;
        while let Some(due) = timers.wheel.next_due() {
            assert!(due >= timers.wheel.now);
            fired.extend(timers.advance(due).into_iter().map(|_| due));
            looks += 1;
        }
        assert_eq!(fired, deadlines);
        assert!(looks < 30, "{looks} looks for seven timers");
    }

    #[test]
    fn random_timers_fire_as_in_an_ordered_map() {
        for seed in 1..=40_u64 {
            let mut random = Xorshift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let start = random.below(1 << 20);
            let mut timers = Timers::new(start);
            let mut oracle = BTreeMap::<u64, Vec<usize>>::new();
            let mut now = start;
            for _ in 0..600 {
                match random.below(4) {
                    0 | 1 => {
                        let spread = 1 << random.below(24);
                        let deadline = now + random.below(spread);
                        let number = timers.insert(deadline);
                        oracle.entry(deadline).or_default().push(number);
                    }
                    2 => {
                        if let Some(mut entry) = oracle.last_entry() {
                            let number = entry.get_mut().pop().unwrap();
                            if entry.get().is_empty() {
                                entry.remove();
                            }
                            timers.remove(number);
                        }
                    }
                    _ => {
                        let spread = 1 << random.below(18);
                        now += random.below(spread);
                        let later = oracle.split_off(&(now + 1));
                        let due = std::mem::replace(&mut oracle, later);
                        let mut expected: Vec<usize> = due.into_values().flatten().collect();
                        let mut fired = timers.advance(now);
                        expected.sort_unstable();
                        fired.sort_unstable();
                        assert_eq!(fired, expected, "seed {seed}");
                    }
                }
            }
        }
    }

    struct Xorshift(u64);

    impl Xorshift {
        fn below(&mut self, end: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % end
        }
    }
}
