//! Items up to or from the first that fails a test: `take_while`, `map_while`, `skip_while`.

use crate::engine::{Ending, Until};
use crate::parallel::adjacent::Run;
use crate::parallel::source::{OwnedItems, to_usize};
use crate::query::first_in_place::first_in_place;
use crate::query::first_items::{BeforeFailure, Choose, FirstItems, Kept, Wanted};
use crate::query::gather::into_vec;
use crate::query::pipeline::drop_then;
use crate::query::{
    Breaker, ExecutionMode, Items, Materialized, Ordered, Pipeline, Query, QueryRun,
};
use crate::sync::atomic::{AtomicBool, Ordering};

/// See [`Query::map_while`] and, if `TAKES`, [`Query::take_while`].
struct MapWhile<P, F, const TAKES: bool> {
    base: P,
    map: F,
}

impl<P, R, F, const TAKES: bool> Breaker for MapWhile<P, F, TAKES>
where
    P: Pipeline,
    R: Send,
    F: Fn(P::Item) -> Option<R> + Send + Sync,
{
    type Item = R;
    type Positions = OwnedItems<R>;

    fn open<E: Ending>(mut self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let run = run.until(Until::First);
        // Not where bodies may wait for one another: each of its steps ends in a barrier.
        if P::IS_POSITIONAL && run.settings.mode != ExecutionMode::Parallel {
            let items = self.base.into_positions(most, &run);
            return Items::of_vec(first_in_place(items, most, self.map, &run));
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut before = FirstItems::new(Wanted::Before, most, BeforeFailure(self.map));
        let run = run.for_merging();
        self.base.drive(u64::MAX, &mut before, &run);
        drop(self.base);
        Items::of_vec(before.into_vec())
    }

    fn explain(&self) -> [String; 2] {
        let name = if TAKES { "take_while" } else { "map_while" };
        [self.base.explain(), name.into()]
    }
}

/// How many items come before the first that satisfies the predicate; `None` if none does, or after a
/// cancellation.
pub(crate) fn count_before<P: Pipeline, E: Ending>(
    base: P,
    predicate: impl Fn(P::Item) -> bool + Sync,
    run: &QueryRun<'_, E>,
) -> Option<usize> {
    let is_found = AtomicBool::new(false);
    let map = |item| {
        let is_wanted = predicate(item);
        if is_wanted {
            // Relaxed: read after every runner has left.
            is_found.store(true, Ordering::Relaxed);
        }
        (!is_wanted).then_some(())
    };
    let before = MapWhile::<_, _, false> { base, map };
    let before = before.open(u64::MAX, run).len();
    is_found.into_inner().then(|| to_usize(before))
}

/// See [`Query::skip_while`].
#[derive(Debug)]
pub struct SkipWhile<P, F> {
    base: P,
    predicate: F,
}

impl<P: Pipeline, F: Fn(&P::Item) -> bool + Send + Sync> Breaker for SkipWhile<P, F> {
    type Item = P::Item;
    type Positions = OwnedItems<P::Item>;

    fn open<E: Ending>(mut self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        if most == u64::MAX {
            let Self { base, predicate } = self;
            let mut items = into_vec(base, run).unwrap_or_default();
            let skipped = items.iter().take_while(|item| predicate(item)).count();
            items.drain(..skipped);
            return Items::of_vec(drop_then(predicate, items));
        }
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut from = FirstItems::new(Wanted::From, most, FromFailure(&self.predicate));
        self.base
            .drive(u64::MAX, &mut from, &run.for_merging().until(Until::First));
        drop(self.base);
        let items = from.into_vec();
        Items::of_vec(drop_then(self.predicate, items))
    }

    fn explain(&self) -> [String; 2] {
        [self.base.explain(), "skip_while".into()]
    }
}

/// Keeps as many items as are wanted from the first that fails on, and those before it that may turn out to be behind
/// another.
struct FromFailure<'a, F>(&'a F);

impl<T: Send, F: Fn(&T) -> bool + Sync> Choose<T> for FromFailure<'_, F> {
    type Item = T;

    #[inline]
    fn choose<I: Iterator<Item = T>>(
        &self,
        first: &FirstItems<T, Self>,
        run: &mut Run<Kept<T>>,
        mut items: I,
    ) {
        let mut needs_passing = first.needs_passing(run);
        let kept = &mut run.value;
        while first.needs(kept) > 0
            && let Some(item) = items.next()
        {
            if kept.failed_at.is_none() {
                if !(self.0)(&item) {
                    kept.failed_at = Some(kept.items.len());
                } else if needs_passing > 0 {
                    needs_passing -= 1;
                } else {
                    continue;
                }
            }
            kept.items.push(item);
        }
    }
}

impl<'a, P: Pipeline, E: Ending> Query<'a, P, Ordered, E> {
    /// The items before the first that does not satisfy the predicate. Blocks above that one are not
    /// started; items above it in blocks that run already may be tested.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let small = (0..1000).into_par_query().take_while(|n| n * n < 50).to_vec();
    /// assert_eq!(small, [0, 1, 2, 3, 4, 5, 6, 7]);
    /// ```
    #[doc(alias = "take_any_while")]
    pub fn take_while<F: Fn(&P::Item) -> bool + Send + Sync>(
        self,
        predicate: F,
    ) -> Query<'a, impl Pipeline<Item = P::Item>, Ordered, E> {
        let map = move |item: P::Item| predicate(&item).then_some(item);
        self.breaking(|base| MapWhile::<_, _, true> { base, map })
    }

    /// The results of `map` for the items before the first `None`.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let numbers = ["1", "2", "x", "4"].into_par_query().map_while(|text| text.parse::<i32>().ok());
    /// assert_eq!(numbers.to_vec(), [1, 2]);
    /// ```
    #[doc(alias = "while_some")]
    pub fn map_while<R: Send, F: Fn(P::Item) -> Option<R> + Send + Sync>(
        self,
        map: F,
    ) -> Query<'a, impl Pipeline<Item = R>, Ordered, E> {
        self.breaking(|base| MapWhile::<_, _, false> { base, map })
    }

    /// The items from the first that does not satisfy the predicate.
    ///
    /// # Cost
    /// All items are gathered, and the caller tests them up to that one. If only some are wanted, runners test them, and
    /// keep as many as are needed; items after that one in blocks that run already may be tested.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([1, 2, 9, 1].into_par_query().skip_while(|n| *n < 5).to_vec(), [9, 1]);
    /// ```
    #[doc(alias = "skip_any_while")]
    pub fn skip_while<F: Fn(&P::Item) -> bool + Send + Sync>(
        self,
        predicate: F,
    ) -> Query<'a, Materialized<SkipWhile<P, F>>, Ordered, E> {
        self.breaking(|base| SkipWhile { base, predicate })
    }
}
