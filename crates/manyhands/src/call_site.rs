//! The profile of each call site: how long its work takes, and whether sharing it helped.
//!
//! Profiles are in a fixed table, keyed by the address of the function that was compiled for the call site's closure.
//! Two sites that share an entry replace each other's advice, which never changes a result.
//!
//! # The mark of a key
//! While loops are recorded, all keys have a mark. So a loop learns that it must be recorded from a comparison that it makes in
//! any case, and that costs no instruction while none is.
//!
//! A key that has the mark keeps it, also where another site takes the profile: that reads the key and writes it in one step.
//! So a caller of a loop, after recording has begun, finds no key without the mark. Recording does not end.
//!
//! Not here: what records (`recording`), what a loop teaches its site (`engine/cost.rs`), and who does what the advice says
//! (`engine`, `runtime/fork_join/join.rs`).

use crate::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sync::global;

/// The profile of one call site, in a cache line.
#[repr(align(64))]
pub(crate) struct CallSiteProfile {
    key: Key,
    /// A cost in ticks, in units the user of the site chooses. 0: unknown.
    cost: AtomicU64,
    /// The same, measured over whole calls that ran alone. 0: never.
    cost_alone: AtomicU64,
    /// The same, of items that ran alone for a trial during a shared call. 0: never.
    cost_in_trial: AtomicU64,
    // A [`History`].
    alone: AtomicU32,
    backoff: AtomicU32,
    hurt: AtomicU32,
    alone_below: AtomicU64,
    /// Calls still to be shared before their first item.
    shared: AtomicU32,
    /// Searches in a row that ran nearly all items.
    whole_searches: AtomicU32,
}

/// How a site's profile is found. The models have only its key.
#[cfg(not(loom))]
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
        // Relaxed, all: every field is advice, and each stands alone.
        self.cost.store(0, Ordering::Relaxed);
        self.cost_alone.store(0, Ordering::Relaxed);
        self.cost_in_trial.store(0, Ordering::Relaxed);
        self.shared.store(0, Ordering::Relaxed);
        self.whole_searches.store(0, Ordering::Relaxed);
        self.set_history(History::default());
    }
}

impl CallSiteProfile {
    /// The learnt cost, or 0.
    #[inline]
    pub(crate) fn cost(&self) -> u64 {
        // Relaxed: advice.
        self.cost.load(Ordering::Relaxed)
    }

    /// Learns a cost ([`followed`]).
    /// Differences below an eighth are not stored, so that a busy site's line stays unwritten.
    #[inline]
    pub(crate) fn learn(&self, cost: u64) {
        let before = self.cost();
        if cost.abs_diff(before) * 8 > before {
            // Relaxed: advice.
            self.cost
                .store(followed(before, cost).max(1), Ordering::Relaxed);
        }
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

    /// A call that ran alone took so long that it was opened: no more calls are to be run alone.
    pub(crate) fn was_opened(&self) {
        self.set_history(History::default());
    }

    /// The next `calls` are to be shared before their first item.
    pub(crate) fn share_next(&self, calls: u32) {
        // Relaxed: advice.
        self.shared.store(calls, Ordering::Relaxed);
    }

    /// Whether this call is one of those; counts it off.
    pub(crate) fn must_be_shared(&self) -> bool {
        // Relaxed, both: advice; two threads may count the same call.
        let left = self.shared.load(Ordering::Relaxed);
        if left > 0 {
            self.shared.store(left - 1, Ordering::Relaxed);
        }
        left > 0
    }

    /// Whether searches run nearly all items: the last two did. One is no proof.
    pub(crate) fn searches_whole(&self) -> bool {
        // Relaxed: advice.
        self.whole_searches.load(Ordering::Relaxed) >= 2
    }

    /// A search ran nearly all items, or did not.
    pub(crate) fn has_searched(&self, whole: bool) {
        // Relaxed, both: advice; two threads may count the same call.
        let before = self.whole_searches.load(Ordering::Relaxed);
        let now = if whole { (before + 1).min(2) } else { 0 };
        self.whole_searches.store(now, Ordering::Relaxed);
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

    /// What is known of sharing.
    pub(crate) fn history(&self) -> History {
        // Relaxed, all: advice.
        History {
            alone: self.alone.load(Ordering::Relaxed),
            backoff: self.backoff.load(Ordering::Relaxed),
            hurt: self.hurt.load(Ordering::Relaxed),
            // Relaxed: as above.
            alone_below: self.alone_below.load(Ordering::Relaxed),
        }
    }

    /// Replaces what is known of sharing. The same is not stored, so that a busy site's line stays unwritten.
    pub(crate) fn set_history(&self, now: History) {
        if now != self.history() {
            // Relaxed, all: advice.
            self.alone.store(now.alone, Ordering::Relaxed);
            self.backoff.store(now.backoff, Ordering::Relaxed);
            self.hurt.store(now.hurt, Ordering::Relaxed);
            self.alone_below.store(now.alone_below, Ordering::Relaxed);
        }
    }
}

/// What the calls of a site have shown of sharing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct History {
    /// Calls still to be run alone, because sharing made earlier ones slower.
    pub(crate) alone: u32,
    /// How many calls the last backoff lasted.
    pub(crate) backoff: u32,
    /// Shared calls that were hurt since the last one that was helped or ran alone.
    pub(crate) hurt: u32,
    /// The backoff is for calls of fewer items than this.
    pub(crate) alone_below: u64,
}

/// A cost that follows what was found: by half of the difference when that is higher, by a quarter when it is lower.
#[inline]
pub(crate) fn followed(before: u64, found: u64) -> u64 {
    if before == 0 {
        found
    } else if found > before {
        before + (found - before) / 2
    } else {
        before - (before - found) / 4
    }
}

/// Loops are recorded from now on: none finds its profile by [`CallSiteProfile::unrecorded`] any more.
#[cfg(feature = "inspect")]
pub(crate) fn record_all() {
    TABLE.iter().for_each(|site| site.key.mark());
}

/// The key of a profile. 0: none.
#[derive(Debug, Default)]
pub(crate) struct Key(AtomicUsize);

impl Key {
    /// Whether it is this one, without the mark.
    #[inline]
    pub(crate) fn is_unmarked(&self, key: usize) -> bool {
        // Relaxed, here and below: a key is advice, and stands alone.
        self.0.load(Ordering::Relaxed) == key
    }

