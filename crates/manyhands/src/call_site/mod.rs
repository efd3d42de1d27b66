//! The profile of each call site: how long its work takes, and whether sharing it helped.
//!
//! Profiles are in a fixed table, keyed by the address of the function that was compiled for the call site's closure.
//! Two sites that share an entry only take each other's advice. Advice never changes a result.
//!
//! Not here: how a loop learns from its key that it is to be recorded (`key.rs`), and who does what the advice says
//! (`engine`, `runtime/fork_join/join.rs`).

pub(crate) mod key;

use crate::call_site::key::Key;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{clock, global};

/// The profile of one call site.
#[derive(Debug)]
pub(crate) struct CallSiteProfile {
    key: Key,
    /// A cost in ticks, in units the user of the site chooses. 0: unknown.
    cost: AtomicU64,
    /// The same, measured over whole calls that ran alone. 0: never.
    cost_alone: AtomicU64,
    /// The same, of items that ran alone for a trial during a shared call. 0: never.
    cost_in_trial: AtomicU64,
    /// Calls still to be run alone, because sharing made earlier ones slower.
    alone: AtomicU32,
    /// How many calls the last backoff lasted.
    backoff: AtomicU32,
    /// Shared calls that were hurt since the last one that was helped or ran alone.
    hurt: AtomicU32,
    /// The backoff is for calls of fewer items than this.
    alone_below: AtomicU64,
}

