//! Which runner runs which positions of a shared loop, and when the loop is over.
//!
//! Runners ask for their `next` positions until there are none. A helper may `leave` with positions in its range; the
//! owner continues until no runner can have left any behind.
//!
//! # Nothing is lost
//! A position is in a range, in one runner's `Claim` (which cannot be dropped), or spent. Helpers hold a guard, and no
//! runner has a claim when it drops its guard. So when the slot is closed and drained, every position is in a range or
//! spent, and only the owner can change that. Unless the loop was stopped, the owner ends it only when all ranges are
//! empty. Nothing depends on whether a runner that saw no positions has seen all there were: a thief may have held
//! half a range. At the end the number of spent positions is compared with the loop's length.
//! # No runner waits while positions are left
//! It would be too late if the owner looked again only when the last helper has left: a helper may leave many
//! positions behind while another is in the middle of a long item. So
//! 1. a runner that leaves positions behind recalls the owner (`RECALLED` in the slot, see `helper_slot.rs`);
//! 2. a runner that sees no positions sets `MISSED`. A runner that reads this flag while it has positions left recalls
//!    the owner and invites others; it may read it a block late. So a loop gets back the runners that looked while a
//!    thief held half a range;
//! 3. a runner that sees no positions dismisses further helpers (`dismiss`) and looks once more after that. A helper
//!    that leaves positions invites them. Both change the slot's state, so one of them is first. If the invitation is
//!    first, the dismissing runner acquires what the helper left, and its second look sees it, unless another runner
//!    has taken it, which then has positions. Otherwise the invitation stands.
//!
//! # One runner
//! While `ALONE` is set only the owner runs: helpers leave after their next block, as those that are wanted elsewhere do,
//! and a helper that comes dismisses the others. The owner sets and clears it between two of its own blocks, so it has
//! yet to look whether positions are left. When it clears the flag it invites helpers after that, and a helper that has
//! dismissed the others reads the flag after that, all in one order (SeqCst): so the invitation stands, or the helper
//! renews it.
//!
//! # Near the front
//! Where only what comes before the end counts, a thief leaves few positions to the runner whose range it takes. That runner
//! may have left, or leave: so positions without a runner come first, block by block, for each runner whose own range lies
//! behind them. No claim lies behind its runner's own range. `ABANDONED` says that there may be some.
//!
//! # Ordering
//! The other signals are Relaxed: each only makes a runner look, and the ranges say what there is.

use crate::engine::ranges::{Claim, RangeSet};
use crate::job::abort;
use crate::runtime::HelperSlot;
use crate::sync::Parker;
use crate::sync::atomic::{AtomicU32, Ordering};

/// The positions of one loop, and the slot in which it is open.
pub(crate) struct Sharing<'slot> {
    slot: &'slot HelperSlot,
    /// The owner's parker.
    owner: &'slot Parker,
    /// A runner spends what it has claimed there.
    pub(crate) ranges: RangeSet,
    len: u32,
    /// All runners stay near the first positions that are left.
    pub(crate) is_near_the_front: bool,
    signals: AtomicU32,
}

/// What a runner does after a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// It takes more positions, at most `max`.
    GoOn { max: u32 },
    /// Helper: it leaves before the loop is over.
    Leave,
    /// It stops the loop.
    Stop,
}

/// The owner's runner number.
pub(crate) const OWNER: usize = 0;

impl<'slot> Sharing<'slot> {
    /// All `len` positions belong to the owner, which sleeps at `owner`; room for this number of runners.
    pub(crate) fn new(
        slot: &'slot HelperSlot,
        owner: &'slot Parker,
        runners: usize,
        len: u32,
    ) -> Self {
        Self {
            slot,
            owner,
            ranges: RangeSet::new(runners, len),
            len,
            is_near_the_front: false,
            signals: AtomicU32::new(0),
        }
    }