    /// Whether it is this one.
    fn is(&self, key: usize) -> bool {
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed) & !MARK == key
    }

    /// Is this one from now on, with the mark if it has it.
    pub(crate) fn replace(&self, key: usize) {
        let (word, marked_as) = (&self.0, |before| Some(key | before & MARK));
        // Relaxed: as above.
        let replaced = word.fetch_update(Ordering::Relaxed, Ordering::Relaxed, marked_as);
        debug_assert!(replaced.is_ok(), "there is always another key");
    }

    /// Loops of its site are recorded from now on.
    #[cfg(any(loom, feature = "inspect"))]
    pub(crate) fn mark(&self) {
        // Relaxed: as above.
        self.0.fetch_or(MARK, Ordering::Relaxed);
    }
}

/// No address of a function, halved, has this bit.
const MARK: usize = 1 << (usize::BITS - 1);

const TABLE_BITS: u32 = 10;

#[cfg(not(loom))]
global! {
    static TABLE: [CallSiteProfile; 1 << TABLE_BITS] = [const {
        CallSiteProfile {
            key: Key(AtomicUsize::new(0)),
            cost: AtomicU64::new(0),
            cost_alone: AtomicU64::new(0),
            cost_in_trial: AtomicU64::new(0),
            alone: AtomicU32::new(0),
            backoff: AtomicU32::new(0),
            hurt: AtomicU32::new(0),
            alone_below: AtomicU64::new(0),
            shared: AtomicU32::new(0),
            whole_searches: AtomicU32::new(0),
        }
    }; 1 << TABLE_BITS];
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{CallSiteProfile, History};

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

    /// Two calls of fewer than 40 items are to run alone.
    const HURT: History = History {
        alone: 2,
        backoff: 2,
        hurt: 0,
        alone_below: 40,
    };

    #[test]
    fn a_backoff_does_not_bind_calls_of_another_size_and_is_counted_off() {
        let site = CallSiteProfile::of(0x3000);
        site.set_history(HURT);
        assert!(!site.must_run_alone(40));
        assert!(site.must_run_alone(39) && site.must_run_alone(1));
        assert!(!site.must_run_alone(39));
        assert_eq!(site.history(), History { alone: 0, ..HURT });
    }

    #[test]
    fn a_call_that_ran_alone_for_too_long_ends_the_backoff() {
        let site = CallSiteProfile::of(0x5000);
        site.set_history(HURT);
        assert!(site.must_run_alone(10));
        site.was_opened();
        assert!(!site.must_run_alone(10));
        assert_eq!(site.history(), History::default());
    }
}
