//! The positions of a shared loop, divided into contiguous ranges.
//!
//! Each runner owns one range and claims blocks from its front. A runner whose range is empty takes the back half of
//! the longest other one. So claims stay contiguous, and a runner normally touches only its own cache line. Where all are
//! to stay near the front, it takes all but a few positions of it, so that runners overtake each other by few.
//!
//! A runner that leaves before the end leaves its range, with the positions in it, to the next runner or to a thief.
//! `sharing.rs` decides which threads are notified of that.
//!
//! # States
//! A range is one word: its first position and its end, 32 bits each. It is empty when they are equal. Beside it are a
//! flag, whether it has a runner, and the number of positions that its runners have spent.
//!
//! A position is in one range, or in one [`Claim`], or spent: given to the source to be run or discarded, and counted.
//! A claim cannot be copied, and dropping one ends the process; so there is no fourth state. In the middle of a theft
//! the stolen part is a claim too, which no other runner can see: a runner that sees all ranges empty does not know
//! that all positions are spent.
//!
//! # Ordering
//! Every change is one exchange on one word, and the word holds the whole state, so a value that comes back (ABA)
//! means exactly what it says. A range carries no data, hence Relaxed throughout: the guard that a runner drops
//! publishes what bodies wrote. Only a range's runner may see it empty and then simply store; so a thread that takes
//! over a range must see all that the last runner did: Release and Acquire. The same pair makes the count of spent
//! positions a plain number of the runner.

use crate::job::abort;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Padded, thread};

/// The ranges of one loop.
pub(crate) struct RangeSet {
    inline: [Padded<RunnerRange>; INLINE],
    more: Box<[Padded<RunnerRange>]>,
    /// The highest number of runners.
    pub(crate) runners: usize,
}

/// One range.
#[derive(Debug, Default)]
struct RunnerRange {
    positions: AtomicU64,
    spent: AtomicU64,
    has_runner: AtomicBool,
}

/// Positions that are in no range. They belong to the holder, which spends them or puts them into a range. At least
/// one.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "positions that are dropped would be lost"]
pub(crate) struct Claim {
    /// The first one.
    pub(crate) start: u32,
    end: u32,
}

impl Claim {
    #[expect(clippy::mem_forget, reason = "what was taken out is not lost")]
    fn into_word(self) -> u64 {
        let word = pack(self.start, self.end);
        std::mem::forget(self);
        word
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // A model that has failed drops its claims.
        if !(cfg!(loom) && thread::panicking()) {
            abort("positions of a parallel loop were neither run nor discarded");
        }
    }
}

impl RangeSet {
    /// Ranges for `runners` runners; all `len` positions are in the first, the loop owner's.
    pub(crate) fn new(runners: usize, len: u32) -> Self {
        let ranges = Self {
            inline: Default::default(),
            more: (INLINE..runners).map(|_| Padded::default()).collect(),
            runners,
        };
        // Relaxed: published when the loop is opened.
        let own = &ranges.range(0).positions;
        own.store(pack(0, len), Ordering::Relaxed);
        ranges
    }

    /// Gives one more runner a range that has none, if there is one.
    pub(crate) fn attach(&self) -> Option<usize> {
        (1..self.runners).find(|&runner| {
            let taken = &self.range(runner).has_runner;
            // Relaxed, both: the exchange decides, and one that fails writes nothing. Acquire: see the file's header.
            !taken.load(Ordering::Relaxed)
                && taken
                    .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
        })
    }

    /// `runner`, not the owner, leaves its range to the others.
    pub(crate) fn detach(&self, runner: usize) {
        let has_runner = &self.range(runner).has_runner;
        // Release: see the file's header.
        has_runner.store(false, Ordering::Release);
    }

    /// How many runners there are beside the owner. An estimate.
    pub(crate) fn attached(&self) -> usize {
        // Relaxed: a hint.
        let is_taken = |&runner: &usize| self.range(runner).has_runner.load(Ordering::Relaxed);
        (1..self.runners).filter(is_taken).count()
    }

    /// Whether a range without a runner exists.
    pub(crate) fn has_room(&self) -> bool {
        self.attached() + 1 < self.runners
    }

    /// Claims up to `max` positions from the front of `runner`'s own range, but at most a quarter of it, or half of a short one. The
    /// rest is left for others in case the runner falls behind.
    pub(crate) fn claim(&self, runner: usize, max: u32) -> Option<Claim> {
        let range = &self.range(runner).positions;
        let left = |word| {
            let (start, end) = unpack(word);
            let len = end - start;
            let (quarter, half) = (len.div_ceil(LEAVE_BEHIND), len.div_ceil(2));
            let count = quarter.min(max).max(half.min(max / FEW_PART)).max(1);
            (start < end).then(|| pack(start + count, end))
        };
        // Relaxed, both: see the file's header.
        let before = range.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        let before = before.ok()?;
        let ((start, _), (end, _)) = (unpack(before), unpack(left(before)?));
        Some(Claim { start, end })
    }