impl CallSiteProfile {
    /// The profile of the site whose function is at `address`; an empty one if another site had its place.
    #[inline]
    pub(crate) fn of(address: usize) -> &'static Self {
        Self::unrecorded(address).unwrap_or_else(|| Self::look_up(address))
    }

    /// The site's profile, if it has one and no loop is recorded.
    #[inline]
    pub(crate) fn unrecorded(address: usize) -> Option<&'static Self> {
        let (key, site) = Self::place(address);
        site.key.is_unmarked(key).then_some(site)
    }

    /// The key of the site, and its place in the table.
    #[inline]
    fn place(address: usize) -> (usize, &'static Self) {
        // No function is as short as a byte. That makes room for the mark.
        let key = address >> 1;
        // Multiplying spreads the bits (Fibonacci hashing, Knuth vol. 3). Functions are 16-byte aligned, so a key is 8 times a
        // number, which is to be multiplied by the golden ratio.
        let hash = (key as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15 / 8);
        let index = usize::try_from(hash >> (u64::BITS - TABLE_BITS)).unwrap_or(0);
        (key, &TABLE[index])
    }

    #[cold]
    #[inline(never)]
    fn look_up(address: usize) -> &'static Self {
        let (key, site) = Self::place(address);
        if !site.key.is(key) {
            site.key.replace(key);
            site.forget();
        }
        site
    }

    fn forget(&self) {
        // Relaxed, here and below: every field is advice, and each stands alone.
        self.cost.store(0, Ordering::Relaxed);
        self.cost_alone.store(0, Ordering::Relaxed);
        self.cost_in_trial.store(0, Ordering::Relaxed);
        // Relaxed: as above.
        self.alone.store(0, Ordering::Relaxed);
        self.backoff.store(0, Ordering::Relaxed);
        self.hurt.store(0, Ordering::Relaxed);
        self.alone_below.store(0, Ordering::Relaxed);
    }

    /// The learnt cost, or 0.
    #[inline]
    pub(crate) fn cost(&self) -> u64 {
        // Relaxed: advice.
        self.cost.load(Ordering::Relaxed)
    }

    /// Learns a cost: by half of the difference when it is higher, by a quarter when it is lower.
    /// Differences below an eighth are not stored, so that a busy site's line stays unwritten.
    #[inline]
    pub(crate) fn learn(&self, cost: u64) {
        let before = self.cost();
        if cost.abs_diff(before) * 8 > before {
            let after = if before == 0 {
                cost
            } else if cost > before {
                before + (cost - before) / 2
            } else {
                before - (before - cost) / 4
            };
            // Relaxed: advice.
            self.cost.store(after.max(1), Ordering::Relaxed);
        }
    }

    /// As [`learn`](Self::learn), of an item of a loop, but at most four times of what was known. A call whose thread lost
    /// its processor for some milliseconds seems to cost thousands of times more. If items do, later calls find out while
    /// they run.
    #[inline]
    pub(crate) fn learn_item(&self, cost: u64) {
        let known = self.cost();
        let highest = if known == 0 {
            u64::MAX
        } else {
            known.saturating_mul(2 * COST_RISE_MAX - 1)
        };
        self.learn(cost.min(highest));
    }

    /// Whether this call, of `items` items, is to be run alone; counts it off.
    #[inline]
    pub(crate) fn must_run_alone(&self, items: u64) -> bool {
        // Relaxed, here and below: advice; two threads may count the same call.
        let left = self.alone.load(Ordering::Relaxed);
        if left == 0 || items >= self.alone_below.load(Ordering::Relaxed) {
            return false;
        }
        self.alone.store(left - 1, Ordering::Relaxed);
        true
    }

    /// Learns the cost of a whole call that ran alone.
    pub(crate) fn learn_alone(&self, cost: u64) {
        // Relaxed: advice.
        self.cost_alone.store(cost.max(1), Ordering::Relaxed);
    }

    /// How many ticks `items` are expected to take alone.
    pub(crate) fn ticks_alone(&self, items: u64) -> u64 {
        let alone = (u128::from(self.cost_alone().max(self.cost())) * u128::from(items)) >> 10;
        u64::try_from(alone).unwrap_or(u64::MAX)
    }

    /// A call that ran alone took so long that it was opened: no more calls are to be run alone.
    pub(crate) fn was_opened(&self) {
        // Relaxed, both: advice.
        self.alone.store(0, Ordering::Relaxed);
        self.learn_helped();
    }

    /// The cost of the last whole call that ran alone, or 0.
    pub(crate) fn cost_alone(&self) -> u64 {
        // Relaxed: advice.
        self.cost_alone.load(Ordering::Relaxed)
    }

    /// The cost of items that ran alone for a trial during a shared call, or 0.
    pub(crate) fn cost_in_trial(&self) -> u64 {
        // Relaxed: advice.
        self.cost_in_trial.load(Ordering::Relaxed)
    }

    /// Learns the cost of items that ran alone for a trial.
    pub(crate) fn learn_in_trial(&self, cost: u64) {
        // Relaxed: advice.
        self.cost_in_trial.store(cost.max(1), Ordering::Relaxed);
    }

    /// Learns that one runner was found to be faster, during a call of `items`.
    pub(crate) fn learn_contended(&self, items: u64) {
        self.back_off(BACKOFF_MAX, items);
    }

    /// Learns that `items` took `elapsed` ticks shared, where the first of them let expect `expected` alone.
    ///
    /// The expectation may be wrong where items differ, so it leads to only one call alone; the time of that call
    /// decides. One call that was slower than alone decides nothing either: its helper may have come too late, because it had
    /// to be woken. The next one finds the helper awake.
    pub(crate) fn learn_shared(&self, expected: u64, elapsed: u64, items: u64) {
        // Relaxed, here and below: advice.
        let alone = (u128::from(self.cost_alone.load(Ordering::Relaxed)) * u128::from(items)) >> 10;
        let measured = if alone == 0 {
            u128::from(expected)
        } else {
            alone
        };
        let percent = u128::from(elapsed) * 100 / measured.max(1);
        let longest = match clock::ticks_in(BACKOFF_NANOS_MAX) / elapsed.max(1) {
            _ if percent > MUCH_SLOWER_PERCENT => BACKOFF_MAX.into(),
            patience => patience,
        };
        if percent < 95 {
            self.learn_helped();
        } else if longest > 0 {
            self.learn_hurt(if alone == 0 { 1 } else { longest }, items);
        }
    }

    /// Sharing made a call slower; `longest` calls at most are to run alone for that.
    fn learn_hurt(&self, longest: u64, items: u64) {
        // Relaxed, both: advice.
        let hurt = self.hurt.load(Ordering::Relaxed) + 1;
        self.hurt.store(hurt, Ordering::Relaxed);
        if hurt >= HURT_IN_A_ROW {
            self.back_off(u32::try_from(longest).unwrap_or(u32::MAX), items);
        }
    }

    /// Runs the next calls alone, more of them each time, `longest` at most.
    fn back_off(&self, longest: u32, items: u64) {
        // Relaxed: advice.
        let doubled = self.backoff.load(Ordering::Relaxed) * 2 + 1;
        let backoff = doubled.min(longest).min(BACKOFF_MAX);
        // Relaxed, all: advice.
        self.backoff.store(backoff, Ordering::Relaxed);
        self.hurt.store(0, Ordering::Relaxed);
        // Relaxed: advice.
        self.alone_below
            .store(items.saturating_mul(4), Ordering::Relaxed);
        self.alone.store(backoff, Ordering::Relaxed);
    }

    /// Learns that sharing made a call faster.
    pub(crate) fn learn_helped(&self) {
        // Relaxed, all: advice.
        if self.backoff.load(Ordering::Relaxed) > 0 {
            self.backoff.store(0, Ordering::Relaxed);
        }
        if self.hurt.load(Ordering::Relaxed) > 0 {
            self.hurt.store(0, Ordering::Relaxed);
        }
    }
}

/// The cost of an item rises to at most this many times what it was.
const COST_RISE_MAX: u64 = 4;
/// After this many calls alone, sharing is tried again.
const BACKOFF_MAX: u32 = 64;
/// A call this much slower than alone shows that the bodies contend with each other.
const MUCH_SLOWER_PERCENT: u128 = 130;
/// A backoff for less than that lasts no longer than this.
const BACKOFF_NANOS_MAX: u64 = 5_000_000;
/// This number of calls in a row must be hurt before others run alone.
const HURT_IN_A_ROW: u32 = 2;

