//! Loops that combine their results: in the source's order, grouped as it happens.
//!
//! Not here: a grouping that is fixed (`reduce_leaves.rs`).

use crate::engine::{Consumer, Ending, Watch};
use crate::parallel::Options;
use crate::parallel::adjacent::{AdjacentRuns, Run, keep_joined, replace_all};
use crate::parallel::source::{Feed, Source};
use crate::sync::{Mutex, get_mut, into_inner, lock};
use std::convert::Infallible;
use std::iter::Sum;
use std::mem;
use std::ops::ControlFlow::Continue;
use std::ops::Range;

/// How items become a value, and how values are combined.
pub(crate) trait Fold<T>: Sync {
    type Value: Send;

    /// Continues from `value`, if there is one, with more items.
    fn fold<I: Iterator<Item = T>>(
        &self,
        value: Option<Self::Value>,
        items: I,
    ) -> Option<Self::Value>;

    /// Combines the values of two adjacent runs.
    fn combine(&self, left: Self::Value, right: Self::Value) -> Self::Value;
}

/// Folds runs of adjacent items, and joins the values of runs that have become neighbours.
pub(crate) struct Folding<'a, F, V, W> {
    fold: &'a F,
    watch: W,
    /// The runs that have ended; of some without a value all items were filtered out.
    runs: Mutex<AdjacentRuns<Option<V>>>,
}

impl<'a, F, V, W> Folding<'a, F, V, W> {
    pub(crate) fn new(fold: &'a F, watch: W) -> Self {
        Self {
            fold,
            watch,
            runs: Mutex::new(AdjacentRuns::new()),
        }
    }

    /// The values of all runs, combined in the order of their positions; `None` if there are none.
    #[inline]
    pub(crate) fn into_value<T>(self) -> Option<V>
    where
        F: Fold<T, Value = V>,
    {
        combined(self.fold, into_inner(self.runs))
    }

    /// Keeps a run, joined with its neighbours.
    #[cold]
    fn join<T>(&self, run: Run<Option<V>>)
    where
        F: Fold<T, Value = V>,
    {
        let join = |left, right| combine(self.fold, left, right);
        keep_joined(&self.runs, run, AdjacentRuns::take_beside, join);
    }
}

/// The values of two adjacent runs as one.
fn combine<T, F: Fold<T>>(
    fold: &F,
    left: Option<F::Value>,
    right: Option<F::Value>,
) -> Option<F::Value> {
    match (left, right) {
        (Some(left), Some(right)) => Some(fold.combine(left, right)),
        (left, right) => left.or(right),
    }
}

/// The values of all runs as one.
#[inline]
fn combined<T, F: Fold<T>>(fold: &F, runs: AdjacentRuns<Option<F::Value>>) -> Option<F::Value> {
    let runs = match runs.into_one() {
        Ok(only) => return only.flatten(),
        Err(runs) => runs.into_runs(),
    };
    let values = runs.filter_map(|run| run.value);
    values.reduce(|left, right| fold.combine(left, right))
}

impl<T, F: Fold<T>, W: Watch> Consumer<T> for Folding<'_, F, F::Value, W> {
    /// Its last run, if it has begun one.
    type Runner = Option<Run<Option<F::Value>>>;

    fn start(&self) -> Self::Runner {
        None
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        own: &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        let Range { start, end } = positions;
        let run = match own {
            Some(run) if run.positions.end == start => run,
            Some(before) => {
                let next = Run::new(start..start, None);
                Consumer::<T>::finish(self, Some(mem::replace(before, next)));
                before
            }
            None => own.insert(Run::new(start..start, None)),
        };
        let before = run.value.take();
        run.value = self.fold.fold(before, self.watch.limit(start, items));
        // Last, so that the positions of a block that panics or is cut short stay missing, and nothing is combined across
        // them.
        if self.watch.end() >= end {
            run.positions.end = end;
        }
    }

    fn finish(&self, own: Self::Runner) {
        let run = own.filter(|run| !run.positions.is_empty());
        let others = run.and_then(|run| lock(&self.runs).insert_only(run));
        if let Some(run) = others {
            self.join::<T>(run);
        }
    }

    #[inline]
    fn finish_only(&mut self, own: Self::Runner) {
        let run = own.filter(|run| !run.positions.is_empty());
        let others = run.and_then(|run| get_mut(&mut self.runs).insert_only(run));
        if let Some(run) = others {
            self.join::<T>(run);
        }
    }

    fn end(&self) -> u64 {
        self.watch.end()
    }

    fn pass(&self, end: u64) {
        if self.watch.end() >= end {
            replace_all(&self.runs, end, |runs| combined(self.fold, runs));
        }
    }
}

/// A mapping and a reduction by closures.
pub(crate) struct MapReduce<M, R> {
    pub(crate) map: M,
    pub(crate) reduce: R,
}