    /// Takes the back of the longest range; its front stays, half of it, but at most `left_max` positions. `None` if each
    /// range was empty when it was read.
    pub(crate) fn split_longest(&self, left_max: u32) -> Option<Claim> {
        loop {
            let ranges = self.all().map(|range| &range.positions);
            let (longest, word) = ranges
                // Relaxed: a snapshot; the exchange below decides.
                .map(|positions| (positions, positions.load(Ordering::Relaxed)))
                .max_by_key(|(_, word)| len(*word))
                .filter(|(_, word)| len(*word) > 0)?;
            let (start, end) = unpack(word);
            let middle = start + ((end - start) / 2).min(left_max);
            let front = pack(start, middle);
            // Relaxed, both: see the file's header.
            let split = longest.compare_exchange(word, front, Ordering::Relaxed, Ordering::Relaxed);
            if split.is_ok() {
                let start = middle;
                return Some(Claim { start, end });
            }
        }
    }

    /// Claims up to `max` positions from the front of a range that has no runner, the first of those before the own range
    /// of `runner`, the caller. Returns also whether there may be more of them, for whatever runner.
    pub(crate) fn take_abandoned(&self, runner: usize, max: u32) -> (Option<Claim>, bool) {
        let abandoned = (1..self.runners).filter_map(|other| {
            let range = self.range(other);
            // Relaxed, both: hints; the exchange decides.
            let has_runner = range.has_runner.load(Ordering::Relaxed);
            let word = range.positions.load(Ordering::Relaxed);
            let (start, end) = unpack(word);
            (!has_runner && start < end).then_some((word, &range.positions))
        });
        // The first position is the upper half of the word.
        let Some((word, positions)) = abandoned.min_by_key(|(word, _)| *word) else {
            return (None, false);
        };
        let (start, end) = unpack(word);
        // Relaxed: only the range's runner moves its start.
        let (own, own_end) = unpack(self.range(runner).positions.load(Ordering::Relaxed));
        if own < own_end && own < start {
            return (None, true);
        }
        let until = end.min(start.saturating_add(max.max(1)));
        let left = pack(until, end);
        // Relaxed, both: see the file's header.
        let claimed = positions.compare_exchange(word, left, Ordering::Relaxed, Ordering::Relaxed);
        let claim = claimed.is_ok().then(|| Claim { start, end: until });
        (claim, true)
    }

    /// Puts `claim` into the own range of `runner`, the caller, which has seen it empty.
    pub(crate) fn put_down(&self, runner: usize, claim: Claim) {
        debug_assert!(!self.has_some(runner), "a range is filled when it is empty");
        let positions = &self.range(runner).positions;
        // Relaxed: see the file's header.
        positions.store(claim.into_word(), Ordering::Relaxed);
    }

    /// Takes everything that is left in `runner`'s range.
    pub(crate) fn take_all(&self, runner: usize) -> Option<Claim> {
        // Relaxed: see the file's header.
        let (start, end) = unpack(self.range(runner).positions.swap(0, Ordering::Relaxed));
        (start < end).then(|| Claim { start, end })
    }

    /// The positions of `claim`, which `runner`, the caller, gives to the source at once.
    pub(crate) fn spend(&self, runner: usize, claim: Claim) -> (u32, u32) {
        let (start, end) = unpack(claim.into_word());
        let spent = &self.range(runner).spent;
        // Relaxed, both: only the range's runner writes it; see the file's header.
        let before = spent.load(Ordering::Relaxed);
        // Relaxed: as above.
        spent.store(before + u64::from(end - start), Ordering::Relaxed);
        (start, end)
    }

    /// Positions that all runners have spent; exact when all have left.
    pub(crate) fn spent(&self) -> u64 {
        // Relaxed: the owner has acquired what helpers did.
        let spent = |range: &Padded<RunnerRange>| range.spent.load(Ordering::Relaxed);
        self.all().map(spent).sum()
    }

    /// Whether `runner`'s range has positions left.
    pub(crate) fn has_some(&self, runner: usize) -> bool {
        // Relaxed: the runner sees what it put there, or less.
        let (start, end) = unpack(self.range(runner).positions.load(Ordering::Relaxed));
        start < end
    }

    /// Positions left in all ranges.
    pub(crate) fn left(&self) -> u64 {
        // Relaxed: a snapshot.
        let left = |range: &Padded<RunnerRange>| len(range.positions.load(Ordering::Relaxed));
        self.all().map(left).map(u64::from).sum()
    }

    /// Number of ranges.
    pub(crate) fn count(&self) -> usize {
        INLINE + self.more.len()
    }

    fn range(&self, runner: usize) -> &RunnerRange {
        match runner.checked_sub(INLINE) {
            None => &self.inline[runner],
            Some(index) => &self.more[index],
        }
    }

    fn all(&self) -> impl Iterator<Item = &Padded<RunnerRange>> {
        self.inline.iter().chain(&*self.more)
    }
}

