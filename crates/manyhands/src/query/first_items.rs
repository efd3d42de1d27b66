//! The first few items of a query that knows no positions, with regard to a test if there is one: blocks below the last
//! one needed still run, blocks above stop.
//!
//! A runner continues the run that ends where its block begins, so that most items are not moved again. While it is alone it
//! keeps that run to itself, without a lock for each block.
//!
//! # Ordering
//! The end only says what runners need not start, and the number of runners is a hint, hence Relaxed; the lock publishes the
//! items.

use crate::engine::{Consumer, Ending};
use crate::parallel::adjacent::{AdjacentRuns, Run};
use crate::parallel::append::append;
use crate::query::gather::append_vec;
use crate::query::pipeline::drop_then;
use crate::query::{ExecutionMode, Pipeline, QueryRun};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, into_inner, lock};
use std::mem;
use std::ops::Range;

/// The first `most` items, in order. The source is run in steps, each twice as long as the one before, so that no runner
/// begins far behind the last item that is wanted. Not where bodies may wait for one another: each step ends in a barrier.
pub(crate) fn first_items<P: Pipeline, E: Ending>(
    mut pipeline: P,
    most: usize,
    run: &QueryRun<'_, E>,
) -> Vec<P::Item> {
    let mut items = Vec::new();
    let mut step = match run.settings.mode {
        ExecutionMode::Parallel => u64::MAX,
        ExecutionMode::Auto | ExecutionMode::Sequential => most as u64,
    };
    loop {
        let mut first = FirstItems::new(Wanted::Before, most - items.len(), BeforeFailure(Some));
        let count = pipeline.drive(step, &mut first, run);
        items.append(&mut first.into_vec());
        if count < step || items.len() == most || run.is_cancelled() {
            drop(pipeline);
            return items;
        }
        step = step.saturating_mul(2);
    }
}

/// Which items are wanted, with regard to the first one that fails a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Those before it; all of them if there is no test.
    Before,
    /// It, and those behind it.
    From,
}

/// Which items of a block may be wanted, and as what.
pub(crate) trait Choose<T>: Sized + Sync {
    /// What is kept of an item.
    type Item: Send;

    /// Adds those of a further block to its run.
    fn choose<I: Iterator<Item = T>>(
        &self,
        first: &FirstItems<Self::Item, Self>,
        run: &mut Run<Kept<Self::Item>>,
        items: I,
    );
}

/// The results of items up to the first `None`, as many as are wanted.
pub(crate) struct BeforeFailure<F>(pub(crate) F);

impl<T, R: Send, F: Fn(T) -> Option<R> + Sync> Choose<T> for BeforeFailure<F> {
    type Item = R;

    #[inline]
    fn choose<I: Iterator<Item = T>>(
        &self,
        first: &FirstItems<R, Self>,
        run: &mut Run<Kept<R>>,
        items: I,
    ) {
        let kept = &mut run.value;
        let mut has_failed = false;
        let passing = items.map_while(|item| {
            let made = (self.0)(item);
            if made.is_none() {
                has_failed = true;
            }
            made
        });
        match first.needs(kept) {
            // Without a count of them.
            ALL => append(&mut kept.items, passing),
            needs => append(&mut kept.items, passing.take(needs)),
        }
        if has_failed {
            kept.failed_at = Some(kept.items.len());
        }
    }
}

/// Keeps runs of blocks until one of them has enough items.
pub(crate) struct FirstItems<T, C> {
    wanted: Wanted,
    choice: C,
    most: usize,
    end: AtomicU64,
    /// How many runners are at work.
    runners: AtomicUsize,
    runs: Mutex<AdjacentRuns<Kept<T>>>,
}

/// The run that a runner keeps to itself.
pub(crate) type OwnRun<T> = Option<Run<Kept<T>>>;

/// As many items as there are.
const ALL: usize = usize::MAX;

/// The items of a run, as far as they may be wanted.
pub(crate) struct Kept<T> {
    pub(crate) items: Vec<T>,
    /// Where among them the first one is that failed, or where it was.
    pub(crate) failed_at: Option<usize>,
}

impl<T, C> FirstItems<T, C> {
    pub(crate) fn new(wanted: Wanted, most: usize, choice: C) -> Self {
        Self {
            wanted,
            choice,
            most,
            end: AtomicU64::new(if most == 0 { 0 } else { u64::MAX }),
            runners: AtomicUsize::new(0),
            runs: Mutex::new(AdjacentRuns::new()),
        }
    }