/// Loops are recorded from now on: none finds its profile by [`CallSiteProfile::unrecorded`] any more.
#[cfg(all(feature = "inspect", not(shuttle)))]
pub(crate) fn record_all() {
    TABLE.iter().for_each(|site| site.key.mark());
}

const TABLE_BITS: u32 = 10;

global! {
    static TABLE: [CallSiteProfile; 1 << TABLE_BITS] = [const {
        CallSiteProfile {
            key: Key::new(),
            cost: AtomicU64::new(0),
            cost_alone: AtomicU64::new(0),
            cost_in_trial: AtomicU64::new(0),
            alone: AtomicU32::new(0),
            backoff: AtomicU32::new(0),
            hurt: AtomicU32::new(0),
            alone_below: AtomicU64::new(0),
        }
    }; 1 << TABLE_BITS];
}

#[cfg(test)]
mod tests {
    use super::CallSiteProfile;

    #[test]
    fn a_higher_cost_is_learnt_by_half_and_a_lower_one_by_a_quarter() {
        let site = CallSiteProfile::of(0x1000);
        site.learn(1000);
        assert_eq!(site.cost(), 1000);
        site.learn(200);
        assert_eq!(site.cost(), 800);
        site.learn(4800);
        assert_eq!(site.cost(), 2800);
        site.learn(2900);
        assert_eq!(
            CallSiteProfile::of(0x1000).cost(),
            2800,
            "small differences are not worth a store"
        );
    }

    #[test]
    fn a_call_that_was_interrupted_raises_the_cost_of_an_item_by_little() {
        let site = CallSiteProfile::of(0x3000);
        site.learn_item(5_000_000);
        assert_eq!(site.cost(), 5_000_000, "the first one is all that is known");
        while site.cost() > 115 {
            site.learn_item(100);
        }
        let before = site.cost();
        site.learn_item(before * 5_000);
        assert_eq!(site.cost(), 4 * before);
        site.learn_item(5 * before);
        assert_eq!(site.cost(), 4 * before + before / 2);
        let mut calls = 0;
        while site.cost() < 1_000_000 {
            site.learn_item(2_000_000);
            calls += 1;
        }
        assert!(calls <= 10, "what does take longer is learnt, {calls}");
        site.learn_item(u64::MAX);
    }

    #[test]
    fn a_site_that_was_hurt_badly_runs_alone_for_longer_each_time() {
        let site = CallSiteProfile::of(0x2000);
        let backoff = || std::iter::from_fn(|| site.must_run_alone(39).then_some(())).count();
        assert_eq!(backoff(), 0);
        let is_hurt_twice = || {
            site.learn_shared(1000, 2000, 10);
            assert_eq!(backoff(), 0, "its helper may have come too late");
            site.learn_shared(1000, 2000, 10);
        };
        is_hurt_twice();
        assert_eq!(
            backoff(),
            1,
            "an expectation that was wrong leads to one call alone"
        );
        site.learn_alone(100 << 10);
        let lengths: Vec<usize> = (0..7)
            .map(|_| {
                is_hurt_twice();
                backoff()
            })
            .collect();
        assert_eq!(lengths, [3, 7, 15, 31, 63, 64, 64]);
        site.learn_shared(1000, 600, 10);
        is_hurt_twice();
        assert_eq!(backoff(), 1, "a call that sharing helped ends the backoff");
        site.learn_shared(1000, 2000, 10);
        site.learn_shared(1000, 600, 10);
        site.learn_shared(1000, 2000, 10);
        assert_eq!(backoff(), 0, "they were not hurt one after the other");
    }

    #[test]
    fn a_backoff_does_not_bind_calls_of_another_size() {
        let site = CallSiteProfile::of(0x3000);
        site.learn_contended(10);
        assert!(!site.must_run_alone(40));
        assert!(site.must_run_alone(39));
    }

    #[test]
    fn a_call_that_ran_alone_for_too_long_ends_the_backoff() {
        let site = CallSiteProfile::of(0x5000);
        (0..3).for_each(|_| site.learn_contended(10));
        assert!(site.must_run_alone(10));
        site.was_opened();
        assert!(!site.must_run_alone(10));
        site.learn_contended(10);
        assert!(site.must_run_alone(10));
        assert!(!site.must_run_alone(10), "the backoff begins anew");
    }

    #[test]
    fn long_calls_do_not_back_off_for_being_a_little_slower() {
        let site = CallSiteProfile::of(0x4000);
        let long = 1 << 40;
        site.learn_alone(long);
        (0..9).for_each(|_| site.learn_shared(long, long + long / 10, 1024));
        assert!(!site.must_run_alone(1));
    }
}
