//! What runners have made of runs of adjacent positions, until all of it is put together.
//!
//! Whoever ends a run takes its neighbours out and joins them, so that no more runs are kept than there are gaps
//! between them. Joining may be the caller's code, so it happens outside of the lock in which the runs are kept.
//!
//! Not here: what is made of a run, and which neighbours are joined (`reduce.rs`, `query/first_items.rs`).

use std::collections::BTreeMap;
use std::ops::Range;

/// Adjacent positions, and what was made of their items.
#[derive(Debug)]
pub(crate) struct Run<V> {
    pub(crate) positions: Range<u64>,
    pub(crate) value: V,
}

impl<V> Run<V> {
    /// This and a neighbour, the one with the lower positions first.
    pub(crate) fn in_order(self, neighbour: Self) -> (Self, Self) {
        if self.positions.start < neighbour.positions.end {
            (self, neighbour)
        } else {
            (neighbour, self)
        }
    }
}

/// Runs that do not overlap.
#[derive(Debug)]
pub(crate) struct AdjacentRuns<V> {
    /// Where the one at position 0 ends, and its value: a runner that is alone makes no other, and allocates nothing.
    first: Option<(u64, V)>,
    /// The others, by where they begin.
    later: BTreeMap<u64, (u64, V)>,
}

impl<V> AdjacentRuns<V> {
    pub(crate) const fn new() -> Self {
        Self {
            first: None,
            later: BTreeMap::new(),
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, run: Run<V>) {
        let Range { start, end } = run.positions;
        let other = match start {
            0 => self.first.replace((end, run.value)),
            _ => self.later.insert(start, (end, run.value)),
        };
        debug_assert!(other.is_none(), "two runs begin at position {start}");
    }

    /// Takes the run at position 0, if it ends at `end`.
    #[inline]
    pub(crate) fn take_first(&mut self, end: u64) -> Option<Run<V>> {
        let (_, value) = self.first.take_if(|(first_end, _)| *first_end == end)?;
        Some(Run {
            positions: 0..end,
            value,
        })
    }

    /// Takes the run that ends at `end`.
    #[inline]
    pub(crate) fn take_before(&mut self, end: u64) -> Option<Run<V>> {
        if let Some(first) = self.take_first(end) {
            return Some(first);
        }
        let (&start, &(run_end, _)) = self.later.range(..end).next_back()?;
        if run_end == end {
            self.take_after(start)
        } else {
            None
        }
    }

    /// Takes the run that begins at `start`, which is not 0.
    #[inline]
    pub(crate) fn take_after(&mut self, start: u64) -> Option<Run<V>> {
        let (end, value) = self.later.remove(&start)?;
        Some(Run {
            positions: start..end,
            value,
        })
    }

    /// Takes a run beside `positions`.
    #[inline]
    pub(crate) fn take_beside(&mut self, positions: &Range<u64>) -> Option<Run<V>> {
        let before = self.take_before(positions.start);
        before.or_else(|| self.take_after(positions.end))
    }

    /// All runs, in the order of their positions.
    #[inline]
    pub(crate) fn into_runs(self) -> impl Iterator<Item = Run<V>> {
        let first = self.first.map(|first| (0, first));
        let runs = first.into_iter().chain(self.later);
        runs.map(|(start, (end, value))| Run {
            positions: start..end,
            value,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{AdjacentRuns, Run};
    use std::ops::Range;

    fn run(positions: Range<u64>) -> Run<Vec<u64>> {
        Run {
            value: positions.clone().collect(),
            positions,
        }
    }

    fn runs(positions: &[Range<u64>]) -> AdjacentRuns<Vec<u64>> {
        let mut runs = AdjacentRuns::new();
        for positions in positions {
            runs.insert(run(positions.clone()));
        }
        runs
    }

    #[test]
    fn a_run_finds_its_neighbours_and_no_others() {
        let taken = |positions: &[Range<u64>], beside| {
            let run = runs(positions).take_beside(&beside);
            run.map(|run| run.positions)
        };
        assert_eq!(taken(&[], 0..4), None);
        assert_eq!(taken(&[0..3], 4..6), None);
        assert_eq!(taken(&[0..4], 4..6), Some(0..4));
        assert_eq!(taken(&[0..1, 2..4], 4..6), Some(2..4));
        assert_eq!(taken(&[0..1, 2..3], 4..6), None);
        assert_eq!(taken(&[6..7], 4..6), Some(6..7));
        assert_eq!(taken(&[7..8], 0..6), None);
        assert_eq!(taken(&[6..8], 0..6), Some(6..8));
        assert_eq!(taken(&[0..0], 0..6), Some(0..0));
    }

    #[test]
    fn runs_are_put_in_the_order_of_their_positions() {
        for (one, other) in [(2..4, 4..7), (4..7, 2..4)] {
            let (left, right) = run(one).in_order(run(other));
            assert_eq!([left.value, right.value].concat(), [2, 3, 4, 5, 6]);
        }
        let (left, right) = run(0..0).in_order(run(0..2));
        assert_eq!((left.positions, right.positions), (0..0, 0..2));
        let all = runs(&[5..6, 0..2, 3..4]).into_runs();
        let values: Vec<_> = all.map(|run| run.value).collect();
        assert_eq!(values.concat(), [0, 1, 3, 5]);
    }
}
