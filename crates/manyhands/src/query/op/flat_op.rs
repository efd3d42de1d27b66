//! Operators that make any number of items of each, in one pass: `filter`, `filter_map`, `flat_map`, `flatten`; also joins
//! (`join.rs`) and items up to a failure (`terminal/from_query.rs`).
//!
//! Operators behind them do not know positions; see [`Pipeline`].
//!
//! The iterators of `flat_map` and `flatten` may be long, or have no end. So a query that ends early ends also within
//! them: before each item it is asked whether more are wanted. Other operators end with the source's items.
//!
//! # Ordering
//! The flag only says what runners need not make, hence Relaxed.

use crate::engine::{Consumer, Ending};
use crate::parallel::source::OwnedItems;
use crate::query::gather::gather;
use crate::query::{AdaptItem, ConsumerAdapter, Items, Order, Pipeline, Query, QueryRun};
use crate::sync::atomic::{AtomicBool, Ordering};
use std::ops::Range;

/// Makes any number of items of each.
pub trait FlatOp<T>: Send + Sync {
    /// The new items.
    type Output: Send;

    /// For the explanation.
    const NAME: &'static str;

    /// Whether it may make very many items of one.
    const MAY_BE_LONG: bool = false;

    /// Called before each part of the base is run: runs what the operator needs before its first item.
    fn prepare<E: Ending>(&mut self, _run: &QueryRun<'_, E>) {}

    /// The new items that are made of a block's, in order. The block begins at the position `start`.
    fn expand<I: Iterator<Item = T>>(
        &self,
        start: u64,
        items: I,
    ) -> impl Iterator<Item = Self::Output>;

    /// As [`Consumer::end`].
    #[inline]
    fn end(&self) -> u64 {
        u64::MAX
    }

    /// As [`Pipeline::explain`], of the operator itself.
    fn explain(&self) -> String {
        Self::NAME.into()
    }
}

/// A pipeline with `G` applied to its items.
#[derive(Debug)]
pub struct Flattened<P, G>(pub(crate) P, pub(crate) G);

impl<P: Pipeline, G: FlatOp<P::Item>> Pipeline for Flattened<P, G> {
    type Item = G::Output;
    type Positions = OwnedItems<G::Output>;

    #[inline]
    fn drive<C: Consumer<G::Output>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        self.1.prepare(run);
        let flattening = Flattening {
            op: &self.1,
            ending: run.ending,
            has_panicked: AtomicBool::new(false),
        };
        let mut consumer = ConsumerAdapter(consumer, &flattening);
        self.0.drive(most, &mut consumer, run)
    }

    fn positions_left(&self) -> Option<u64> {
        self.0.positions_left()
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        gather(self, most, run)
    }

    fn explain(&self) -> String {
        format!("{}, {}", self.0.explain(), self.1.explain())
    }
}

/// `G` between the items and a consumer.
struct Flattening<'a, G, E> {
    op: &'a G,
    ending: E,
    /// A body of the query has panicked, on any runner.
    has_panicked: AtomicBool,
}

impl<T, G: FlatOp<T>, E: Ending> AdaptItem<T> for Flattening<'_, G, E> {
    type Output = G::Output;

    #[inline]
    fn alter<C: Consumer<G::Output>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: impl Iterator<Item = T>,
    ) {
        let start = positions.start;
        let items = self.op.expand(start, items);
        if !G::MAY_BE_LONG {
            return consumer.consume(runner, positions, items);
        }
        let are_wanted = || {
            // Relaxed: see the file's header.
            !self.has_panicked.load(Ordering::Relaxed)
                && start < self.ending.end()
                && start < consumer.end()
        };
        let items = items.map_while(|item| are_wanted().then_some(item));
        consumer.consume(runner, positions, items);
    }

    #[inline]
    fn end(&self, end: u64) -> u64 {
        end.min(self.op.end())
    }

    fn note_panic(&self) {
        // Relaxed: see the file's header.
        self.has_panicked.store(true, Ordering::Relaxed);
    }
}

/// See [`Query::filter`].
#[derive(Debug)]
pub struct Filter<F>(F);

impl<T: Send, F: Fn(&T) -> bool + Send + Sync> FlatOp<T> for Filter<F> {
    type Output = T;
    const NAME: &'static str = "filter";

