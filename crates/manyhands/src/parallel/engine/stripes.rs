//! The positions of a shared loop, dealt out as contiguous stripes.
//!
//! Each runner owns one stripe and claims blocks from its front; a runner whose stripe is empty takes the
//! back half of the longest other one. So claims stay contiguous, and a runner normally touches only its
//! own cache line.
//!
//! A runner that leaves before the end leaves its stripe, with what is in it, to whoever comes next or
//! steals.
//!
//! # States
//! A stripe is one word: first position and end, 32 bits each; empty when they are equal; and whether it
//! has a runner.
//!
//! # Ordering
//! Every change is one exchange on one word, and the word says all there is to know, so a value that comes
//! back (ABA) means just what it says. A stripe carries no data, hence Relaxed throughout: what bodies
//! write is published by the unpinning of their runner. Only a runner may find its own stripe empty and
//! then simply store; so who takes over a stripe must see all that its last runner did: Release and Acquire.

use crate::sync::Padded;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The stripes of one loop.
#[derive(Debug)]
pub(crate) struct Stripes {
    inline: [Padded<Stripe>; INLINE],
    more: Box<[Padded<Stripe>]>,
    runners: usize,
}

/// One of them.
#[derive(Debug)]
struct Stripe {
    positions: AtomicU64,
    has_runner: AtomicBool,
}

impl Stripe {
    /// No positions, and nobody to run them.
    fn new() -> Padded<Self> {
        Padded(Self {
            positions: AtomicU64::new(0),
            has_runner: AtomicBool::new(false),
        })
    }
}

impl Stripes {
    /// Stripes for `runners` runners, all `len` positions in the first, which is the loop's owner's.
    pub(crate) fn new(runners: usize, len: u32) -> Self {
        let stripes = Self {
            inline: std::array::from_fn(|_| Stripe::new()),
            more: (INLINE..runners).map(|_| Stripe::new()).collect(),
            runners,
        };
        // Relaxed: published when the loop is opened.
        stripes.of(0).store(pack(0, len), Ordering::Relaxed);
        stripes
    }

    /// Finds a stripe for one more runner, if there is one without.
    pub(crate) fn sit_down(&self) -> Option<usize> {
        (1..self.runners).find(|&runner| {
            let taken = &self.stripe(runner).has_runner;
            // Relaxed: the exchange decides. Acquire: see the file's header.
            !taken.load(Ordering::Relaxed) && !taken.swap(true, Ordering::Acquire)
        })
    }

    /// `runner`, not the owner, leaves its stripe to the others.
    pub(crate) fn stand_up(&self, runner: usize) {
        // Release: see the file's header.
        self.stripe(runner)
            .has_runner
            .store(false, Ordering::Release);
    }

    /// Whether one more runner would find a stripe.
    pub(crate) fn has_room(&self) -> bool {
        // Relaxed: a hint.
        (1..self.runners).any(|runner| !self.stripe(runner).has_runner.load(Ordering::Relaxed))
    }

    /// Claims up to `max` positions from the front of `runner`'s own stripe, but no more than a quarter of
    /// it, so that enough is left for others when a runner falls behind.
    pub(crate) fn claim(&self, runner: usize, max: u32) -> Option<(u32, u32)> {
        let stripe = self.of(runner);
        // Relaxed, here and below: see the file's header.
        let mut word = stripe.load(Ordering::Relaxed);
        loop {
            let (start, end) = unpack(word);
            if start == end {
                return None;
            }
            let count = max.min((end - start).div_ceil(LEAVE_BEHIND)).max(1);
            let left = pack(start + count, end);
            // Relaxed, both: see the file's header.
            match stripe.compare_exchange_weak(word, left, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some((start, start + count)),
                Err(now) => word = now,
            }
        }
    }

