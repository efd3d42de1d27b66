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
pub(crate) mod hasher;
pub(crate) mod local;
pub(crate) mod ranking;
pub(crate) mod spread;
pub(crate) mod table;

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

/// The part that a hash belongs to.
fn part_of(hash: u32) -> usize {
    (hash >> (u32::BITS - PART_BITS)) as usize
}

/// After this number of items a new run is begun with the next block.
const RUN_LEN_MAX: u32 = 1 << 31;
const PART_BITS: u32 = 8;
/// Enough for each part of a million groups to stay in a processor's own cache.
const PARTS: usize = 1 << PART_BITS;
