//! What runners have made of runs of adjacent positions, until all of it is put together.
//!
//! A thread that ends a run takes its neighbours out and joins them, so that no more runs are kept than there are gaps
//! between them. Joining may be the caller's code, so it happens outside of the lock in which the runs are kept.
//!
//! Not here: what is made of a run, and which neighbours are joined (`reduce.rs`, `reduce_leaves.rs`,
//! `query/first_items.rs`).

use crate::sync::{Mutex, lock};
use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

/// Adjacent positions, and what was made of their items.
pub(crate) struct Run<V> {
    pub(crate) positions: Range<u64>,
    pub(crate) value: V,
}

impl<V> Run<V> {
    pub(crate) fn new(positions: Range<u64>, value: V) -> Self {
        Self { positions, value }
    }

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
pub(crate) struct AdjacentRuns<V> {
    /// Where the one at position 0 ends, and its value.
    first: Option<(u64, V)>,
    /// The others. A runner that is alone makes none, and then this is cheap to move and to drop.
    later: Option<Box<Later<V>>>,
}

/// Runs by where they begin: where they end, and their values.
type Later<V> = BTreeMap<u64, (u64, V)>;

impl<V> AdjacentRuns<V> {
    pub(crate) const fn new() -> Self {
        Self {
            first: None,
            later: None,
        }
    }

    /// Adds a run at position 0 if there is no other, as where a runner is alone; else gives it back.
    #[inline]
    pub(crate) fn insert_only(&mut self, run: Run<V>) -> Option<Run<V>> {
        if run.positions.start > 0 || self.first.is_some() || self.later.is_some() {
            return Some(run);
        }
        self.first = Some((run.positions.end, run.value));
        None
    }

    pub(crate) fn insert(&mut self, run: Run<V>) {
        let Range { start, end } = run.positions;
        let other = match start {
            0 => self.first.replace((end, run.value)),
            _ => {
                let later = self.later.get_or_insert_default();
                later.insert(start, (end, run.value))
            }
        };
        debug_assert!(other.is_none(), "two runs begin at position {start}");
    }

    /// Takes the run at position 0, if it ends at `end`.
    pub(crate) fn take_first(&mut self, end: u64) -> Option<Run<V>> {
        let (_, value) = self.first.take_if(|(first_end, _)| *first_end == end)?;
        Some(Run::new(0..end, value))
    }

    /// Takes the run that ends at `end`.
    pub(crate) fn take_before(&mut self, end: u64) -> Option<Run<V>> {
        if let Some(first) = self.take_first(end) {
            return Some(first);
        }
        let before = self.later.as_ref()?.range(..end).next_back();
        let (&start, _) = before.filter(|(_, run)| run.0 == end)?;
        self.take_after(start)
    }

    /// Takes the run that begins at `start`, which is not 0.
    pub(crate) fn take_after(&mut self, start: u64) -> Option<Run<V>> {
        let (end, value) = self.later.as_mut()?.remove(&start)?;
        Some(Run::new(start..end, value))
    }

    /// Takes a run beside `positions`.
    pub(crate) fn take_beside(&mut self, positions: &Range<u64>) -> Option<Run<V>> {
        let before = self.take_before(positions.start);
        before.or_else(|| self.take_after(positions.end))
    }

    /// Takes the run at position 0 if it is beside `positions`, or the one behind them if they begin there.
    pub(crate) fn take_joining_first(&mut self, positions: &Range<u64>) -> Option<Run<V>> {
        match self.take_first(positions.start) {
            None if positions.start == 0 => self.take_after(positions.end),
            first => first,
        }
    }

    /// The value of the only run if there are no others, or all.
    #[inline]
    pub(crate) fn into_one(self) -> Result<Option<V>, Self> {
        match self {
            Self { first, later: None } => Ok(first.map(|(_, only)| only)),
            several => Err(several),
        }
    }

    /// All runs, in the order of their positions.
    pub(crate) fn into_runs(self) -> impl Iterator<Item = Run<V>> {
        let first = self.first.map(|first| (0, first));
        let later = self.later.into_iter().flat_map(|later| *later);
        let runs = first.into_iter().chain(later);
        runs.map(|(start, (end, value))| Run::new(start..end, value))
    }
}

/// Keeps a run, joined with what `take` finds beside it, as long as there is something.
pub(crate) fn keep_joined<V>(
    runs: &Mutex<AdjacentRuns<V>>,
    mut run: Run<V>,
    take: impl Fn(&mut AdjacentRuns<V>, &Range<u64>) -> Option<Run<V>>,
    join: impl Fn(V, V) -> V,
) {
    loop {
        let mut kept = lock(runs);
        let Some(neighbour) = take(&mut kept, &run.positions) else {
            return kept.insert(run);
        };
        drop(kept);
        let (left, right) = run.in_order(neighbour);
        let positions = left.positions.start..right.positions.end;
        run = Run::new(positions, join(left.value, right.value));
    }
}

/// Replaces all runs by one of all positions below `end`, whose value `join` makes of theirs.
pub(crate) fn replace_all<V>(
    runs: &Mutex<AdjacentRuns<V>>,
    end: u64,
    join: impl FnOnce(AdjacentRuns<V>) -> V,
) {
    let all = mem::replace(&mut *lock(runs), AdjacentRuns::new());
    let value = join(all);
    lock(runs).insert(Run::new(0..end, value));
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
        let taken = |first: Range<u64>, later: Range<u64>, beside| {
            let run = runs(&[first, later]).take_beside(&beside);
            run.map(|run| run.positions)
        };
        assert_eq!(taken(0..3, 8..9, 4..6), None);
        assert_eq!(taken(0..4, 8..9, 4..6), Some(0..4));
        assert_eq!(taken(0..1, 2..4, 4..6), Some(2..4));
        assert_eq!(taken(0..1, 2..3, 4..6), None);
        assert_eq!(taken(0..1, 6..7, 4..6), Some(6..7));
        assert_eq!(taken(4..6, 7..8, 0..4), Some(4..6));
        assert_eq!(taken(4..6, 7..8, 1..3), None);
        assert_eq!(taken(0..0, 9..10, 0..6), Some(0..0));
    }

    #[test]
    fn a_run_at_position_0_is_added_where_there_is_no_other() {
        let mut runs = AdjacentRuns::new();
        assert!(runs.insert_only(run(1..2)).is_some());
        assert!(runs.insert_only(run(0..2)).is_none());
        assert!(runs.insert_only(run(2..3)).is_some());
        assert_eq!(runs.into_one().ok(), Some(Some(vec![0, 1])));
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
