//! One query after another, and one item where there is none: `chain`, `default_if_empty`.
//!
//! # Ordering
//! The flag is read after every runner has left, hence Relaxed.

use crate::engine::{Consumer, Ending, Runner};
use crate::parallel::source::{Chained, OwnedItems};
use crate::query::{
    AdaptItem, ConsumerAdapter, IntoParQuery, Items, Order, Pipeline, Query, QueryRun,
};
use crate::sync::atomic::{AtomicBool, Ordering};
use std::ops::Range;

/// See [`Query::chain`].
#[derive(Debug)]
pub struct Chain<P, Q>(pub(super) P, pub(super) Q);

impl<P: Pipeline, Q: Pipeline<Item = P::Item>> Pipeline for Chain<P, Q> {
    type Item = P::Item;
    type Positions = Chained<P::Positions, Q::Positions>;
    const IS_POSITIONAL: bool = P::IS_POSITIONAL && Q::IS_POSITIONAL;

    fn drive<C: Consumer<P::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        let before = self.0.drive(most, consumer, run);
        // An iterator may have ended within a block that began with more positions, which now belong to the right
        // side.
        consumer.pass(before);
        if before == most || consumer.end() <= before {
            // The right side, which may take long to begin, is not asked.
            return before;
        }
        let mut consumer = ConsumerAdapter(consumer, &Later(before));
        before + self.1.drive(most - before, &mut consumer, run)
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let left = self.0.into_positions(most, run);
        let right = self.1.into_positions(most.saturating_sub(left.len()), run);
        Items::new(Chained(left.release(), right.release()), "chain")
    }

    fn explain(&self) -> String {
        format!("{}, chain ({})", self.0.explain(), self.1.explain())
    }
}

/// Continues the positions where the left side's end.
struct Later(u64);

impl<T> AdaptItem<T> for Later {
    type Output = T;

    #[inline]
    fn alter<C: Consumer<T>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: impl Iterator<Item = T>,
    ) {
        let after = |position: u64| position.saturating_add(self.0);
        let positions = after(positions.start)..after(positions.end);
        consumer.consume(runner, positions, items);
    }

    fn end(&self, end: u64) -> u64 {
        match end {
            u64::MAX => u64::MAX,
            end => end.saturating_sub(self.0),
        }
    }

    fn pass(&self, end: u64) -> u64 {
        end.saturating_add(self.0)
    }
}

/// See [`Query::default_if_empty`].
#[derive(Debug)]
pub struct DefaultIfEmpty<P, T> {
    base: P,
    /// `None` when it was given, or when there were other items.
    default: Option<T>,
}

impl<P: Pipeline> Pipeline for DefaultIfEmpty<P, P::Item> {
    type Item = P::Item;
    type Positions = Chained<P::Positions, OwnedItems<P::Item>>;
    const IS_POSITIONAL: bool = P::IS_POSITIONAL;

    fn drive<C: Consumer<P::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        let noting = IsEmpty(AtomicBool::new(true));
        let mut adapter = ConsumerAdapter(consumer, &noting);
        let count = self.base.drive(most, &mut adapter, run);
        if !noting.0.into_inner() {
            self.default = None;
        }
        if count == most || run.is_cancelled() {
            return count;
        }
        let Some(default) = self.default.take() else {
            return count;
        };
        // As in a chain: an iterator may have ended within a block that began with more positions.
        consumer.pass(count);
        let mut runner = Runner::new(consumer);
        consumer.consume(runner.state(), count..count + 1, std::iter::once(default));
        runner.finish();
        count + 1
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let base = self.base.into_positions(most, run);
        let default = self.default.filter(|_| base.len() == 0);
        let default = OwnedItems::new(Vec::from_iter(default));
        Items::new(Chained(base.release(), default), "default_if_empty")
    }

    fn explain(&self) -> String {
        format!("{}, default_if_empty", self.base.explain())
    }
}

/// Records whether there was an item.
struct IsEmpty(AtomicBool);

impl<T> AdaptItem<T> for IsEmpty {
    type Output = T;

    #[inline]
    fn alter<C: Consumer<T>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: impl Iterator<Item = T>,
    ) {
        let mut items = items.peekable();
        if items.peek().is_some() {
            // Relaxed: see the file's header.
            self.0.store(false, Ordering::Relaxed);
        }
        consumer.consume(runner, positions, items);
    }
}

impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// This query's items, then another's.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let both = (0..2).into_par_query().chain(vec![7, 8]).to_vec();
    /// assert_eq!(both, [0, 1, 7, 8]);
    /// ```
    #[doc(alias("Concat", "Append", "Prepend"))]
    pub fn chain<Q: IntoParQuery<Item = P::Item>>(
        self,
        other: Q,
    ) -> Query<'a, Chain<P, Q::Pipeline>, O, E> {
        let right = other.into_par_query().pipeline;
        self.with(|left| Chain(left, right))
    }

    /// The items, or `default` if there are none.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let found = (0..9).into_par_query().filter(|n| *n > 10).default_if_empty(-1).to_vec();
    /// assert_eq!(found, [-1]);
    /// ```
    pub fn default_if_empty(self, default: P::Item) -> Query<'a, DefaultIfEmpty<P, P::Item>, O, E> {
        self.with(|base| DefaultIfEmpty {
            base,
            default: Some(default),
        })
    }
}
