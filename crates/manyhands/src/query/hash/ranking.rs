//! Puts groups in the order of their first items by counting: each first item is a bit at its number, and its
//! rank is how many bits are before. That takes a look or two at each group where sorting takes many.

use crate::query::hash::Place;
use crate::query::hash::spread::Entry;
use std::collections::BTreeMap;

/// The groups of all parts, in the order of their first items.
pub(crate) fn in_order<K, G>(parts: Vec<Vec<Entry<K, G>>>) -> Vec<(K, G)> {
    let mut ranking = Ranking::of(parts.iter().flatten().map(Entry::first));
    let len = parts.iter().map(Vec::len).sum();
    // Each stretch of the order is written to by itself, and stays in a cache meanwhile.
    let stretch_len = usize::div_ceil(len, STRETCHES).max(1);
    let stretches = (0..STRETCHES).map(|_| Vec::with_capacity(stretch_len));
    let mut stretches: Vec<_> = stretches.collect();
    for entry in parts.into_iter().flatten() {
        let rank = ranking.rank(entry.first());
        stretches[rank / stretch_len].push((rank % stretch_len, entry.into_group()));
    }
    let mut groups = Vec::with_capacity(len);
    let mut in_order = Vec::new();
    for stretch in stretches {
        in_order.resize_with(stretch_len, || None);
        for (rank, group) in stretch {
            in_order[rank] = Some(group);
        }
        groups.extend(in_order.drain(..).flatten());
    }
    groups
}

/// Which places come before which.
struct Ranking {
    /// In order.
    runs: Vec<Run>,
    /// The number of the run that was asked for last, which often is asked for again.
    last: usize,
    words: Vec<Word>,
}

struct Run {
    first_position: u64,
    /// The number of its first item, if all runs are as long as they must be.
    start: usize,
}

/// One bit for each of so many items.
#[derive(Clone, Default)]
struct Word {
    bits: u64,
    /// How many bits are set in all words before.
    before: usize,
}

impl Ranking {
    fn of(places: impl Iterator<Item = Place> + Clone) -> Self {
        let mut ranking = Self {
            runs: Vec::new(),
            last: 0,
            words: Vec::new(),
        };
        let len = ranking.enter_runs(places.clone());
        ranking.words = vec![Word::default(); len.div_ceil(WORD_BITS)];
        for place in places {
            let number = ranking.number(place);
            ranking.words[number / WORD_BITS].bits |= 1 << (number % WORD_BITS);
        }
        let mut before = 0;
        for word in &mut ranking.words {
            word.before = before;
            before += word.bits.count_ones() as usize;
        }
        ranking
    }

    /// Finds the runs and how long they must be. Returns how long they are together.
    fn enter_runs(&mut self, places: impl Iterator<Item = Place>) -> usize {
        let mut lens: BTreeMap<u64, u32> = BTreeMap::new();
        let mut enter = |(run, index): Place| {
            let len = lens.entry(run).or_default();
            *len = index.max(*len);
        };
        // The last index of a row of places in one run.
        let mut last: Option<Place> = None;
        for (run, index) in places {
            match &mut last {
                Some((last_run, max)) if *last_run == run => *max = index.max(*max),
                _ => last.replace((run, index)).into_iter().for_each(&mut enter),
            }
        }
        last.into_iter().for_each(enter);
        let mut start = 0;
        for (first_position, max) in lens {
            self.runs.push(Run {
                first_position,
                start,
            });
            start += max as usize + 1;
        }
        start
    }

    /// An item's number.
    #[inline]
    fn number(&mut self, (run, index): Place) -> usize {
        if self.runs[self.last].first_position != run {
            let before = |other: &Run| other.first_position < run;
            self.last = self.runs.partition_point(before);
        }
        self.runs[self.last].start + index as usize
    }

    /// How many of the places come before this one.
    #[inline]
    fn rank(&mut self, place: Place) -> usize {
        let number = self.number(place);
        let word = &self.words[number / WORD_BITS];
        let earlier = word.bits & ((1 << (number % WORD_BITS)) - 1);
        word.before + earlier.count_ones() as usize
    }
}

/// So many stretches are written to by turns without waiting for memory.
const STRETCHES: usize = 256;
const WORD_BITS: usize = u64::BITS as usize;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Ranking;

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
        let mut ranking = Ranking::of(mixed);
        for (rank, place) in places.iter().enumerate() {
            assert_eq!(ranking.rank(*place), rank);
        }
    }

    #[test]
    fn nothing_has_no_rank() {
        assert!(Ranking::of([].into_iter()).words.is_empty());
    }
}
