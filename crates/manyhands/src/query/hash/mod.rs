//! Items by key: groups, sets and joins, by hashing.
//!
//! - [`groups`] is for values of groups (lists, counts, sums, sets): each runner gathers by itself ([`local`]) as long
//!   as there are few keys, and distributes its items by hash otherwise ([`spread`]).
//! - [`buckets`] is for look-ups (the inner side of a join): a list of the items, and one table of them.
//!
//! Few items or keys on one runner are gathered as in a loop written by hand: in one table, with no other work for each
//! item.
//!
//! Of groups, one thread at a time handles a part of the keys, and it may be any thread: nothing needs several runners
//! at once. Their hashes are 32 bits; the highest eight say which part a key belongs to.

pub(crate) mod buckets;
pub(crate) mod groups;
pub(crate) mod local;
pub(crate) mod ranking;
pub(crate) mod spread;
pub(crate) mod table;

use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Range;

/// An item's position in the order: the first position of the run it came in, and its number there. A run is a sequence
/// of adjacent blocks on one runner.
pub(crate) type ItemPosition = (u64, u32);

/// Numbers the items of a runner.
#[derive(Debug, Default)]
pub(crate) struct ItemNumbering {
    /// The first position of the run.
    run: u64,
    number: u32,
    /// The block being consumed.
    block: Range<u64>,
}

impl ItemNumbering {
    /// Continues with the items of this block.
    pub(crate) fn enter(&mut self, block: Range<u64>) {
        if block.start != self.block.end || self.number > RUN_LEN_MAX {
            (self.run, self.number) = (block.start, 0);
        }
        self.block = block;
    }

    /// The position of the next item.
    #[inline]
    pub(crate) fn next(&mut self) -> ItemPosition {
        if self.number == u32::MAX {
            self.begin_next_run();
        }
        self.number += 1;
        (self.run, self.number)
    }

    /// The next `count` item positions are used elsewhere.
    pub(crate) fn skip(&mut self, count: u32) {
        self.number += count;
        if self.number > RUN_LEN_MAX {
            self.begin_next_run();
        }
    }

    /// The position before the next item's.
    pub(crate) fn last(&self) -> ItemPosition {
        (self.run, self.number)
    }

    /// The run has more items than numbers: continues under the number of the block's next position, which no other
    /// run uses.
    #[cold]
    fn begin_next_run(&mut self) {
        self.run = self.run.max(self.block.start) + 1;
        self.number = 0;
        assert!(
            self.run < self.block.end,
            "a position gives at most 2³² items where they are told apart by key"
        );
    }
}

/// What a query hashes its keys with: an attacker who does not know it cannot easily choose keys that collide.
/// `foldhash` would draw the factor too, but some factors spread some series of keys badly, and its own does not.
pub(crate) fn new_secret() -> FixedState {
    FixedState::with_seed(RandomState::new().hash_one(0))
}

/// The hash of a key. Its highest bits choose a part, its lowest a slot. All are from the middle of the product, where
/// consecutive numbers are spread best.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "takes bits from the middle"
)]
pub(crate) fn hash_of<K: Hash>(secret: &FixedState, key: &K) -> u32 {
    (secret.hash_one(key) >> 16) as u32
}

/// The part that a hash belongs to.
fn part_of(hash: u32) -> usize {
    (hash >> (u32::BITS - PART_BITS)) as usize
}

/// After this number of items a new run is begun with the next block.
const RUN_LEN_MAX: u32 = 1 << 31;
const PART_BITS: u32 = 8;
/// Enough for each part of a million groups to stay in a processor's own cache.
const PARTS: usize = 1 << PART_BITS;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{PARTS, hash_of, part_of};
    use foldhash::fast::FixedState;
    use std::collections::HashSet;

    /// The same secrets in every run, so that a test fails in each or in none.
    fn secrets() -> impl Iterator<Item = FixedState> {
        (0..SECRETS).map(|seed| FixedState::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// Such as ids. A table of a thousand keys has 4,096 slots, where a thousand random hashes would share 113. A look-up
    /// beyond the first slot is a mispredicted branch.
    #[test]
    fn hardly_any_of_a_thousand_consecutive_numbers_share_a_slot() {
        for start in [0, 1 << 16, 1 << 20, 1 << 40] {
            let shared = secrets().map(|secret| {
                let keys = start..start + 1_000_u64;
                let slots: HashSet<u32> = keys.map(|key| hash_of(&secret, &key) % 4_096).collect();
                1_000 - slots.len()
            });
            let mut shared: Vec<_> = shared.collect();
            shared.sort_unstable();
            assert_eq!(shared[shared.len() * 95 / 100], 0, "{start}: {shared:?}");
            assert!(shared[shared.len() - 1] < 130, "{start}: {shared:?}");
        }
    }

    #[test]
    fn keys_are_spread_over_the_parts_and_over_the_slots_of_each() {
        fn check<K: std::hash::Hash>(key: impl Fn(u32) -> K) {
            for secret in secrets().take(20) {
                let mut parts = [0; PARTS];
                let mut slots = HashSet::new();
                for hash in (0..10_000).map(|i| hash_of(&secret, &key(i))) {
                    parts[part_of(hash)] += 1;
                    slots.insert((part_of(hash), hash % 128));
                }
                assert!(parts.iter().all(|keys| *keys < 120), "{parts:?}");
                // 8,640 if they were drawn.
                assert!(slots.len() > 7_500, "{} slots", slots.len());
            }
        }
        check(u64::from);
        check(|i| u64::from(i) << 40);
        check(|i| i * 1_024);
        check(|i| (i, !i));
        check(|i| format!("a key with the same beginning {i}"));
    }

    const SECRETS: u64 = 500;
}
