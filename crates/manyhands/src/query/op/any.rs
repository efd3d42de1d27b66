//! Some of the items, in no defined choice: `take_any`, `skip_any`. For queries without an order.
//!
//! # Ordering
//! The count carries no data, hence Relaxed; the exchange gives each of its steps to one item.

use crate::engine::{Consumer, Ending};
use crate::parallel::source::OwnedItems;
use crate::query::gather::gather;
use crate::query::{AdaptItem, ConsumerAdapter, Items, Pipeline, Query, QueryRun, Unordered};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::ops::Range;

/// See [`Query::take_any`], if it `TAKES`, and [`Query::skip_any`].
struct AnyPart<P, const TAKES: bool> {
    base: P,
    claims: Claims<TAKES>,
}

struct Claims<const TAKES: bool> {
    /// How many items are still to be taken, or skipped.
    left: AtomicUsize,
    /// The end of the highest block of this step.
    reached: AtomicU64,
}

impl<const TAKES: bool> Claims<TAKES> {
    /// Claims one; false if there is none.
    #[inline]
    fn claim(&self) -> bool {
        let (left, next) = (&self.left, |left: usize| left.checked_sub(1));
        // Relaxed, both: see the file's header.
        let claimed = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        claimed.is_ok()
    }

    /// Whether no more items are wanted.
    fn is_over(&self) -> bool {
        // Relaxed: see the file's header.
        TAKES && self.left.load(Ordering::Relaxed) == 0
    }
}

impl<P: Pipeline, const TAKES: bool> Pipeline for AnyPart<P, TAKES> {
    type Item = P::Item;
    type Positions = OwnedItems<P::Item>;

    fn drive<C: Consumer<P::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        if self.claims.is_over() {
            return 0;
        }
        self.claims.reached = AtomicU64::new(0);
        let mut consumer = ConsumerAdapter(consumer, &self.claims);
        let count = self.base.drive(most, &mut consumer, run);
        if self.claims.is_over() {
            // The positions after these were not run, but the positions that follow must still run. Relaxed: every
            // runner has left.
            count.min(self.claims.reached.load(Ordering::Relaxed))
        } else {
            count
        }
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        gather(self, most, run)
    }

    fn explain(&self) -> String {
        let name = if TAKES { "take_any" } else { "skip_any" };
        format!("{}, {name}", self.base.explain())
    }
}

impl<T, const TAKES: bool> AdaptItem<T> for Claims<TAKES> {
    type Output = T;

    fn alter<C: Consumer<T>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        mut items: impl Iterator<Item = T>,
    ) {
        if !TAKES {
            let rest = items.skip_while(|_| self.claim());
            return consumer.consume(runner, positions, rest);
        }
        // Relaxed: read after every runner has left.
        self.reached.fetch_max(positions.end, Ordering::Relaxed);
        let claimed = std::iter::from_fn(|| {
            // Checked first, so that no unneeded item is made. Relaxed: see the file's header.
            if self.left.load(Ordering::Relaxed) == 0 {
                return None;
            }
            items.next().filter(|_| self.claim())
        });
        consumer.consume(runner, positions, claimed);
    }

    fn end(&self, end: u64) -> u64 {
        if self.is_over() { 0 } else { end }
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
        self.any_part::<true>(count)
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
        self.any_part::<false>(count)
    }

    fn any_part<const TAKES: bool>(
        self,
        count: usize,
    ) -> Query<'a, AnyPart<P, TAKES>, Unordered, E> {
        let claims = Claims {
            left: AtomicUsize::new(count),
            reached: AtomicU64::new(0),
        };
        self.with(|base| AnyPart { base, claims })
    }
}
