//! Items up to or from the first that fails a test: `take_while`, `map_while`, `skip_while`.
//!
//! # Ordering
//! The end only says what runners need not start, hence Relaxed; [`FirstItems`] publishes the items.

use crate::engine::consumer::{Consumer, Uncancellable};
use crate::parallel::reduce::Folding;
use crate::parallel::source::owned::OwnedItems;
use crate::parallel::source::slice::to_usize;
use crate::query::Query;
use crate::query::explain::Explanation;
use crate::query::first_items::FirstItems;
use crate::query::gather::{IntoCollection, into_vec};
use crate::query::items::Items;
use crate::query::order::Ordered;
use crate::query::pipeline::{Breaker, Materialized, Pipeline};
use crate::query::run::{Control, QueryRun};
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::ops::Range;

/// See [`Query::map_while`].
#[derive(Debug)]
pub struct MapWhile<P, F> {
    base: P,
    test: F,
}

/// What is made of an item, until the first `None`.
pub trait Test<T>: Send + Sync {
    /// The new item.
    type Output: Send;

    /// For the explanation.
    const NAME: &'static str;

    /// `None` ends it.
    fn test(&self, item: T) -> Option<Self::Output>;
}

/// A closure for [`Query::map_while`].
#[derive(Debug)]
pub struct Mapping<F>(F);

impl<T, R: Send, F: Fn(T) -> Option<R> + Send + Sync> Test<T> for Mapping<F> {
    type Output = R;
    const NAME: &'static str = "map_while";

    #[inline]
    fn test(&self, item: T) -> Option<R> {
        (self.0)(item)
    }
}

/// A predicate for [`Query::take_while`].
#[derive(Debug)]
pub struct Taking<F>(F);

impl<T: Send, F: Fn(&T) -> bool + Send + Sync> Test<T> for Taking<F> {
    type Output = T;
    const NAME: &'static str = "take_while";

    #[inline]
    fn test(&self, item: T) -> Option<T> {
        (self.0)(&item).then_some(item)
    }
}

impl<P: Pipeline, F: Test<P::Item>> Breaker for MapWhile<P, F> {
    type Item = F::Output;
    type Positions = OwnedItems<F::Output>;

    fn open<E: Control>(mut self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let up_to_end = UpToEnd {
            test: &self.test,
            end: AtomicU64::new(u64::MAX),
            first: FirstItems::new(most),
        };
        self.base.drive(u64::MAX, &up_to_end, run);
        let end = up_to_end.end.into_inner();
        Items::of_vec(up_to_end.first.into_vec(end))
    }

    fn explain(&self, explanation: &mut Explanation) {
        self.base.explain(explanation);
        explanation.gathered();
        explanation.source(F::NAME);
    }
}

/// Keeps the results of each block's items, as many as are wanted, and cuts at the lowest block with an item that
/// fails.
struct UpToEnd<'a, F, R> {
    test: &'a F,
    end: AtomicU64,
    first: FirstItems<R>,
}

impl<T, F: Test<T>> Consumer<T> for UpToEnd<'_, F, F::Output> {
    type Runner = ();

    fn start(&self) {}

    fn consume<I: Iterator<Item = T>>(&self, runner: &mut (), positions: Range<u64>, items: I) {
        let start = positions.start;
        let mut has_ended = false;
        let passing = items.map_while(|item| {
            let made = self.test.test(item);
            has_ended = made.is_none();
            made
        });
        self.first.consume(runner, positions, passing);
        if has_ended {
            // Relaxed: see the file's header.
            self.end
                .fetch_min(start.saturating_add(1), Ordering::Relaxed);
        }
    }

    fn finish(&self, _runner: ()) {}

    fn end(&self) -> u64 {
        // Relaxed: see the file's header.
        self.end.load(Ordering::Relaxed).min(self.first.end())
    }

    fn pass(&self, end: u64) {
        Consumer::<F::Output>::pass(&self.first, end);
    }
}

