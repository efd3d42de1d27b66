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
#[derive(Debug)]
pub(crate) struct Sharing<'slot> {
    slot: &'slot HelperSlot,
    /// The owner's parker.
    owner: &'slot Parker,
    ranges: RangeSet,
    len: u32,
    is_near_the_front: bool,
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

    /// All runners stay near the first positions that are left.
    pub(crate) fn near_the_front(self) -> Self {
        Self {
            is_near_the_front: true,
            ..self
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
            self.finish(runner);
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

    /// `runner` gives the positions of `claim` to the source at once.
    pub(crate) fn spend(&self, runner: usize, claim: Claim) -> (u32, u32) {
        self.ranges.spend(runner, claim)
    }

    /// The positions in `runner`'s own range.
    pub(crate) fn take_own(&self, runner: usize) -> Option<Claim> {
        self.ranges.take_all(runner)
    }

    /// Helper without a claim: leaves before the loop is over, and leaves its range to others.
    fn leave(&self, runner: usize) {
        self.ranges.detach(runner);
        self.note_abandoned();
        self.call_back();
    }

    /// Helper whose `next` returned `None`: leaves. If it is invited again, its range is free.
    fn finish(&self, runner: usize) {
        self.ranges.detach(runner);
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

    /// Whether `runner`'s own range has positions.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn has_own(&self, runner: usize) -> bool {
        self.ranges.has_some(runner)
    }

    /// Positions in the ranges. An estimate.
    pub(crate) fn left(&self) -> u64 {
        self.ranges.left()
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

/// Near the front a thief leaves this number of blocks, of the length that its own have: fewer would be stolen too often.
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
mod tests {
    use super::window::{self, Point};
    use super::{BLOCKS_LEFT, OWNER, Sharing};
    use crate::engine::ending::assert_ends_process;
    use crate::runtime::HelperSlot;
    use crate::sync::Parker;
    use crate::sync::clock::{self, OwnClock};
    use crate::{Runtime, parallel, task};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    /// How far the two threads of a loop have come.
    #[derive(Default)]
    struct Stage {
        /// The worker holds half of the loop.
        in_hand: AtomicBool,
        /// The owner has seen no positions.
        missed: AtomicBool,
        /// Items that the owner has run after that.
        run_after: AtomicU64,
        ran: AtomicUsize,
        leaves: bool,
    }

    /// Waits, with a deadline.
    fn wait_for(holds: impl Fn() -> bool) {
        let deadline = clock::now() + Duration::from_secs(20);
        while !holds() && clock::now() < deadline {
            thread::yield_now();
        }
        assert!(holds(), "the deadline has passed");
    }

    impl Stage {
        fn at_worker(&self, point: Point) {
            let is_first = point == Point::InHand && !self.in_hand.swap(true, Ordering::SeqCst);
            if is_first {
                if self.leaves {
                    // A task makes a helper leave at the end of its next block.
                    drop(task::spawn_local(async {}));
                }
                wait_for(|| self.missed.load(Ordering::SeqCst));
            }
        }

        fn at_owner(&self, point: Point) {
            if point == Point::Missed {
                self.missed.store(true, Ordering::SeqCst);
            }
        }

        fn body(&self, index: usize, is_owner: bool) {
            if index == 0 {
                // Long enough for the remaining work to be shared.
                let begun = clock::ticks();
                wait_for(|| clock::ticks() - begun > clock::ticks_in(3_000_000));
            } else if is_owner {
                wait_for(|| self.in_hand.load(Ordering::SeqCst));
                let missed = u64::from(self.missed.load(Ordering::SeqCst));
                self.run_after.fetch_add(missed, Ordering::SeqCst);
            } else if !self.leaves && self.missed.load(Ordering::SeqCst) {
                // Its second item after that; the first may have been the last of its range without these.
                wait_for(|| index < 40 || self.run_after.load(Ordering::SeqCst) > 0);
            }
            // Too long for the owner to try them alone.
            let begun = clock::ticks();
            wait_for(|| clock::ticks() - begun > clock::ticks_in(20_000));
            self.ran.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A loop whose only helper holds half of it while the owner looks for more and sees none.
    fn run(stage: Stage) -> Arc<Stage> {
        const ITEMS: usize = 64;
        let stage = Arc::new(stage);
        let theirs = Arc::clone(&stage);
        // The caller takes the part of one of the two.
        let runtime = Runtime::builder()
            .workers(2)
            .max_threads(2)
            .on_thread_start(move |_| {
                let stage = Arc::clone(&theirs);
                window::set(Arc::new(move |point| stage.at_worker(point)));
            })
            .build()
            .expect("the numbers are right");
        let ours = Arc::clone(&stage);
        window::set(Arc::new(move |point| ours.at_owner(point)));
        let owner = thread::current().id();
        parallel::Options::new()
            .runtime(&runtime)
            // So few that the caller shares the loop itself, however long its first item takes.
            .degree_of_parallelism(2)
            .expect("two")
            .for_each(0..ITEMS, |index| {
                stage.body(index, thread::current().id() == owner);
            });
        assert_eq!(stage.ran.load(Ordering::SeqCst), ITEMS, "bodies were lost");
        stage
    }

    #[test]
    fn positions_that_a_helper_leaves_unseen_are_run() {
        let stage = run(Stage {
            leaves: true,
            ..Stage::default()
        });
        assert!(stage.run_after.load(Ordering::SeqCst) > 0);
    }

    #[test]
    fn an_owner_that_missed_stolen_positions_is_called_back() {
        let stage = run(Stage::default());
        assert!(stage.run_after.load(Ordering::SeqCst) > 0);
    }

    /// What has happened to the helpers of a loop whose bodies contend.
    #[derive(Default)]
    struct Helpers {
        /// One runs.
        have_come: AtomicBool,
        /// The owner has sent them away,
        are_away: AtomicBool,
        /// has let them in again,
        are_invited: AtomicBool,
        /// and one has run an item after that.
        are_back: AtomicBool,
    }

    impl Helpers {
        fn at_owner(&self, point: Point) {
            match point {
                Point::SentAway => self.are_away.store(true, Ordering::SeqCst),
                Point::SharedAgain => self.are_invited.store(true, Ordering::SeqCst),
                Point::InHand | Point::Missed => {}
            }
        }

        /// Nanoseconds that an item takes the owner, by its own clock.
        fn owner_nanos(&self) -> u64 {
            if self.are_invited.load(Ordering::SeqCst) {
                wait_for(|| self.are_back.load(Ordering::SeqCst));
            }
            let is_disturbed =
                self.have_come.load(Ordering::SeqCst) && !self.are_away.load(Ordering::SeqCst);
            if is_disturbed { 9_000 } else { 1_000 }
        }

        fn help(&self) {
            if self.are_invited.load(Ordering::SeqCst) {
                self.are_back.store(true, Ordering::SeqCst);
            }
            self.have_come.store(true, Ordering::SeqCst);
            // It does not leave by itself.
            wait_for(|| self.are_away.load(Ordering::SeqCst));
        }
    }

    #[test]
    fn a_helper_that_slows_the_owner_down_is_sent_away_and_comes_back() {
        const ITEMS: usize = 200_000;
        let runtime = Runtime::builder().workers(2).build();
        let runtime = runtime.expect("the numbers are right");
        let helpers = Arc::new(Helpers::default());
        let ours = Arc::clone(&helpers);
        window::set(Arc::new(move |point| ours.at_owner(point)));
        let owner = thread::current().id();
        let own_clock = OwnClock::begin();
        let is_first = AtomicBool::new(true);
        parallel::Options::new()
            .runtime(&runtime)
            .for_each(0..ITEMS, |_| {
                if thread::current().id() != owner {
                    return helpers.help();
                }
                if !is_first.swap(false, Ordering::SeqCst) {
                    // The first item is the one by which the owner decides to share the others.
                    wait_for(|| helpers.have_come.load(Ordering::SeqCst));
                }
                own_clock.advance(helpers.owner_nanos());
            });
        assert!(helpers.are_away.load(Ordering::SeqCst), "not sent away");
        assert!(helpers.are_back.load(Ordering::SeqCst), "not let in again");
    }

    /// Three runners take turns; one of them leaves, and another takes its place.
    #[test]
    fn near_the_front_no_runner_is_far_ahead_of_the_others() {
        const MAX: u32 = 4;
        let (slot, parker) = (HelperSlot::new(), Parker::new());
        let sharing = Sharing::new(&slot, &parker, 3, 1_000).near_the_front();
        assert_eq!((sharing.attach(), sharing.attach()), (Some(1), Some(2)));
        let mut has_run = [false; 1_000];
        for turn in 0.. {
            let runner = turn % 3;
            if turn % 10 == 9 && runner > 0 {
                sharing.leave(runner);
                assert_eq!(sharing.attach(), Some(runner));
            }
            let Some(claim) = sharing.next(runner, MAX) else {
                break;
            };
            let (start, end) = sharing.spend(runner, claim);
            has_run[start as usize..end as usize].fill(true);
            let all_before = has_run.iter().take_while(|has_run| **has_run).count();
            let ahead = (end as usize).saturating_sub(all_before);
            assert!(
                ahead <= (4 * BLOCKS_LEFT * MAX) as usize,
                "{ahead} ahead at {start}"
            );
        }
        while let Some(claim) = sharing.take_rest() {
            sharing.spend(OWNER, claim);
        }
        sharing.check_all_spent();
    }

    #[test]
    fn what_a_helper_has_left_near_the_front_comes_first() {
        let (slot, parker) = (HelperSlot::new(), Parker::new());
        let sharing = Sharing::new(&slot, &parker, 2, 100).near_the_front();
        let spend = |runner, max| {
            let claim = sharing.next(runner, max).expect("there are positions");
            sharing.spend(runner, claim)
        };
        assert_eq!(sharing.attach(), Some(1));
        assert_eq!(spend(1, 1), (8, 9));
        assert_eq!([spend(OWNER, 8), spend(OWNER, 8)], [(0, 2), (2, 4)]);
        // The owner has the back of the loop when the helper leaves.
        let own = sharing.take_own(OWNER).expect("some are left");
        assert_eq!(sharing.spend(OWNER, own), (4, 8));
        assert_eq!(spend(OWNER, 1), (17, 18));
        sharing.leave(1);
        assert_eq!([spend(OWNER, 3), spend(OWNER, 5)], [(9, 12), (12, 17)]);
        assert_eq!(spend(OWNER, 1), (18, 19));
        let rest = sharing.take_own(OWNER).expect("the rest");
        sharing.spend(OWNER, rest);
        sharing.check_all_spent();
    }

    /// A runner whose claim lies beyond the end drops its own range, which then lies there, too.
    #[test]
    fn what_a_helper_has_left_behind_the_own_range_does_not_come_first() {
        let (slot, parker) = (HelperSlot::new(), Parker::new());
        let sharing = Sharing::new(&slot, &parker, 2, 16).near_the_front();
        let spend = |runner, max| {
            let claim = sharing.next(runner, max).expect("there are positions");
            sharing.spend(runner, claim)
        };
        assert_eq!(sharing.attach(), Some(1));
        assert_eq!(spend(1, 1), (8, 9));
        sharing.leave(1);
        assert_eq!(spend(OWNER, 8), (0, 2));
        let own = sharing.take_own(OWNER).expect("some are left");
        assert_eq!(sharing.spend(OWNER, own), (2, 8));
        assert_eq!(spend(OWNER, 9), (9, 16));
        sharing.check_all_spent();
    }

    #[test]
    fn a_loop_that_has_spent_too_little_ends_the_process() {
        assert_ends_process(
            "engine::sharing::tests::a_loop_that_has_spent_too_little_ends_the_process",
            "has lost some of its items",
            || {
                let (slot, parker) = (HelperSlot::new(), Parker::new());
                let sharing = Sharing::new(&slot, &parker, 1, 10);
                let claim = sharing.next(0, 2).expect("there is something");
                assert_eq!(sharing.spend(0, claim), (0, 2));
                sharing.check_all_spent();
            },
        );
    }

    #[test]
    fn positions_that_are_dropped_end_the_process() {
        assert_ends_process(
            "engine::sharing::tests::positions_that_are_dropped_end_the_process",
            "neither run nor discarded",
            || {
                let (slot, parker) = (HelperSlot::new(), Parker::new());
                let sharing = Sharing::new(&slot, &parker, 1, 10);
                drop(sharing.next(0, 2));
            },
        );
    }
}
