//! The first few items of a query that knows no positions, with regard to a test if there is one: blocks below the last
//! one needed still run, blocks above stop.
//!
//! A runner continues the run that ends where its block begins, so that most items are not moved again. While it is alone it
//! keeps that run to itself, without a lock for each block.
//!
//! # Ordering
//! The end only says what runners need not start, and the number of runners is a hint, hence Relaxed; the lock publishes the
//! items.

use crate::engine::consumer::{Consumer, Ending};
use crate::parallel::adjacent::{AdjacentRuns, Run};
use crate::parallel::append::append;
use crate::query::pipeline::Pipeline;
use crate::query::run::QueryRun;
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, into_inner, lock};
use std::mem;
use std::ops::Range;

/// The first `most` items, in order. The source is run in steps, each twice as long as the one before, so that no runner
/// begins far behind the last item that is wanted.
pub(crate) fn first_items<P: Pipeline, E: Ending>(
    mut pipeline: P,
    most: usize,
    run: &QueryRun<'_, E>,
) -> Vec<P::Item> {
    let mut items = Vec::new();
    let mut step = most as u64;
    loop {
        let mut first = FirstItems::new(Wanted::All, most - items.len());
        let count = pipeline.drive(step, &mut first, run);
        items.append(&mut first.into_vec());
        if count < step || items.len() == most || run.is_cancelled() {
            return items;
        }
        step = step.saturating_mul(2);
    }
}

/// Which items are wanted, with regard to the first one that fails a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// There is no test.
    All,
    /// Those before it.
    Before,
    /// It, and those behind it.
    From,
}

/// Keeps runs of blocks until one of them has enough items.
pub(crate) struct FirstItems<T> {
    wanted: Wanted,
    most: usize,
    end: AtomicU64,
    /// How many runners are at work.
    runners: AtomicUsize,
    runs: Mutex<AdjacentRuns<Kept<T>>>,
}

/// The run that a runner keeps to itself.
pub(crate) type OwnRun<T> = Option<Run<Kept<T>>>;

/// As many items as there are.
pub(crate) const ALL: usize = usize::MAX;

/// The items of a run, as far as they may be wanted.
pub(crate) struct Kept<T> {
    pub(crate) items: Vec<T>,
    /// Where among them the first one is that failed, or where it was.
    pub(crate) failed_at: Option<usize>,
}

impl<T> FirstItems<T> {
    pub(crate) fn new(wanted: Wanted, most: usize) -> Self {
        Self {
            wanted,
            most,
            end: AtomicU64::new(if most == 0 { 0 } else { u64::MAX }),
            runners: AtomicUsize::new(0),
            runs: Mutex::new(AdjacentRuns::new()),
        }
    }

    /// As [`Consumer::start`].
    pub(crate) fn start(&self) -> OwnRun<T> {
        // Relaxed: see the file's header.
        self.runners.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// As [`Consumer::finish`].
    pub(crate) fn finish(&self, own: OwnRun<T>) {
        // Relaxed: see the file's header.
        self.runners.fetch_sub(1, Ordering::Relaxed);
        if let Some(run) = own {
            self.share(run);
        }
    }

    /// The run that a block at `start` continues, or a new one.
    #[inline]
    pub(crate) fn resume(&self, own: &mut OwnRun<T>, start: u64) -> Run<Kept<T>> {
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
        before.unwrap_or_else(|| Run {
            positions: start..start,
            value: Kept {
                items: Vec::new(),
                failed_at: None,
            },
        })
    }

    /// How many more items of a run may be wanted: no other is taken from the source.
    pub(crate) fn needs(&self, kept: &Kept<T>) -> usize {
        let len = kept.items.len();
        let has = match (self.wanted, kept.failed_at) {
            (Wanted::Before, Some(_)) => return 0,
            _ if self.most == ALL => return ALL,
            (Wanted::All | Wanted::Before, _) => len,
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
    pub(crate) fn keep(&self, own: &mut OwnRun<T>, mut run: Run<Kept<T>>, end: u64) {
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
            kept.failed_at = later
                .failed_at
                .map(|at| kept.items.len() + at - unneeded.len());
            later.items.drain(unneeded);
        } else if self.wanted == Wanted::Before {
            later.items.clear();
        }
        if kept.items.is_empty() {
            kept.items = mem::take(&mut later.items);
        } else {
            kept.items.append(&mut later.items);
        }
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
        items
    }

    pub(crate) fn end(&self) -> u64 {
        // Relaxed: see the file's header.
        self.end.load(Ordering::Relaxed)
    }

    /// As [`Consumer::pass`].
    pub(crate) fn pass(&self, end: u64) {
        let runs = mem::replace(&mut *lock(&self.runs), AdjacentRuns::new());
        if let Some(mut all) = self.all(runs) {
            all.positions = 0..end;
            self.note(&all);
            lock(&self.runs).insert(all);
        }
    }
}

impl<T: Send> Consumer<T> for FirstItems<T> {
    type Runner = OwnRun<T>;

    fn start(&self) -> OwnRun<T> {
        self.start()
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(&self, own: &mut OwnRun<T>, positions: Range<u64>, items: I) {
        let mut run = self.resume(own, positions.start);
        let needs = self.needs(&run.value);
        append(&mut run.value.items, items.take(needs));
        self.keep(own, run, positions.end);
    }

    fn finish(&self, own: OwnRun<T>) {
        self.finish(own);
    }

    fn end(&self) -> u64 {
        self.end()
    }

    fn pass(&self, end: u64) {
        self.pass(end);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{FirstItems, Wanted};
    use crate::engine::consumer::Consumer;
    use crate::sync::lock;
    use std::ops::Range;

    /// A runner's only block.
    fn consume(first: &FirstItems<u64>, positions: Range<u64>) {
        let mut own = first.start();
        first.consume(&mut own, positions.clone(), positions);
        first.finish(own);
    }

    fn count_runs(first: &FirstItems<u64>) -> usize {
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
        let first = FirstItems::new(Wanted::All, 100);
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
        let first = FirstItems::new(Wanted::All, 10);
        let mut own = first.start();
        first.consume(&mut own, 0..2, 0..2);
        first.consume(&mut own, 2..4, 2..4);
        assert_eq!(count_runs(&first), 0);
        let mut other = first.start();
        first.consume(&mut other, 4..9, 4..9);
        assert_eq!(count_runs(&first), 1);
        first.consume(&mut own, 20..21, 20..21);
        assert_eq!(count_runs(&first), 2);
        first.consume(&mut own, 9..11, 9..11);
        assert_eq!(first.end(), 11, "both have shown what they have");
        first.finish(other);
        first.finish(own);
        assert_eq!(first.into_vec(), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn the_end_is_where_a_run_has_enough_items() {
        let first = FirstItems::new(Wanted::All, 5);
        consume(&first, 4..8);
        consume(&first, 0..2);
        assert_eq!(first.end(), u64::MAX);
        consume(&first, 8..10);
        assert_eq!(first.end(), 10);
        consume(&first, 2..4);
        assert_eq!(first.end(), 10);
        assert_eq!(first.into_vec(), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn positions_that_were_passed_need_no_block() {
        let first = FirstItems::new(Wanted::All, 4);
        consume(&first, 2..4);
        let mut own = first.start();
        first.consume(&mut own, 4..9, 4..5);
        first.finish(own);
        first.pass(5);
        assert_eq!(first.end(), u64::MAX);
        consume(&first, 5..7);
        assert_eq!(first.end(), 7);
        assert_eq!(first.into_vec(), [2, 3, 4, 5]);
    }
}