impl<T, V, M, R> Fold<T> for MapReduce<M, R>
where
    V: Send,
    M: Fn(T) -> V + Sync,
    R: Fn(V, V) -> V + Sync,
{
    type Value = V;

    #[inline]
    fn fold<I: Iterator<Item = T>>(&self, value: Option<V>, mut items: I) -> Option<V> {
        let first = match value {
            Some(value) => value,
            None => (self.map)(items.next()?),
        };
        let reduce = |value, item| (self.reduce)(value, (self.map)(item));
        fold_kept(first, items, reduce)
    }

    fn combine(&self, left: V, right: V) -> V {
        (self.reduce)(left, right)
    }
}

/// Folds the items into `first`, which is kept here and not passed along: an adapter that has a value and drops an item, as a
/// filter does, loses the value if that drop panics.
#[inline]
pub(crate) fn fold_kept<V, I: Iterator>(
    first: V,
    mut items: I,
    fold: impl Fn(V, I::Item) -> V,
) -> Option<V> {
    let mut kept = Some(first);
    // Not `for_each`: for slices that counts, and then compilers make vectors of 64-bit items, also where the
    // processor cannot compare such vectors and they take four times as long.
    let Continue(()) = items.try_for_each(|item| {
        kept = kept.take().map(|value| fold(value, item));
        Continue::<Infallible, ()>(())
    });
    // First: the compiler leaks what is returned if a drop panics after that, and items may be left.
    drop(items);
    kept
}

/// [`Iterator::sum`] of each block, and of the blocks' sums.
pub(crate) struct Summing<S>(pub(crate) std::marker::PhantomData<fn() -> S>);

impl<T, S: Sum<T> + Sum<S> + Send> Fold<T> for Summing<S> {
    type Value = S;

    #[inline]
    fn fold<I: Iterator<Item = T>>(&self, value: Option<S>, items: I) -> Option<S> {
        let sum = sum_of_block(items);
        Some(match value {
            None => sum,
            Some(before) => Fold::<T>::combine(self, before, sum),
        })
    }

    fn combine(&self, left: S, right: S) -> S {
        [left, right].into_iter().sum()
    }
}

/// A function of its own, because compilers do not make vectors of every loop that they have put into a larger one.
#[inline(never)]
fn sum_of_block<T, S: Sum<T>>(items: impl Iterator<Item = T>) -> S {
    items.sum()
}

impl<E: Ending> Options<'_, E> {
    /// As [`map_reduce`](crate::parallel::map_reduce), with these options.
    ///
    /// # Examples
    /// ```
    /// use manyhands::parallel;
    /// let options = parallel::Options::new().degree_of_parallelism(2)?;
    /// let words = ["many", "hands", "make", "light", "work"];
    /// assert_eq!(options.map_reduce(&words, |word| word.len(), |a, b| a + b), Some(22));
    /// # Ok::<(), parallel::ConcurrencyError>(())
    /// ```
    #[doc(alias = "Aggregate")]
    #[track_caller]
    pub fn map_reduce<S: Source, V: Send>(
        &self,
        source: S,
        map: impl Fn(S::Item) -> V + Sync,
        reduce: impl Fn(V, V) -> V + Sync,
    ) -> E::Output<Option<V>> {
        let (ending, fold) = (self.ending, MapReduce { map, reduce });
        let mut folding = Folding::new(&fold, ending);
        let feed = source.into_feed();
        feed.drive(&mut folding, &self.plan(), ending.token());
        // What was cancelled is missing between the runs.
        let is_complete = ending.cancelled().is_none();
        let value = is_complete.then(|| folding.into_value());
        // First, for the reason given at `fold_kept`.
        drop(fold);
        ending.conclude(value)
    }
}

#[cfg(all(test, not(loom)))]
pub(super) mod tests {
    use super::{Folding, MapReduce};
    use crate::cancel::TokenSource;
    use crate::engine::consumer::Consumer;
    use std::ops::Range;

    /// Of numbers and ranges of them; fails if two are combined that are no neighbours.
    pub(in crate::parallel) type Joining =
        MapReduce<fn(u64) -> Range<u64>, fn(Range<u64>, Range<u64>) -> Range<u64>>;

    pub(in crate::parallel) fn joining() -> Joining {
        MapReduce {
            map: |number| number..number + 1,
            reduce: |left, right| {
                assert_eq!(left.end, right.start, "these are no neighbours");
                left.start..right.end
            },
        }
    }

    /// Two runners of which one is cancelled in the middle of a block.
    pub(in crate::parallel) fn cut_short(folding: &impl Consumer<u64>, source: &TokenSource) {
        let (mut left, mut right) = (folding.start(), folding.start());
        folding.consume(&mut left, 0..2, 0..2);
        folding.consume(&mut right, 6..8, 6..8);
        folding.finish(right);
        let cancelling = (2..6).inspect(|number| {
            if *number == 3 {
                source.cancel();
            }
        });
        folding.consume(&mut left, 2..6, cancelling);
        folding.finish(left);
        folding.pass(8);
    }

    #[test]
    fn nothing_is_combined_across_what_a_cancellation_leaves_out() {
        let source = TokenSource::new();
        let token = source.token();
        let fold = joining();
        let folding: Folding<'_, Joining, Range<u64>, _> = Folding::new(&fold, &token);
        cut_short(&folding, &source);
    }
}