/// How many items come before the first that satisfies the predicate; `None` if none does, or after a
/// cancellation.
pub(crate) fn count_before<P: Pipeline, E: Control>(
    base: P,
    predicate: impl Fn(P::Item) -> bool + Sync,
    run: &QueryRun<'_, E>,
) -> Option<usize> {
    let is_found = AtomicBool::new(false);
    let test = Mapping(|item| {
        let is_wanted = predicate(item);
        if is_wanted {
            // Relaxed: read after every runner has left.
            is_found.store(true, Ordering::Relaxed);
        }
        (!is_wanted).then_some(())
    });
    let before = MapWhile { base, test }.open(u64::MAX, run).len();
    is_found.into_inner().then(|| to_usize(before))
}

/// See [`Query::skip_while`].
#[derive(Debug)]
pub struct SkipWhile<P, F> {
    base: P,
    predicate: F,
}

/// How many of the first items satisfy the predicate.
fn skipped<T>(items: &[T], predicate: &impl Fn(&T) -> bool) -> usize {
    items.iter().take_while(|item| predicate(item)).count()
}

impl<P: Pipeline, F: Fn(&P::Item) -> bool + Send + Sync> Breaker for SkipWhile<P, F> {
    type Item = P::Item;
    type Positions = OwnedItems<P::Item>;

    fn open<E: Control>(mut self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        if most == u64::MAX {
            let Self { base, predicate } = self;
            let mut items = into_vec(base, run).unwrap_or_default();
            items.drain(..skipped(&items, &predicate));
            return Items::of_vec(items);
        }
        // The source may have no end: it is run in parts until there are enough items.
        let mut positions = POSITIONS_FIRST;
        let (mut kept, mut is_skipping) = (Vec::new(), true);
        loop {
            let some = IntoCollection::<Vec<P::Item>>::new();
            let folding = Folding::new(&some, Uncancellable, E::GROUPING);
            let count = self.base.drive(positions, &folding, run);
            if run.is_cancelled() {
                return Items::of_vec(Vec::new());
            }
            let mut items = folding.into_value().unwrap_or_default();
            if is_skipping {
                let skipped = skipped(&items, &self.predicate);
                is_skipping = skipped == items.len();
                items.drain(..skipped);
            }
            if kept.is_empty() {
                kept = items;
            } else {
                kept.append(&mut items);
            }
            if count < positions || kept.len() as u64 >= most {
                return Items::of_vec(kept);
            }
            positions = positions.saturating_mul(2).min(POSITIONS_MAX);
        }
    }

    fn explain(&self, explanation: &mut Explanation) {
        self.base.explain(explanation);
        explanation.gathered();
        explanation.source("skip_while");
    }
}

/// Positions of the source that are tested first, where only some of the items are wanted.
const POSITIONS_FIRST: u64 = 256;
/// The most positions of the source that are tested at once then.
const POSITIONS_MAX: u64 = 1 << 20;

impl<'a, P: Pipeline, E: Control> Query<'a, P, Ordered, E> {
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
    #[doc(alias = "TakeWhile")]
    pub fn take_while<F: Fn(&P::Item) -> bool + Send + Sync>(
        self,
        predicate: F,
    ) -> Query<'a, Materialized<MapWhile<P, Taking<F>>>, Ordered, E> {
        let test = Taking(predicate);
        self.with(|base| Materialized::Closed(MapWhile { base, test }))
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
    ) -> Query<'a, Materialized<MapWhile<P, Mapping<F>>>, Ordered, E> {
        let test = Mapping(map);
        self.with(|base| Materialized::Closed(MapWhile { base, test }))
    }

    /// The items from the first that does not satisfy the predicate. Items after it are not tested.
    ///
    /// # Cost
    /// All items are gathered, or as many as are needed if only some are wanted; the caller tests those that are
    /// skipped.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([1, 2, 9, 1].into_par_query().skip_while(|n| *n < 5).to_vec(), [9, 1]);
    /// ```
    #[doc(alias = "skip_any_while")]
    #[doc(alias = "SkipWhile")]
    pub fn skip_while<F: Fn(&P::Item) -> bool + Send + Sync>(
        self,
        predicate: F,
    ) -> Query<'a, Materialized<SkipWhile<P, F>>, Ordered, E> {
        self.with(|base| Materialized::Closed(SkipWhile { base, predicate }))
    }
}