fn pack(start: u32, end: u32) -> u64 {
    u64::from(start) << 32 | u64::from(end)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "takes the two halves apart"
)]
fn unpack(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

fn len(word: u64) -> u32 {
    let (start, end) = unpack(word);
    end - start
}

/// Ranges kept in the loop's own frame; more are allocated.
const INLINE: usize = if cfg!(loom) { 2 } else { 8 };

/// What is left is at least three of these parts: of a range after a claim, of the places after one that nobody may need.
/// Here, because the models have no `cost.rs`.
pub(super) const LEAVE_BEHIND: u32 = 4;
/// A range is short if half of it is less than this part of the longest claim: a few more claims take as long as what they leave.
const FEW_PART: u32 = 32;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Claim, RangeSet};
    use std::sync::atomic::{AtomicU8, Ordering};

    fn positions(claim: Option<Claim>) -> Option<(u32, u32)> {
        claim.map(|claim| super::unpack(claim.into_word()))
    }

    fn steal(ranges: &RangeSet, runner: usize) -> bool {
        let claim = ranges.split_longest(u32::MAX);
        claim.map(|claim| ranges.put_down(runner, claim)).is_some()
    }

    #[test]
    fn a_single_runner_gets_everything_once_and_in_order() {
        for len in [0, 1, 2, 3, 7, 100, 1000] {
            let ranges = RangeSet::new(1, len);
            let mut next = 0;
            while let Some(claim) = ranges.claim(0, 16) {
                let (start, end) = ranges.spend(0, claim);
                assert_eq!(start, next);
                assert!(end > start && end <= len);
                next = end;
            }
            assert_eq!(next, len);
            assert_eq!(ranges.spent(), u64::from(len));
            assert!(!steal(&ranges, 0));
        }
    }

    #[test]
    fn of_a_short_range_half_is_claimed() {
        let ranges = RangeSet::new(1, 100);
        for expected in [(0, 25), (25, 45), (45, 65), (65, 83), (83, 92), (92, 96)] {
            assert_eq!(positions(ranges.claim(0, 640)), Some(expected));
        }
        assert_eq!(ranges.left(), 4);
    }

    #[test]
    fn a_thief_takes_the_back_half_of_the_longest_range() {
        let ranges = RangeSet::new(3, 100);
        assert!(steal(&ranges, 1));
        assert_eq!(positions(ranges.claim(1, 1)), Some((50, 51)));
        assert!(steal(&ranges, 2));
        assert_eq!(positions(ranges.take_all(2)), Some((25, 50)));
        assert_eq!(ranges.left(), 25 + 49);
    }

    #[test]
    fn near_the_front_a_thief_leaves_few_positions_and_what_was_abandoned_is_found() {
        let ranges = RangeSet::new(3, 100);
        assert_eq!(ranges.attach(), Some(1));
        let claim = ranges.split_longest(8).expect("there are positions");
        ranges.put_down(1, claim);
        assert_eq!(positions(ranges.take_all(0)), Some((0, 8)));
        assert_eq!(positions(ranges.claim(1, 4)), Some((8, 12)));
        let claim = ranges.split_longest(8).expect("there are positions");
        ranges.put_down(0, claim);
        assert_eq!(ranges.take_abandoned(0, 8), (None, false), "with a runner");
        ranges.detach(1);
        for expected in [(12, 17), (17, 20)] {
            let (claim, _) = ranges.take_abandoned(0, 5);
            assert_eq!(positions(claim), Some(expected));
        }
        assert_eq!(ranges.take_abandoned(0, 8), (None, false), "it is empty");
        assert_eq!(positions(ranges.take_all(0)), Some((20, 100)));
    }

    #[test]
    fn a_runner_that_leaves_makes_room_for_another_that_takes_the_rest() {
        let ranges = RangeSet::new(3, 100);
        assert_eq!((ranges.attach(), ranges.attach()), (Some(1), Some(2)));
        assert!(steal(&ranges, 1));
        assert_eq!(ranges.attach(), None);
        assert!(!ranges.has_room());
        ranges.detach(1);
        assert!(ranges.has_room());
        assert_eq!(ranges.attach(), Some(1));
        assert_eq!(positions(ranges.claim(1, 1)), Some((50, 51)));
    }

    /// Partitions cover the range exactly once, also when many threads claim them.
    #[test]
    fn many_runners_claim_every_position_exactly_once() {
        const LEN: u32 = if cfg!(miri) { 300 } else { 100_000 };
        for runners in [2, 3, 12] {
            let ranges = RangeSet::new(runners, LEN);
            let seen: Vec<AtomicU8> = (0..LEN).map(|_| AtomicU8::new(0)).collect();
            std::thread::scope(|scope| {
                for runner in 0..runners {
                    let (ranges, seen) = (&ranges, &seen);
                    scope.spawn(move || {
                        loop {
                            while let Some(claim) = ranges.claim(runner, 5) {
                                let (start, end) = ranges.spend(runner, claim);
                                for position in start..end {
                                    seen[position as usize].fetch_add(1, Ordering::Relaxed);
                                }
                            }
                            if !steal(ranges, runner) {
                                break;
                            }
                        }
                    });
                }
            });
            assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
            assert_eq!(ranges.spent(), u64::from(LEN));
        }
    }
}