    /// The run that a block at `start` continues, or a new one.
    #[inline]
    fn resume(&self, own: &mut OwnRun<T>, start: u64) -> Run<Kept<T>> {
        match own.take() {
            Some(run) if run.positions.end == start => run,
            other => self.run_before(other, start),
        }
    }

    #[inline(never)]
    fn run_before(&self, own: OwnRun<T>, start: u64) -> Run<Kept<T>> {
        if let Some(run) = own {
            self.share(run);
        }
        let before = lock(&self.runs).take_before(start);
        before.unwrap_or_else(|| {
            let (items, failed_at) = (Vec::new(), None);
            Run::new(start..start, Kept { items, failed_at })
        })
    }

    /// How many more items of a run may be wanted: no other is taken from the source.
    pub(crate) fn needs(&self, kept: &Kept<T>) -> usize {
        let len = kept.items.len();
        let has = match (self.wanted, kept.failed_at) {
            (Wanted::Before, Some(_)) => return 0,
            _ if self.most == ALL => return ALL,
            (Wanted::Before, None) => len,
            (Wanted::From, failed_at) => len - failed_at.unwrap_or(len),
        };
        self.most.saturating_sub(has)
    }

    /// How many more items that pass may be wanted of a run of which none has failed.
    pub(crate) fn needs_passing(&self, run: &Run<Kept<T>>) -> usize {
        match self.wanted {
            Wanted::From if run.positions.start == 0 => 0,
            // They are, if one before this run has failed.
            _ => self.most.saturating_sub(run.value.items.len()),
        }
    }

    /// Keeps a run that now ends at `end`.
    #[inline]
    fn keep(&self, own: &mut OwnRun<T>, mut run: Run<Kept<T>>, end: u64) {
        run.positions.end = end;
        // Relaxed: see the file's header.
        let is_alone = self.runners.load(Ordering::Relaxed) == 1;
        if is_alone && self.needs(&run.value) > 0 {
            *own = Some(run);
        } else {
            self.share(run);
        }
    }

    /// Joins a run with its neighbours, so that others can continue it.
    #[inline(never)]
    fn share(&self, mut run: Run<Kept<T>>) {
        while !run.positions.is_empty() {
            let mut runs = lock(&self.runs);
            let Some(neighbour) = runs.take_beside(&run.positions) else {
                self.note(&run);
                return runs.insert(run);
            };
            drop(runs);
            let (left, right) = run.in_order(neighbour);
            run = self.joined(left, right);
        }
    }

    /// Adds a run's items to those of the one before.
    fn joined(&self, mut left: Run<Kept<T>>, mut right: Run<Kept<T>>) -> Run<Kept<T>> {
        left.positions.end = right.positions.end;
        let passing = self.needs_passing(&left);
        let (kept, later) = (&mut left.value, &mut right.value);
        if kept.failed_at.is_none() {
            let passed = later.failed_at.unwrap_or(later.items.len());
            let unneeded = passed.min(passing)..passed;
            let failed_at = |at: usize| kept.items.len() + at - unneeded.len();
            kept.failed_at = later.failed_at.map(failed_at);
            later.items.drain(unneeded);
        } else if self.wanted == Wanted::Before {
            later.items.clear();
        }
        append_vec(&mut kept.items, mem::take(&mut later.items));
        left
    }

    /// All runs as one.
    fn all(&self, runs: AdjacentRuns<Kept<T>>) -> Option<Run<Kept<T>>> {
        let runs = runs.into_runs();
        runs.reduce(|left, right| self.joined(left, right))
    }

    /// What is behind a run that needs no more is not wanted, whatever comes before it.
    fn note(&self, run: &Run<Kept<T>>) {
        if self.needs(&run.value) == 0 {
            // Relaxed: see the file's header.
            self.end.fetch_min(run.positions.end, Ordering::Relaxed);
        }
    }

    /// The items that are wanted.
    pub(crate) fn into_vec(mut self) -> Vec<T> {
        let runs = mem::replace(&mut self.runs, Mutex::new(AdjacentRuns::new()));
        let Some(Run { value, .. }) = self.all(into_inner(runs)) else {
            return Vec::new();
        };
        let mut items = value.items;
        if self.wanted == Wanted::From {
            items.drain(..value.failed_at.unwrap_or(items.len()));
        }
        items.truncate(self.most);
        drop_then(self, items)
    }
}

impl<T, C: Choose<T>> Consumer<T> for FirstItems<C::Item, C> {
    type Runner = OwnRun<C::Item>;