    /// Moves the back half of the longest stripe to `runner`'s own, which is empty. Returns false when
    /// nothing is left anywhere.
    pub(crate) fn steal(&self, runner: usize) -> bool {
        loop {
            let Some((longest, word)) = self.longest() else {
                return false;
            };
            let (start, end) = unpack(word);
            let middle = start + (end - start) / 2;
            // Relaxed, both: see the file's header.
            let halved = longest.compare_exchange(
                word,
                pack(start, middle),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            if halved.is_ok() {
                // Relaxed: see the file's header.
                self.of(runner).store(pack(middle, end), Ordering::Relaxed);
                return true;
            }
        }
    }

    /// Takes everything that is left in `runner`'s stripe.
    pub(crate) fn take_all(&self, runner: usize) -> (u32, u32) {
        // Relaxed: see the file's header.
        unpack(self.of(runner).swap(0, Ordering::Relaxed))
    }

    /// Positions left in all stripes.
    pub(crate) fn left(&self) -> u64 {
        let len = |stripe: &AtomicU64| {
            // Relaxed: a snapshot.
            let (start, end) = unpack(stripe.load(Ordering::Relaxed));
            u64::from(end - start)
        };
        self.all().map(len).sum()
    }

    /// Number of stripes.
    pub(crate) fn count(&self) -> usize {
        INLINE + self.more.len()
    }

    fn longest(&self) -> Option<(&AtomicU64, u64)> {
        self.all()
            // Relaxed: a snapshot; the exchange in `steal` decides.
            .map(|stripe| (stripe, stripe.load(Ordering::Relaxed)))
            .map(|(stripe, word)| {
                let (start, end) = unpack(word);
                (end - start, stripe, word)
            })
            .filter(|(len, ..)| *len > 0)
            .max_by_key(|(len, ..)| *len)
            .map(|(_, stripe, word)| (stripe, word))
    }

    fn of(&self, runner: usize) -> &AtomicU64 {
        &self.stripe(runner).positions
    }

    fn stripe(&self, runner: usize) -> &Stripe {
        match runner.checked_sub(INLINE) {
            None => &self.inline[runner],
            Some(index) => &self.more[index],
        }
    }

    fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        let stripes = self.inline.iter().chain(&*self.more);
        stripes.map(|stripe| &stripe.positions)
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

/// Stripes kept in the loop's own frame; more are allocated.
const INLINE: usize = if cfg!(loom) { 2 } else { 8 };
/// A claim takes at most one part in this many of what the runner has left.
const LEAVE_BEHIND: u32 = 4;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Stripes;
    use std::sync::atomic::{AtomicU8, Ordering};

    #[test]
    fn a_single_runner_gets_everything_once_and_in_order() {
        for len in [0, 1, 2, 3, 7, 100, 1000] {
            let stripes = Stripes::new(1, len);
            let mut next = 0;
            while let Some((start, end)) = stripes.claim(0, 16) {
                assert_eq!(start, next);
                assert!(end > start && end <= len);
                next = end;
            }
            assert_eq!(next, len);
            assert!(!stripes.steal(0));
        }
    }

    #[test]
    fn a_thief_takes_the_back_half_of_the_longest_stripe() {
        let stripes = Stripes::new(3, 100);
        assert!(stripes.steal(1));
        assert_eq!(stripes.claim(1, 1), Some((50, 51)));
        assert!(stripes.steal(2));
        assert_eq!(stripes.take_all(2), (25, 50));
        assert_eq!(stripes.left(), 25 + 49);
    }

    #[test]
    fn a_runner_that_leaves_makes_room_for_another_who_finds_what_it_left() {
        let stripes = Stripes::new(3, 100);
        assert_eq!((stripes.sit_down(), stripes.sit_down()), (Some(1), Some(2)));
        assert!(stripes.steal(1));
        assert_eq!(stripes.sit_down(), None);
        assert!(!stripes.has_room());
        stripes.stand_up(1);
        assert!(stripes.has_room());
        assert_eq!(stripes.sit_down(), Some(1));
        assert_eq!(stripes.claim(1, 1), Some((50, 51)));
    }

    /// Promise 17 of the conformance list: partitions cover the span once, from many threads too.
    #[test]
    fn p17_many_runners_claim_every_position_exactly_once() {
        const LEN: u32 = if cfg!(miri) { 300 } else { 100_000 };
        for runners in [2, 3, 12] {
            let stripes = Stripes::new(runners, LEN);
            let seen: Vec<AtomicU8> = (0..LEN).map(|_| AtomicU8::new(0)).collect();
            std::thread::scope(|scope| {
                for runner in 0..runners {
                    let (stripes, seen) = (&stripes, &seen);
                    scope.spawn(move || {
                        loop {
                            while let Some((start, end)) = stripes.claim(runner, 5) {
                                for position in start..end {
                                    seen[position as usize].fetch_add(1, Ordering::Relaxed);
                                }
                            }
                            if !stripes.steal(runner) {
                                break;
                            }
                        }
                    });
                }
            });
            assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
    }
}
