//! Some of the items, in no defined choice: `take_any`, `skip_any`. For queries without an order.
//!
//! # Ordering
//! The count carries no data, hence Relaxed; the exchange gives each of its steps to one item.

use crate::engine::{Consumer, Ending};
use crate::parallel::source::OwnedItems;
use crate::query::gather::gather;
use crate::query::op::flat_op::{FlatOp, Flattened};
use crate::query::{AdaptItem, ConsumerAdapter, Items, Pipeline, Query, QueryRun, Unordered};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::iter;
use std::ops::Range;

/// See [`Query::take_any`].
struct TakeAny<P> {
    base: P,
    claims: Claims,
}

/// See [`Query::skip_any`].
struct SkipAny(Claims);

/// How many items are still to be taken, or skipped.
struct Claims(AtomicUsize);

impl Claims {
    /// Claims one; false if there is none.
    #[inline]
    fn claim(&self) -> bool {
        let (left, next) = (&self.0, |left: usize| left.checked_sub(1));
        // Relaxed, both: see the file's header.
        let claimed = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        claimed.is_ok()
    }

    /// Whether none is left.
    #[inline]
    fn are_over(&self) -> bool {
        // Relaxed: see the file's header.
        self.0.load(Ordering::Relaxed) == 0
    }
}

impl<P: Pipeline> Pipeline for TakeAny<P> {
    type Item = P::Item;
    type Positions = OwnedItems<P::Item>;

    fn drive<C: Consumer<P::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        if self.claims.are_over() {
            return 0;
        }
        let reached = AtomicU64::new(0);
        let taking = Taking(&self.claims, &reached);
        let mut consumer = ConsumerAdapter(consumer, &taking);
        let count = self.base.drive(most, &mut consumer, run);
        if self.claims.are_over() {
            // The positions after these were not run, but the positions that follow must still run.
            count.min(reached.into_inner())
        } else {
            count
        }
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        gather(self, most, run)
    }

    fn explain(&self) -> String {
        format!("{}, take_any", self.base.explain())
    }
}

/// Gives the items that are claimed, and notes where the highest block of this step ends.
struct Taking<'a>(&'a Claims, &'a AtomicU64);

impl<T> AdaptItem<T> for Taking<'_> {
    type Output = T;

    fn alter<C: Consumer<T>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        mut items: impl Iterator<Item = T>,
    ) {
        // Relaxed: read after every runner has left.
        self.1.fetch_max(positions.end, Ordering::Relaxed);
        let claimed = iter::from_fn(|| {
            // Checked first, so that no unneeded item is made.
            if self.0.are_over() {
                return None;
            }
            items.next().filter(|_| self.0.claim())
        });
        consumer.consume(runner, positions, claimed);
    }

    fn end(&self, end: u64) -> u64 {
        if self.0.are_over() { 0 } else { end }
    }
}

impl<T: Send> FlatOp<T> for SkipAny {
    type Output = T;
    const NAME: &'static str = "skip_any";

    fn expand<I: Iterator<Item = T>>(&self, _start: u64, items: I) -> impl Iterator<Item = T> {
        items.skip_while(|_| self.0.claim())
    }
}

impl<'a, P: Pipeline, E: Ending> Query<'a, P, Unordered, E> {
    /// Some `count` items, in no defined choice; all if there are fewer.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let some = (0..1000).into_par_query().unordered().filter(|n| n % 2 == 0).take_any(3);
    /// assert_eq!(some.count(), 3);
    /// ```
    #[doc(alias = "Take")]
    pub fn take_any(self, count: usize) -> Query<'a, impl Pipeline<Item = P::Item>, Unordered, E> {
        let claims = Claims(AtomicUsize::new(count));
        self.with(|base| TakeAny { base, claims })
    }

    /// All but some `count` items, in no defined choice.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((0..10).into_par_query().unordered().skip_any(3).count(), 7);
    /// ```
    #[doc(alias = "Skip")]
    pub fn skip_any(self, count: usize) -> Query<'a, impl Pipeline<Item = P::Item>, Unordered, E> {
        let claims = Claims(AtomicUsize::new(count));
        self.with(|base| Flattened(base, SkipAny(claims)))
    }
}