    fn start(&self) -> Self::Runner {
        // Relaxed: see the file's header.
        self.runners.fetch_add(1, Ordering::Relaxed);
        None
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        own: &mut Self::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        let mut run = self.resume(own, positions.start);
        self.choice.choose(self, &mut run, items);
        self.keep(own, run, positions.end);
    }

    fn finish(&self, own: Self::Runner) {
        // Relaxed: see the file's header.
        self.runners.fetch_sub(1, Ordering::Relaxed);
        if let Some(run) = own {
            self.share(run);
        }
    }

    fn end(&self) -> u64 {
        // Relaxed: see the file's header.
        self.end.load(Ordering::Relaxed)
    }

    fn pass(&self, end: u64) {
        let runs = mem::replace(&mut *lock(&self.runs), AdjacentRuns::new());
        if let Some(mut all) = self.all(runs) {
            all.positions = 0..end;
            self.note(&all);
            lock(&self.runs).insert(all);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{BeforeFailure, FirstItems, OwnRun, Wanted};
    use crate::engine::consumer::Consumer;
    use crate::sync::lock;
    use std::ops::Range;

    type First = FirstItems<u64, BeforeFailure<fn(u64) -> Option<u64>>>;

    fn first(most: usize) -> First {
        let all = BeforeFailure(Some as fn(u64) -> Option<u64>);
        FirstItems::new(Wanted::Before, most, all)
    }

    fn start(first: &First) -> OwnRun<u64> {
        Consumer::<u64>::start(first)
    }

    fn block(first: &First, own: &mut OwnRun<u64>, positions: Range<u64>, items: Range<u64>) {
        Consumer::<u64>::consume(first, own, positions, items);
    }

    fn finish(first: &First, own: OwnRun<u64>) {
        Consumer::<u64>::finish(first, own);
    }

    fn end(first: &First) -> u64 {
        Consumer::<u64>::end(first)
    }

    /// A runner's only block.
    fn consume(first: &First, positions: Range<u64>) {
        let mut own = start(first);
        block(first, &mut own, positions.clone(), positions);
        finish(first, own);
    }

    fn count_runs(first: &First) -> usize {
        let runs = std::mem::replace(&mut *lock(&first.runs), super::AdjacentRuns::new());
        let mut count = 0;
        for run in runs.into_runs() {
            lock(&first.runs).insert(run);
            count += 1;
        }
        count
    }

    #[test]
    fn no_more_runs_are_kept_than_there_are_gaps() {
        let first = first(100);
        for start in (0..50).step_by(2) {
            consume(&first, start + 1..start + 2);
            assert_eq!(count_runs(&first), if start == 0 { 1 } else { 2 });
            consume(&first, start..start + 1);
            assert_eq!(count_runs(&first), 1);
        }
        assert_eq!(first.into_vec(), (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn a_runner_keeps_its_run_to_itself_until_another_begins() {
        let first = first(10);
        let mut own = start(&first);
        block(&first, &mut own, 0..2, 0..2);
        block(&first, &mut own, 2..4, 2..4);
        assert_eq!(count_runs(&first), 0);
        let mut other = start(&first);
        block(&first, &mut other, 4..9, 4..9);
        assert_eq!(count_runs(&first), 1);
        block(&first, &mut own, 20..21, 20..21);
        assert_eq!(count_runs(&first), 2);
        block(&first, &mut own, 9..11, 9..11);
        assert_eq!(end(&first), 11, "both have shown what they have");
        finish(&first, other);
        finish(&first, own);
        assert_eq!(first.into_vec(), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn the_end_is_where_a_run_has_enough_items() {
        let first = first(5);
        consume(&first, 4..8);
        consume(&first, 0..2);
        assert_eq!(end(&first), u64::MAX);
        consume(&first, 8..10);
        assert_eq!(end(&first), 10);
        consume(&first, 2..4);
        assert_eq!(end(&first), 10);
        assert_eq!(first.into_vec(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn positions_that_were_passed_need_no_block() {
        let first = first(4);
        consume(&first, 2..4);
        let mut own = start(&first);
        block(&first, &mut own, 4..9, 4..5);
        finish(&first, own);
        Consumer::<u64>::pass(&first, 5);
        assert_eq!(end(&first), u64::MAX);
        consume(&first, 5..7);
        assert_eq!(end(&first), 7);
        assert_eq!(first.into_vec(), [2, 3, 4, 5]);
    }
}
