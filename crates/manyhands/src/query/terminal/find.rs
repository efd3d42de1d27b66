//! Queries that search for an item, or for a difference from another query's, and stop at a match: blocks below the lowest match
//! still run, blocks above stop.
//!
//! # Ordering
//! The end only says what runners need not start, hence Relaxed; the lock publishes the match.

use crate::engine::{Consumer, Ending, Until};
use crate::query::earliest::Earliest;
use crate::query::gather::into_vec;
use crate::query::op::whiles::count_before;
use crate::query::op::zip::Zip;
use crate::query::{Breaker, IntoParQuery, Order, Ordered, Pipeline, Query, QueryRun};
use crate::sync::atomic::{AtomicU64, Ordering};
use std::error::Error;
use std::fmt;
use std::ops::Range;

/// Keeps the result of `pick` for an item; the first of its block, with the start of the block.
struct FindByBlock<R, F> {
    pick: F,
    earliest: Earliest<R>,
}

impl<T, R: Send, F: Fn(T) -> Option<R> + Sync> Consumer<T> for FindByBlock<R, F> {
    type Runner = ();

    fn start(&self) {}

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        _runner: &mut (),
        positions: Range<u64>,
        mut items: I,
    ) {
        if let Some(found) = items.find_map(&self.pick) {
            self.earliest.keep(positions.start, found);
        }
    }

    fn end(&self) -> u64 {
        self.earliest.end()
    }
}

/// Stops at an item that passes. Kept apart from [`FindByBlock`], because compilers turn `any` into a tighter
/// loop than `find_map`.
struct Testing<F> {
    predicate: F,
    end: AtomicU64,
}

impl<T, F: Fn(T) -> bool + Sync> Consumer<T> for Testing<F> {
    type Runner = ();

    fn start(&self) {}

    #[inline]
    fn consume<I: Iterator<Item = T>>(&self, _runner: &mut (), _positions: Range<u64>, items: I) {
        if has_match(items, &self.predicate) {
            // Relaxed: see the file's header.
            self.end.store(0, Ordering::Relaxed);
        }
    }

    fn end(&self) -> u64 {
        // Relaxed: see the file's header.
        self.end.load(Ordering::Relaxed)
    }
}

/// Apart from the rest of a call, so that the compiler sees nothing but this loop: it takes up to half as long again within.
#[inline(never)]
fn has_match<T>(mut items: impl Iterator<Item = T>, predicate: &impl Fn(T) -> bool) -> bool {
    items.any(predicate)
}

/// Whether an item satisfies the predicate; `None` if the query was cancelled.
fn test<P: Pipeline, E: Ending>(
    mut pipeline: P,
    predicate: impl Fn(P::Item) -> bool + Sync,
    run: &QueryRun<'_, E>,
) -> Option<bool> {
    let mut testing = Testing {
        predicate,
        end: AtomicU64::new(u64::MAX),
    };
    pipeline.drive(u64::MAX, &mut testing, &run.until(Until::Any));
    (!run.is_cancelled()).then(|| testing.end() == 0)
}

/// The result of `pick` for some item that has one; `None` if the query was cancelled.
fn find<P: Pipeline, R: Send, E: Ending>(
    mut pipeline: P,
    until: Until,
    pick: impl Fn(P::Item) -> Option<R> + Sync,
    run: &QueryRun<'_, E>,
) -> Option<Option<R>> {
    let mut finding = FindByBlock {
        pick,
        earliest: Earliest::new(until),
    };
    pipeline.drive(u64::MAX, &mut finding, &run.until(until));
    drop(pipeline);
    let FindByBlock { pick, earliest } = finding;
    drop(pick);
    (!run.is_cancelled()).then(|| earliest.into_found())
}

/// Why a query has no single item.
///
/// Example: see [`Query::single`](crate::query::Query::single).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SingleError {
    /// It has none.
    Empty,
    /// It has several.
    Several,
}

impl fmt::Display for SingleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the query has no item",
            Self::Several => "the query has several items",
        })
    }
}

impl Error for SingleError {}

