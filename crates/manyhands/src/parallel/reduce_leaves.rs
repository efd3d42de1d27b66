//! Reductions whose grouping is fixed: each leaf's items are folded by themselves, and the leaves' values are combined one by
//! one, from the first on.
//!
//! Not here: where leaves begin (`source/leaves.rs`, `source/iterator.rs`), and reductions that group as it happens
//! (`reduce.rs`).

use crate::engine::{Consumer, Grouping, Watch};
use crate::parallel::adjacent::{AdjacentRuns, Run, keep_joined, replace_all};
use crate::parallel::reduce::Fold;
use crate::sync::{Mutex, into_inner};
use std::mem;
use std::ops::Range;

/// Folds leaves, one in each block, and combines what joins the first one.
pub(crate) struct FoldingLeaves<'a, F, V, W> {
    fold: &'a F,
    watch: W,
    /// The runs that were handed over: the values of their leaves, or of the one at position 0 what they are combined.
    runs: Mutex<AdjacentRuns<Vec<V>>>,
}

impl<'a, F, V, W> FoldingLeaves<'a, F, V, W> {
    pub(crate) fn new(fold: &'a F, watch: W) -> Self {
        Self {
            fold,
            watch,
            runs: Mutex::new(AdjacentRuns::new()),
        }
    }

    /// The values of all leaves, combined in order; `None` if there are none.
    pub(crate) fn into_value<T>(self) -> Option<V>
    where
        F: Fold<T, Value = V>,
    {
        combined(self.fold, values_of(into_inner(self.runs)))
    }
}

fn combined<T, F: Fold<T>>(fold: &F, values: impl Iterator<Item = F::Value>) -> Option<F::Value> {
    values.reduce(|left, right| fold.combine(left, right))
}

/// All values, in the order of their positions.
fn values_of<V>(runs: AdjacentRuns<Vec<V>>) -> impl Iterator<Item = V> {
    runs.into_runs().flat_map(|run| run.value)
}

impl<T, F: Fold<T>, W: Watch> Consumer<T> for FoldingLeaves<'_, F, F::Value, W> {
    /// The leaves since it last handed over a run.
    type Runner = Option<Run<Vec<F::Value>>>;

    const GROUPING: Grouping = Grouping::Fixed;

    fn start(&self) -> Self::Runner {
        None
    }

    fn consume<I: Iterator<Item = T>>(
        &self,
        own: &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        let Range { start, end } = positions;
        let run = own.get_or_insert_with(|| Run::new(start..start, Vec::new()));
        if run.positions.end != start || run.value.len() == KEPT_MAX {
            let before = mem::replace(run, Run::new(start..start, Vec::new()));
            Consumer::<T>::finish(self, Some(before));
        }
        let value = self.fold.fold(None, self.watch.limit(start, items));
        // Last, so that a leaf that panics or is cut short stays missing, and nothing is combined across it.
        if self.watch.end() >= end {
            run.positions.end = end;
            // None if all its items were filtered out.
            let Some(mut value) = value else { return };
            if run.positions.start == 0
                && let Some(first) = run.value.pop()
            {
                value = self.fold.combine(first, value);
            }
            run.value.push(value);
        }
    }

    fn finish(&self, own: Self::Runner) {
        let Some(run) = own.filter(|run| !run.positions.is_empty()) else {
            return;
        };
        let join = |left: Vec<_>, right| {
            let value = combined(self.fold, left.into_iter().chain(right));
            value.into_iter().collect()
        };
        keep_joined(&self.runs, run, AdjacentRuns::take_joining_first, join);
    }

    fn end(&self) -> u64 {
        self.watch.end()
    }

    fn pass(&self, end: u64) {
        if self.watch.end() >= end {
            let join = |runs| combined(self.fold, values_of(runs)).into_iter().collect();
            replace_all(&self.runs, end, join);
        }
    }
}

/// A runner hands over this many values at once: enough that the lock costs little beside them, and few to keep.
const KEPT_MAX: usize = 32;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{FoldingLeaves, KEPT_MAX};
    use crate::cancel::TokenSource;
    use crate::engine::consumer::Consumer;
    use crate::parallel::reduce::tests::{Joining, cut_short, joining};
    use crate::sync::lock;
    use std::ops::Range;

    type Leaves<'a, W> = FoldingLeaves<'a, Joining, Range<u64>, W>;

    #[test]
    fn nothing_is_combined_across_what_a_cancellation_leaves_out() {
        let source = TokenSource::new();
        let token = source.token();
        let fold = joining();
        let leaves: Leaves<'_, _> = FoldingLeaves::new(&fold, &token);
        cut_short(&leaves, &source);
    }

    #[test]
    fn however_many_leaves_are_folded_few_are_kept() {
        let fold = joining();
        let leaves: Leaves<'_, _> = FoldingLeaves::new(&fold, ());
        let count = 100 * KEPT_MAX as u64;
        for (from, to, kept_max) in [(0, 10, 1), (10, count, KEPT_MAX)] {
            let mut own = Consumer::<u64>::start(&leaves);
            for leaf in from..to {
                Consumer::<u64>::consume(&leaves, &mut own, leaf..leaf + 1, leaf..leaf + 1);
                let kept = own.as_ref().map_or(0, |run| run.value.len());
                assert!(kept <= kept_max, "{kept} values at {leaf}");
            }
            Consumer::<u64>::finish(&leaves, own);
        }
        let mut kept = lock(&leaves.runs).take_first(count).unwrap().value;
        assert_eq!((kept.pop(), kept.len()), (Some(0..count), 0));
    }
}