    /// Owner, with the loop open in its slot: calls `work`, which calls `run` as [`OWNER`], and `wait`, which returns when
    /// [`HelperSlot::is_released`], until the loop is over and all helpers have left. The slot is closed then. `discard`
    /// gets the positions that were not run because the loop was stopped.
    pub(crate) fn run_to_end(
        &self,
        mut work: impl FnMut(),
        wait: impl Fn(),
        mut discard: impl FnMut(Claim),
    ) {
        loop {
            work();
            self.slot.close();
            wait();
            if self.slot.is_drained() && (self.is_stopped() || self.ranges.left() == 0) {
                break;
            }
            self.slot.reopen();
        }
        while let Some(claim) = self.take_rest() {
            discard(claim);
        }
        self.check_all_spent();
    }

    /// Owner, when the loop is over: the positions that were not run, because the loop was stopped.
    fn take_rest(&self) -> Option<Claim> {
        (0..self.ranges.count()).find_map(|range| self.ranges.take_all(range))
    }

    /// Owner, at the very end: checks that every position was spent. Otherwise the caller would read memory that no
    /// runner has written, or miss work that no runner has done.
    fn check_all_spent(&self) {
        if self.ranges.spent() != u64::from(self.len) {
            abort("a parallel loop has lost some of its items");
        }
    }

    /// Calls `block` with positions for `runner`, at first at most `max` of them, until none are left for it or `block`
    /// ends the run.
    #[inline]
    pub(crate) fn run(&self, runner: usize, mut max: u32, mut block: impl FnMut(Claim) -> After) {
        while let Some(claim) = self.next(runner, max) {
            match block(claim) {
                After::GoOn { .. } if runner != OWNER && self.is_alone() => {
                    return self.leave(runner);
                }
                After::GoOn { max: next } => max = next,
                After::Leave => return self.leave(runner),
                After::Stop => return self.stop(),
            }
        }
        if runner != OWNER {
            // If it is invited again, its range is free.
            self.ranges.detach(runner);
        }
    }

    /// Helper: joins as the returned runner; `None` if there are enough.
    pub(crate) fn attach(&self) -> Option<usize> {
        if self.is_alone() {
            self.slot.dismiss();
            // SeqCst: see the file's header.
            if self.signals.load(Ordering::SeqCst) & ALONE == 0 {
                self.slot.invite();
            }
            return None;
        }
        let me = self.ranges.attach();
        if me.is_none() {
            self.slot.dismiss();
            if self.ranges.has_room() {
                // A runner has left meanwhile.
                self.slot.invite();
            }
        }
        me
    }

    /// The next positions for `runner`, at most `max`; `None` when the loop is over for it.
    pub(super) fn next(&self, runner: usize, max: u32) -> Option<Claim> {
        loop {
            // Relaxed: a runner acts on a signal a block earlier or later.
            let signals = self.signals.load(Ordering::Relaxed);
            if signals & STOPPED != 0 {
                self.slot.dismiss();
                return None;
            }
            let abandoned = (signals & ABANDONED != 0)
                .then(|| self.take_abandoned(runner, max))
                .flatten();
            if let Some(claim) = abandoned.or_else(|| self.ranges.claim(runner, max)) {
                if signals & MISSED != 0 && self.ranges.has_some(runner) {
                    self.call_back();
                }
                return Some(claim);
            }
            if !self.steal(runner, max) && !self.recheck(runner, max) {
                return None;
            }
        }
    }

    /// A helper has left its range, or a thief a part of one that may have no runner.
    fn note_abandoned(&self) {
        if self.is_near_the_front {
            // Relaxed: see the file's header.
            self.signals.fetch_or(ABANDONED, Ordering::Relaxed);
        }
    }

    /// At most `max` positions that no runner has, and that lie before those of `runner`.
    #[cold]
    fn take_abandoned(&self, runner: usize, max: u32) -> Option<Claim> {
        // Relaxed, here and below: see the file's header. The flag is cleared before the look, and set again if there
        // are more.
        self.signals.fetch_and(!ABANDONED, Ordering::Relaxed);
        let (claim, are_more) = self.ranges.take_abandoned(runner, max);
        if are_more {
            // Relaxed: as above.
            self.signals.fetch_or(ABANDONED, Ordering::Relaxed);
        }
        claim
    }

    /// Helper without a claim: leaves before the loop is over, and leaves its range to others.
    fn leave(&self, runner: usize) {
        self.ranges.detach(runner);
        self.note_abandoned();
        self.call_back();
    }