impl<P: Pipeline, O: Order, E: Ending> Query<'_, P, O, E> {
    /// Whether an item satisfies the predicate. Stops at the first match.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert!((0..100).into_par_query().any(|n| n == 7));
    /// ```
    #[track_caller]
    pub fn any(self, predicate: impl Fn(P::Item) -> bool + Sync) -> E::Output<bool> {
        let (pipeline, run) = self.into_run();
        run.ending.conclude(test(pipeline, predicate, &run))
    }

    /// Whether every item satisfies the predicate. Stops when one does not.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert!((2..10).into_par_query().all(|n| n > 1));
    /// ```
    #[track_caller]
    pub fn all(self, predicate: impl Fn(P::Item) -> bool + Sync) -> E::Output<bool> {
        let (pipeline, run) = self.into_run();
        let fails = test(pipeline, |item| !predicate(item), &run);
        run.ending.conclude(fails.map(|fails| !fails))
    }

    /// Whether an item equals `value`. Stops at the first match.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert!((2..10).into_par_query().contains(&7));
    /// ```
    #[track_caller]
    pub fn contains<V: Sync + ?Sized>(self, value: &V) -> E::Output<bool>
    where
        P::Item: PartialEq<V>,
    {
        self.any(|item| item == *value)
    }

    /// Some item that satisfies the predicate. Stops at the first match. After a `filter_map`, `find_any(|_| true)` gives some
    /// result of it.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let multiple = (1..1_000_000).into_par_query().find_any(|n| n % 777 == 0).unwrap();
    /// assert_eq!(multiple % 777, 0);
    /// ```
    #[doc(alias("FirstOrDefault", "First", "find_map_any"))]
    #[track_caller]
    pub fn find_any(
        self,
        predicate: impl Fn(&P::Item) -> bool + Sync,
    ) -> E::Output<Option<P::Item>> {
        let (pipeline, run) = self.into_run();
        let pick = move |item| predicate(&item).then_some(item);
        run.ending.conclude(find(pipeline, Until::Any, pick, &run))
    }

    /// The only item. Stops at the second.
    ///
    /// The inner result says whether there is exactly one.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::{SingleError, prelude::*};
    /// assert_eq!([7].into_par_query().single(), Ok(7));
    /// assert_eq!((0..9).into_par_query().single(), Err(SingleError::Several));
    /// ```
    #[doc(alias("SingleOrDefault", "exactly_one"))]
    #[track_caller]
    pub fn single(self) -> E::Output<Result<P::Item, SingleError>> {
        let (pipeline, run) = self.unordered().take_any(2).into_run();
        let single = into_vec(pipeline, &run.until(Until::Any)).map(|items| {
            let mut items = items.into_iter();
            match (items.next(), items.next()) {
                (None, _) => Err(SingleError::Empty),
                (Some(item), None) => Ok(item),
                (Some(_), Some(_)) => Err(SingleError::Several),
            }
        });
        run.ending.conclude(single)
    }
}

impl<P: Pipeline, E: Ending> Query<'_, P, Ordered, E> {
    /// The first item that satisfies the predicate. Blocks above the lowest match are not started.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let found = (0..1_000_000_u64).into_par_query().find(|n| n * n > 1000);
    /// assert_eq!(found, Some(32));
    /// ```
    #[doc(alias("First", "find_first"))]
    #[track_caller]
    pub fn find(self, predicate: impl Fn(&P::Item) -> bool + Sync) -> E::Output<Option<P::Item>> {
        self.find_map(move |item| predicate(&item).then_some(item))
    }

    /// The result of `map` for the first item that has one.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let number = ["x", "7", "8"].into_par_query().find_map(|text| text.parse::<i32>().ok());
    /// assert_eq!(number, Some(7));
    /// ```
    #[doc(alias = "find_map_first")]
    #[track_caller]
    pub fn find_map<R: Send>(
        self,
        map: impl Fn(P::Item) -> Option<R> + Sync,
    ) -> E::Output<Option<R>> {
        let (pipeline, run) = self.into_run();
        run.ending.conclude(find(pipeline, Until::First, map, &run))
    }

    /// The first item. An operator right before it gathers as for [`take(1)`](Self::take), so that the first of a sort needs
    /// no sort.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([3, 1, 2].into_par_query().order().first(), Some(1));
    /// ```
    #[doc(alias = "FirstOrDefault")]
    #[track_caller]
    pub fn first(self) -> E::Output<Option<P::Item>> {
        if P::IS_GATHERED {
            return self.take(1).find_map(Some);
        }
        self.find_map(Some)
    }

    /// The item with this index.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((0..10).into_par_query().filter(|n| n % 3 == 0).element_at(2), Some(6));
    /// ```
    #[doc(alias("ElementAtOrDefault", "nth"))]
    #[track_caller]
    pub fn element_at(self, index: usize) -> E::Output<Option<P::Item>> {
        self.take(index.saturating_add(1)).skip(index).first()
    }

    /// The index of the first item that satisfies the predicate.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([5, 7, 9].into_par_query().position(|n| n > 6), Some(1));
    /// ```
    #[doc(alias("position_first", "position_any"))]
    #[track_caller]
    pub fn position(self, predicate: impl Fn(P::Item) -> bool + Sync) -> E::Output<Option<usize>> {
        if P::IS_POSITIONAL || P::IS_GATHERED {
            return self
                .enumerate()
                .find_map(|(index, item)| predicate(item).then_some(index));
        }
        let (pipeline, run) = self.into_run();
        let found = count_before(pipeline, predicate, &run);
        run.ending.conclude((!run.is_cancelled()).then_some(found))
    }

    /// Whether both have equal items in the same order. Stops at the first difference, or at once if their numbers
    /// differ.
    ///
    /// # Cost
    /// A side that does not know its positions is gathered before anything is compared.
    ///
    /// # Panics
    /// If closures of the query do; see [the module](crate::query).
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert!([1, 2].into_par_query().sequence_equal(vec![1, 2]));
    /// assert!(![1, 2].into_par_query().sequence_equal(vec![1, 2, 3]));
    /// ```
    #[doc(alias = "eq")]
    #[track_caller]
    pub fn sequence_equal<Q: IntoParQuery>(self, other: Q) -> E::Output<bool>
    where
        P::Item: PartialEq<Q::Item>,
    {
        let (pipeline, run) = self.into_run();
        let left = pipeline.into_positions(u64::MAX, &run);
        let right = other.into_par_query().pipeline;
        let right = right.into_positions(u64::MAX, &run);
        if left.len() != right.len() {
            return run.ending.conclude(Some(false));
        }
        let pairs = Zip(left, right).open(u64::MAX, &run);
        let differ = |(left, right)| left != right;
        let found = test(pairs, differ, &run);
        run.ending.conclude(found.map(|differs| !differs))
    }
}
