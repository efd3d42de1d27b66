//! Puts groups in the order of their first items by counting: each first item is a bit at its number, and its rank is
//! the number of bits before it. That reads each group once or twice where sorting reads it many times.

use crate::parallel::runs::RunStart;
use crate::query::hash::ItemPosition;
use crate::query::hash::spread::OrderedGroup;

/// What `make` makes of the groups of all parts, in the order of their first items.
pub(crate) fn in_order<K, G, R>(
    parts: Vec<Vec<OrderedGroup<K, G>>>,
    mut make: impl FnMut(K, G) -> R,
) -> Vec<R> {
    let mut make = |(key, group)| make(key, group);
    let len = parts.iter().map(Vec::len).sum();
    let Some(mut ranking) = Ranking::of(parts.iter().flatten().map(OrderedGroup::first), len)
    else {
        let mut entries: Vec<_> = parts.into_iter().flatten().collect();
        entries.sort_unstable_by_key(OrderedGroup::first);
        let groups = entries.into_iter().map(OrderedGroup::into_group);
        return groups.map(make).collect();
    };
    // Each segment of the order is written by itself, and stays in a cache meanwhile.
    let segment_len = usize::div_ceil(len, SEGMENTS).max(1);
    let segments = (0..SEGMENTS).map(|_| Vec::with_capacity(segment_len));
    let mut segments: Vec<_> = segments.collect();
    for entry in parts.into_iter().flatten() {
        let rank = ranking.rank(entry.first());
        segments[rank / segment_len].push((rank % segment_len, entry.into_group()));
    }
    let mut groups = Vec::with_capacity(len);
    let mut in_order = Vec::new();
    for segment in segments {
        in_order.resize_with(segment_len, || None);
        for (rank, group) in segment {
            in_order[rank] = Some(group);
        }
        groups.extend(in_order.drain(..).flatten().map(&mut make));
    }
    groups
}

/// The order of item positions.
struct Ranking {
    /// In order, and numbered as if all runs were as long as they must be.
    runs: Vec<RunStart<u64>>,
    /// The number of the run of the last request, which is often requested again.
    last: usize,
    words: Vec<Word>,
}

/// One bit for each of this number of items.
#[derive(Clone, Default)]
struct Word {
    bits: u64,
    /// How many bits are set in all words before.
    before: usize,
}

impl Ranking {
    /// `None` where so few of the items are firsts that their bits would take more memory than the groups: sorting
    /// then takes a small part of the whole time.
    fn of(places: impl Iterator<Item = ItemPosition> + Clone, groups: usize) -> Option<Self> {
        let mut ranking = Self {
            runs: Vec::new(),
            last: 0,
            words: Vec::new(),
        };
        let len = ranking.enter_runs(places.clone());
        let words = len.div_ceil(WORD_BITS);
        if words > groups.saturating_mul(WORDS_PER_GROUP_MAX) {
            return None;
        }
        ranking.words = vec![Word::default(); words];
        for place in places {
            let number = ranking.number(place);
            ranking.words[number / WORD_BITS].bits |= 1 << (number % WORD_BITS);
        }
        let mut before = 0;
        for word in &mut ranking.words {
            word.before = before;
            before += word.bits.count_ones() as usize;
        }
        Some(ranking)
    }

    /// Determines the runs and how long they must be. Returns their total length.
    fn enter_runs(&mut self, places: impl Iterator<Item = ItemPosition>) -> usize {
        // The last index of each sequence of item positions in one run.
        let mut lasts: Vec<ItemPosition> = Vec::new();
        for (run, index) in places {
            match lasts.last_mut() {
                Some((last_run, max)) if *last_run == run => *max = index.max(*max),
                _ => lasts.push((run, index)),
            }
        }
        // Of each run the highest first, which is kept.
        lasts.sort_unstable_by(|left, right| right.cmp(left));
        lasts.dedup_by_key(|(run, _)| *run);
        let mut number = 0;
        for (position, max) in lasts.into_iter().rev() {
            self.runs.push(RunStart { position, number });
            number += max as usize + 1;
        }
        number
    }

    /// An item's number.
    #[inline]
    fn number(&mut self, (run, index): ItemPosition) -> usize {
        if self.runs[self.last].position != run {
            let before = |other: &RunStart<u64>| other.position < run;
            self.last = self.runs.partition_point(before);
        }
        self.runs[self.last].number + index as usize
    }

    /// How many item positions come before this one.
    #[inline]
    fn rank(&mut self, place: ItemPosition) -> usize {
        let number = self.number(place);
        let word = &self.words[number / WORD_BITS];
        let earlier = word.bits & ((1 << (number % WORD_BITS)) - 1);
        word.before + earlier.count_ones() as usize
    }
}

/// Memory keeps up with writes that alternate between this number of segments.
const SEGMENTS: usize = 256;
const WORD_BITS: usize = u64::BITS as usize;
/// As much memory as a small group takes.
const WORDS_PER_GROUP_MAX: usize = 4;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Ranking, in_order};
    use crate::query::hash::ItemPosition;
    use crate::query::hash::spread::OrderedGroup;

    impl OrderedGroup<u32, ItemPosition> {
        /// A group that is its own item position.
        fn of(key: u32, first: ItemPosition) -> Self {
            let hash = key;
            let entry = crate::query::hash::table::GroupEntry {
                key,
                group: first,
                hash,
            };
            Self::new(entry, first)
        }
    }

    #[test]
    fn ranks_are_those_of_sorted_places() {
        let scattered = (0..2_000_u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7);
        let places = scattered.map(|i| (u64::from(i % 5) << 40, i / 5 % 70_000));
        let mut places: Vec<_> = places.collect();
        places.sort_unstable();
        places.dedup();
        // Neither in order nor run by run.
        let middle = places.len() / 3;
        let (low, high) = places.split_at(middle);
        let mixed = high.iter().rev().chain(low).copied();
        let mut ranking = Ranking::of(mixed, places.len()).expect("many of the items are firsts");
        for (rank, place) in places.iter().enumerate() {
            assert_eq!(ranking.rank(*place), rank);
        }
    }

    #[test]
    fn nothing_has_no_rank() {
        let ranking = Ranking::of([].into_iter(), 0);
        assert!(ranking.is_some_and(|ranking| ranking.words.is_empty()));
    }

    #[test]
    fn the_memory_for_ranks_grows_with_the_groups_and_not_with_the_items() {
        let words = |places: &[ItemPosition]| {
            Ranking::of(places.iter().copied(), places.len()).map(|ranking| ranking.words.len())
        };
        assert_eq!(words(&[(0, 0), (0, 511)]), Some(8));
        assert_eq!(words(&[(0, 0), (0, 512)]), None);
        assert_eq!(words(&[(0, u32::MAX - 1), (1 << 40, u32::MAX - 1)]), None);
    }

    #[test]
    fn groups_of_which_few_items_are_firsts_are_in_order_too() {
        let first = |n: u32| (u64::from(n % 3) << 40, n.wrapping_mul(2_654_435_761) >> 1);
        let parts = (0..5).map(|part| {
            (0..50)
                .map(|n| OrderedGroup::of(n, first(n * 5 + part)))
                .collect()
        });
        let parts: Vec<Vec<OrderedGroup<u32, ItemPosition>>> = parts.collect();
        let groups = in_order(parts, |key, first| (key, first));
        assert_eq!(groups.len(), 250);
        assert!(groups.is_sorted_by_key(|(_, first)| *first));
    }
}