    /// No more positions are to be run.
    pub(crate) fn stop(&self) {
        // Relaxed: see the file's header.
        self.signals.fetch_or(STOPPED, Ordering::Relaxed);
    }

    /// Whether the loop was stopped.
    pub(crate) fn is_stopped(&self) -> bool {
        // Relaxed: see the file's header.
        self.signals.load(Ordering::Relaxed) & STOPPED != 0
    }

    /// Owner, between two blocks: helpers leave, and no others join, until [`share_again`](Self::share_again).
    pub(crate) fn send_helpers_away(&self) {
        // Relaxed: helpers see it a block earlier or later.
        self.signals.fetch_or(ALONE, Ordering::Relaxed);
        self.slot.dismiss();
        #[cfg(all(test, not(any(loom, shuttle))))]
        window::pass(window::Point::SentAway);
    }

    /// Owner, between two blocks: helpers may join again.
    pub(crate) fn share_again(&self) {
        // SeqCst: see the file's header.
        self.signals.fetch_and(!ALONE, Ordering::SeqCst);
        self.slot.invite();
        #[cfg(all(test, not(any(loom, shuttle))))]
        window::pass(window::Point::SharedAgain);
    }

    fn is_alone(&self) -> bool {
        // Relaxed: see the file's header.
        self.signals.load(Ordering::Relaxed) & ALONE != 0
    }

    /// The number of runners, the owner included. An estimate.
    pub(crate) fn runners(&self) -> usize {
        1 + self.ranges.attached()
    }

    /// Takes a part of the longest range for `runner`, whose own is empty and whose blocks have `max` positions.
    fn steal(&self, runner: usize, max: u32) -> bool {
        let left_max = match self.is_near_the_front {
            true => max.saturating_mul(BLOCKS_LEFT),
            false => u32::MAX,
        };
        let Some(claim) = self.ranges.split_longest(left_max) else {
            return false;
        };
        #[cfg(all(test, not(any(loom, shuttle))))]
        window::pass(window::Point::InHand);
        self.ranges.put_down(runner, claim);
        self.note_abandoned();
        true
    }

    /// `runner` has seen no positions: sets the flag, and looks once more.
    fn recheck(&self, runner: usize, max: u32) -> bool {
        // Relaxed, both: see the file's header.
        if self.signals.load(Ordering::Relaxed) & MISSED == 0 {
            self.signals.fetch_or(MISSED, Ordering::Relaxed);
        }
        self.slot.dismiss();
        let found = self.steal(runner, max);
        if found {
            self.slot.invite();
        }
        #[cfg(all(test, not(any(loom, shuttle))))]
        window::pass(window::Point::Missed);
        found
    }

    /// Invites the runners that have seen no positions: there are some again.
    fn call_back(&self) {
        // Relaxed: see the file's header.
        self.signals.fetch_and(!MISSED, Ordering::Relaxed);
        if self.slot.recall() {
            self.owner.unpark();
        }
    }
}

/// No more positions are to be run.
const STOPPED: u32 = 1;
/// A runner has seen no positions.
const MISSED: u32 = 2;
/// Only the owner runs.
const ALONE: u32 = 4;
/// There may be positions that no runner has.
const ABANDONED: u32 = 8;

/// Near the front a thief leaves this number of blocks, of the length that its own have: fewer would be stolen too often. Here,
/// because the models have no `cost.rs`.
const BLOCKS_LEFT: u32 = 8;

/// Pauses for tests, at the points where a runner has an incomplete view.
#[cfg(all(test, not(any(loom, shuttle))))]
mod window {
    use std::cell::RefCell;
    use std::sync::Arc;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Point {
        /// A thief holds half a range.
        InHand,
        /// A runner has seen no positions, and has set the flag.
        Missed,
        /// The owner continues alone.
        SentAway,
        /// The owner has let helpers in again.
        SharedAgain,
    }

    pub(super) type Hook = Arc<dyn Fn(Point) + Send + Sync>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// What this thread does at each point from now on.
    pub(super) fn set(hook: Hook) {
        HOOK.with_borrow_mut(|place| *place = Some(hook));
    }

    pub(super) fn pass(point: Point) {
        if let Some(hook) = HOOK.with_borrow(Clone::clone) {
            hook(point);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
