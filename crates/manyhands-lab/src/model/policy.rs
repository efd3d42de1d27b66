//! The policies, and the simulation of all workers under one.

use super::ranges::Ranges;
use crate::workload::loops::range_size;
use std::{cmp::Reverse, collections::BinaryHeap};

/// How workers come by their items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Ours: a worker claims a block of its own range, of `block_max` items or a quarter of the
    /// range, whichever is less; one whose range is empty takes the back half of the longest other.
    /// `block_max` is as many items as take 10 µs, and at least one. Left out: when a call site is
    /// called for the first time, one item is run alone to see how long it takes.
    Ranges {
        /// Most items in a block.
        block_max: usize,
    },
    /// `Parallel.For` of .NET: one range for each worker, claimed in chunks that double from 1 to 16;
    /// who is done with its own range walks on to the others, with the chunk it has reached.
    DotNetFor,
    /// `Partitioner.Create(0, n)` of .NET: ranges a third of a worker's share long, at least one item,
    /// claimed one by one.
    DotNetRanges,
    /// Items claimed one by one.
    OneByOne,
}

impl Policy {
    /// Ours, for items of this time.
    #[must_use]
    pub fn ours(item_nanos: f64) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float turned into an integer saturates"
        )]
        let block_max = ((BLOCK_NANOS / item_nanos) as usize).max(1);
        Self::Ranges { block_max }
    }

    /// Rounds until the last item is done.
    ///
    /// # Panics
    /// If there are no workers.
    #[must_use]
    pub fn rounds(self, items: usize, workers: usize) -> usize {
        assert!(workers > 0, "somebody must do the work");
        match self {
            Self::Ranges { block_max } => {
                let mut ranges = Ranges::new(workers, items);
                simulate(workers, |worker| ranges.claim(worker, block_max))
            }
            Self::DotNetFor => {
                let mut ranges = DotNetRanges::new(workers, items);
                simulate(workers, |worker| ranges.claim(worker))
            }
            Self::DotNetRanges => one_queue(workers, items, range_size(items, workers)),
            Self::OneByOne => one_queue(workers, items, 1),
        }
    }
}

/// What a block of ours is meant to take.
const BLOCK_NANOS: f64 = 10_000.0;

/// Lets every worker claim as soon as it is free, lower numbers first, until nothing is given any more;
/// returns when the last is done. `claim` gives a number of items, or `None` when nothing is left.
fn simulate(workers: usize, mut claim: impl FnMut(usize) -> Option<usize>) -> usize {
    let mut free: BinaryHeap<_> = (0..workers).map(|worker| Reverse((0, worker))).collect();
    let mut last = 0;
    while let Some(Reverse((now, worker))) = free.pop() {
        if let Some(items) = claim(worker) {
            last = last.max(now + items);
            free.push(Reverse((now + items, worker)));
        }
    }
    last
}

/// Blocks of `size` items from the front of all that is left.
fn one_queue(workers: usize, items: usize, size: usize) -> usize {
    let mut left = items;
    simulate(workers, |_| {
        let claimed = left.min(size);
        left -= claimed;
        (claimed > 0).then_some(claimed)
    })
}

/// The ranges of a `Parallel.For`.
struct DotNetRanges {
    /// Items left in each.
    left: Vec<usize>,
    /// For each worker the range it is at, and its next chunk.
    at: Vec<(usize, usize)>,
}

impl DotNetRanges {
    fn new(workers: usize, items: usize) -> Self {
        let size = (items / workers).max(1);
        let count = items.div_ceil(size).max(1);
        let left = (0..count)
            .map(|range| size.min(items - range * size))
            .collect();
        let at = (0..workers).map(|worker| (worker % count, 1)).collect();
        Self { left, at }
    }

    fn claim(&mut self, worker: usize) -> Option<usize> {
        let (range, chunk) = &mut self.at[worker];
        let count = self.left.len();
        let has_items = |step: &usize| self.left[(*range + step) % count] > 0;
        *range = (*range + (0..count).find(has_items)?) % count;
        let claimed = self.left[*range].min(*chunk);
        self.left[*range] -= claimed;
        *chunk = (*chunk * 2).min(DOT_NET_CHUNK_MAX);
        Some(claimed)
    }
}

const DOT_NET_CHUNK_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::rounds_bound;

    /// The published machines.
    const CPUS: [usize; 8] = [2, 4, 8, 16, 32, 64, 96, 192];

    #[test]
    fn one_by_one_is_the_bound() {
        let rounds = CPUS.map(|cpus| Policy::OneByOne.rounds(300, cpus));
        assert_eq!(rounds, [150, 75, 38, 19, 10, 5, 4, 2]);
        assert_eq!(rounds, CPUS.map(|cpus| rounds_bound(300, cpus)));
    }

    #[test]
    fn parallel_for_swallows_left_over_ranges_whole() {
        let rounds = [16, 32, 64, 96, 192].map(|cpus| Policy::DotNetFor.rounds(300, cpus));
        assert_eq!(rounds, [30, 18, 8, 6, 2]);
    }

    #[test]
    fn small_ranges_are_single_items_from_64_cpus_on() {
        let rounds = [64, 96, 192].map(|cpus| Policy::DotNetRanges.rounds(300, cpus));
        assert_eq!(rounds, [5, 4, 2]);
        assert_eq!(Policy::DotNetRanges.rounds(300, 32), 12);
    }

    #[test]
    fn ours_stays_near_the_bound_on_any_number_of_workers() {
        for workers in 1..=200 {
            for items in [1, 300, 1_000] {
                let rounds = Policy::ours(1e6).rounds(items, workers);
                assert_eq!(rounds, rounds_bound(items, workers), "{items} on {workers}");
            }
            // Light items go out in blocks of 10 µs, 40 here; the last may be late by a part of one.
            let (rounds, bound) = (
                Policy::ours(250.0).rounds(100_000, workers),
                rounds_bound(100_000, workers),
            );
            assert!(rounds as f64 <= 1.1 * bound as f64, "{rounds} on {workers}");
        }
    }

    #[test]
    fn every_policy_gives_out_every_item_and_no_more() {
        for policy in [
            Policy::Ranges { block_max: 7 },
            Policy::DotNetFor,
            Policy::DotNetRanges,
            Policy::OneByOne,
        ] {
            for items in [0, 1, 2, 16, 17, 1_000] {
                assert_eq!(policy.rounds(items, 1), items, "{policy:?}");
                let rounds = policy.rounds(items, 3);
                assert!(rounds >= items.div_ceil(3) && rounds <= items, "{policy:?}");
            }
        }
    }
}
