//! One item where there is none: `default_if_empty`.
//!
//! # Ordering
//! The flag is read after every runner has left, hence Relaxed.

use crate::engine::Runner;
use crate::engine::consumer::{Consumer, Ending};
use crate::parallel::source::owned::OwnedItems;
use crate::query::Query;
use crate::query::consumer_adapter::{AdaptItem, ConsumerAdapter};
use crate::query::items::Items;
use crate::query::op::chain::Chain;
use crate::query::order::Order;
use crate::query::pipeline::Pipeline;
use crate::query::run::QueryRun;
use crate::sync::atomic::{AtomicBool, Ordering};
use std::ops::Range;

/// See [`Query::default_if_empty`].
#[derive(Debug)]
pub struct DefaultIfEmpty<P, T> {
    base: P,
    /// `None` when it was given, or when there were other items.
    default: Option<T>,
}

impl<P: Pipeline> Pipeline for DefaultIfEmpty<P, P::Item> {
    type Item = P::Item;
    type Positions = Chain<P::Positions, OwnedItems<P::Item>>;
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
        let positions = count..count + 1;
        let mut runner = Runner::new(consumer);
        consumer.consume(runner.state(), positions, std::iter::once(default));
        count + 1
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let base = self.base.into_positions(most, run);
        let default = self.default.filter(|_| base.len() == 0);
        let default = OwnedItems::new(Vec::from_iter(default));
        Items::new(Chain(base.release(), default), "default_if_empty")
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
    /// The items, or `default` if there are none.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let found = (0..9).into_par_query().filter(|n| *n > 10).default_if_empty(-1).to_vec();
    /// assert_eq!(found, [-1]);
    /// ```
    #[doc(alias = "DefaultIfEmpty")]
    pub fn default_if_empty(self, default: P::Item) -> Query<'a, DefaultIfEmpty<P, P::Item>, O, E> {
        self.with(|base| DefaultIfEmpty {
            base,
            default: Some(default),
        })
    }
}