    #[inline]
    fn expand<I: Iterator<Item = T>>(&self, _start: u64, items: I) -> impl Iterator<Item = T> {
        items.filter(&self.0)
    }
}

/// See [`Query::filter_map`].
#[derive(Debug)]
pub struct FilterMap<F>(F);

impl<T, R: Send, F: Fn(T) -> Option<R> + Send + Sync> FlatOp<T> for FilterMap<F> {
    type Output = R;
    const NAME: &'static str = "filter_map";

    #[inline]
    fn expand<I: Iterator<Item = T>>(&self, _start: u64, items: I) -> impl Iterator<Item = R> {
        items.filter_map(&self.0)
    }
}

/// See [`Query::flat_map`].
#[derive(Debug)]
pub struct FlatMap<F>(F);

impl<T, R: IntoIterator<Item: Send>, F: Fn(T) -> R + Send + Sync> FlatOp<T> for FlatMap<F> {
    type Output = R::Item;
    const NAME: &'static str = "flat_map";
    const MAY_BE_LONG: bool = true;

    #[inline]
    fn expand<I: Iterator<Item = T>>(
        &self,
        _start: u64,
        items: I,
    ) -> impl Iterator<Item = R::Item> {
        items.flat_map(&self.0)
    }
}

/// See [`Query::flatten`].
#[derive(Debug)]
pub struct Flatten;

impl<T: IntoIterator<Item: Send>> FlatOp<T> for Flatten {
    type Output = T::Item;
    const NAME: &'static str = "flatten";
    const MAY_BE_LONG: bool = true;

    #[inline]
    fn expand<I: Iterator<Item = T>>(
        &self,
        _start: u64,
        items: I,
    ) -> impl Iterator<Item = T::Item> {
        items.flatten()
    }
}

impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// Keeps the items that satisfy the predicate.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let even = (1..=6).into_par_query().filter(|n| n % 2 == 0).to_vec();
    /// assert_eq!(even, [2, 4, 6]);
    /// ```
    #[doc(alias = "Where")]
    pub fn filter<F: Fn(&P::Item) -> bool + Send + Sync>(
        self,
        predicate: F,
    ) -> Query<'a, Flattened<P, Filter<F>>, O, E> {
        self.with(|base| Flattened(base, Filter(predicate)))
    }

    /// Maps each item, and keeps the results that are `Some`.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let numbers = ["1", "x", "3"].into_par_query().filter_map(|text| text.parse::<i32>().ok());
    /// assert_eq!(numbers.to_vec(), [1, 3]);
    /// ```
    #[doc(alias = "OfType")]
    pub fn filter_map<R: Send, F: Fn(P::Item) -> Option<R> + Send + Sync>(
        self,
        map: F,
    ) -> Query<'a, Flattened<P, FilterMap<F>>, O, E> {
        self.with(|base| Flattened(base, FilterMap(map)))
    }

    /// Maps each item to an iterator, and gives the items of all these iterators. One runner runs one such
    /// iterator, and stops in the middle of it when the query ends early, is cancelled, or has panicked elsewhere;
    /// so the iterator may be endless.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["many hands", "light work"].par_query().flat_map(|line| line.split(' ')).to_vec();
    /// assert_eq!(words, ["many", "hands", "light", "work"]);
    /// let multiple = (1..5_u64).into_par_query().flat_map(|n| n..).find_any(|n| n % 777 == 0);
    /// assert_eq!(multiple.map(|n| n % 777), Some(0));
    /// ```
    #[doc(alias("flat_map_iter", "SelectMany"))]
    pub fn flat_map<R: IntoIterator<Item: Send>, F: Fn(P::Item) -> R + Send + Sync>(
        self,
        map: F,
    ) -> Query<'a, Flattened<P, FlatMap<F>>, O, E> {
        self.with(|base| Flattened(base, FlatMap(map)))
    }

    /// Gives the items of items that are iterators, as [`flat_map`](Self::flat_map) does.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([vec![1, 2], vec![], vec![3]].into_par_query().flatten().to_vec(), [1, 2, 3]);
    /// ```
    #[doc(alias = "flatten_iter")]
    pub fn flatten(self) -> Query<'a, Flattened<P, Flatten>, O, E>
    where
        P::Item: IntoIterator<Item: Send>,
    {
        self.with(|base| Flattened(base, Flatten))
    }
}
