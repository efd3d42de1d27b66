//! A query's items step by step, so that only a few are in memory at once, and the iterator that gives the items of steps one by
//! one.
//!
//! Not here: when a step is made (`iterate.rs`, `prefetch.rs`).

use crate::engine::Ending;
use crate::parallel::ordered_collect::OrderedCollect;
use crate::query::{Merge, Pipeline, QueryRun};
use crate::sync::clock;
use std::{fmt, mem, vec};

/// Makes a query's items step by step.
#[expect(missing_debug_implementations, reason = "users cannot name it")]
pub struct Steps<'a, P, E> {
    /// `None` after the last step.
    pipeline: Option<P>,
    pub(super) run: QueryRun<'a, E>,
    /// How many positions the next step takes at most.
    pub(super) positions: u64,
    /// How long the last step took.
    ticks: u64,
}

impl<'a, P: Pipeline, E: Ending> Steps<'a, P, E> {
    pub(super) fn new(pipeline: P, run: QueryRun<'a, E>) -> Self {
        let positions = match run.settings.merge {
            Merge::NotBuffered => 1,
            Merge::Auto => STEP_POSITIONS_FIRST,
            Merge::FullyBuffered => u64::MAX,
        };
        Self {
            pipeline: Some(pipeline),
            run,
            positions,
            ticks: 0,
        }
    }

    /// The items of the next step that has some; `None` after the last, or after a cancellation. In a run
    /// [while wanted](QueryRun::while_wanted), the step during which its token is cancelled ends early, and is the last.
    pub(super) fn next<R: Ending>(&mut self, run: &QueryRun<'_, R>) -> Option<Vec<P::Item>> {
        while let Some(items) = self.step(run) {
            if !items.is_empty() {
                return Some(items);
            }
        }
        None
    }

    /// The items of one step, which may have none. `None` after the last, or after a cancellation.
    pub(super) fn step<R: Ending>(&mut self, run: &QueryRun<'_, R>) -> Option<Vec<P::Item>> {
        // Taken out, so that one that panics is not used again.
        let mut pipeline = self.pipeline.take()?;
        let begun = clock::ticks();
        let mut collecting = OrderedCollect::new(None);
        let count = pipeline.drive(self.positions, &mut collecting, run);
        if run.is_cancelled() {
            return None;
        }
        self.ticks = clock::ticks().saturating_sub(begun);
        if count == self.positions {
            self.pipeline = Some(pipeline);
            self.grow();
        } else {
            // Before the value is returned, for the reason given at `Pipeline::drive`.
            drop(pipeline);
        }
        Some(collecting.into_vec())
    }

    /// Steps grow while they are short.
    fn grow(&mut self) {
        if self.run.settings.merge == Merge::Auto && self.ticks < clock::ticks_in(STEP_NANOS) {
            let most = STEP_BYTES_MAX / size_of::<P::Item>().max(1);
            let most = (most as u64).clamp(1, STEP_POSITIONS_MAX);
            self.positions = (self.positions * 2).min(most);
        }
    }

    /// Whether the next step is known to be the only one.
    pub(super) fn is_one_step(&self) -> bool {
        let left = self.pipeline.as_ref().and_then(P::positions_left);
        left.is_some_and(|left| left <= self.positions)
    }

    /// Whether there is another step, a worker may make it, and it is expected to take longer than handing it over.
    pub(super) fn is_worth_handing_over(&self) -> bool {
        self.pipeline.is_some()
            && self.run.plan().sharing.degree != Some(1)
            && self.ticks > clock::ticks_in(HANDED_OVER_NANOS_MIN)
    }
}

/// A query's items, one by one, until it is cancelled; made by [`Query::into_iter`](crate::query::Query), and passed to the
/// body by [`Query::with_iter`](crate::query::Query::with_iter).
#[must_use = "iterators are lazy"]
pub struct Iter<T, E, M> {
    more: M,
    ending: E,
    ready: vec::IntoIter<T>,
    is_over: bool,
}

/// What makes the items of one step after another.
pub trait MakeSteps<T> {
    /// The items of the next step that has some; `None` after the last.
    fn next_step(&mut self) -> Option<Vec<T>>;
}

impl<P: Pipeline, E: Ending> MakeSteps<P::Item> for Steps<'_, P, E> {
    fn next_step(&mut self) -> Option<Vec<P::Item>> {
        let run = self.run;
        self.next(&run)
    }
}

impl<T> MakeSteps<T> for &mut dyn FnMut() -> Option<Vec<T>> {
    fn next_step(&mut self) -> Option<Vec<T>> {
        self()
    }
}

impl<T, E: Ending, M: MakeSteps<T>> Iter<T, E, M> {
    pub(super) fn new(more: M, ending: E) -> Self {
        Self {
            more,
            ending,
            ready: Vec::new().into_iter(),
            is_over: false,
        }
    }

    #[cold]
    fn next_step(&mut self) -> Option<E::Output<T>> {
        // Over also when it panics.
        if mem::replace(&mut self.is_over, true) {
            return None;
        }
        // Empty unless the query is cancelled.
        self.ready = Vec::new().into_iter();
        let items = self.more.next_step();
        if self.ending.end() == 0 {
            return Some(self.ending.conclude(None));
        }
        self.ready = items?.into_iter();
        self.is_over = false;
        self.ready.next().map(E::complete)
    }
}

impl<T, E: Ending, M: MakeSteps<T>> Iterator for Iter<T, E, M> {
    type Item = E::Output<T>;

    #[inline]
    fn next(&mut self) -> Option<E::Output<T>> {
        if self.ending.end() > 0
            && let Some(item) = self.ready.next()
        {
            return Some(E::complete(item));
        }
        self.next_step()
    }
}

impl<T, E, M> fmt::Debug for Iter<T, E, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("ready", &self.ready.len())
            .field("is_over", &self.is_over)
            .finish_non_exhaustive()
    }
}

const STEP_POSITIONS_FIRST: u64 = 64;
const STEP_POSITIONS_MAX: u64 = 1 << 16;
/// Shorter steps are made longer.
pub(super) const STEP_NANOS: u64 = 2_000_000;
/// Most memory for the items of a step, if each position gives one.
const STEP_BYTES_MAX: usize = 4 << 20;
/// A shorter step is made sooner by the thread that needs it than by a worker that must be woken.
const HANDED_OVER_NANOS_MIN: u64 = 50_000;
