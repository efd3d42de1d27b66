//! Two queries side by side, and items beside their indices: `zip`, `enumerate`.
//!
//! Unsafe: passes positions on.

use crate::engine::{Ending, Indexed};
use crate::parallel::source::{discard_both, to_usize};
use crate::query::{
    Breaker, IntoParQuery, Items, Materialized, Ordered, Pipeline, Positional, Query, QueryRun,
};

/// See [`Query::zip`].
#[derive(Debug)]
pub struct Zip<P, Q>(pub(crate) P, pub(crate) Q);

impl<P: Pipeline, Q: Pipeline> Breaker for Zip<P, Q> {
    type Item = (P::Item, Q::Item);
    type Positions = Zip<P::Positions, Q::Positions>;
    const IS_POSITIONAL: bool = P::IS_POSITIONAL && Q::IS_POSITIONAL;

    fn open<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        // The side that must be gathered second, and no more of it than there are partners.
        let (left, right) = if Q::IS_POSITIONAL {
            let right = self.1.into_positions(most, run);
            let left = self.0.into_positions(most.min(right.len()), run);
            (left, right)
        } else {
            let left = self.0.into_positions(most, run);
            let right = self.1.into_positions(most.min(left.len()), run);
            (left, right)
        };
        let items = Items::new(Zip(left.release(), right.release()), "zip");
        if let Some(zip) = items.source() {
            let len = zip.len();
            // SAFETY: pairs do not pass on these positions, the surplus of the longer side.
            unsafe { zip.0.discard(len, zip.0.len()) };
            // SAFETY: as above.
            unsafe { zip.1.discard(len, zip.1.len()) };
        }
        items
    }

    fn explain(&self) -> [String; 2] {
        [self.0.explain(), format!("zip ({})", self.1.explain())]
    }
}

// SAFETY: positions are passed on to each side one to one.
unsafe impl<S: Indexed, R: Indexed> Indexed for Zip<S, R> {
    type Item = (S::Item, R::Item);

    fn len(&self) -> u64 {
        self.0.len().min(self.1.len())
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = Self::Item> {
        // SAFETY: as promised by the caller.
        let left = unsafe { self.0.block(start, end) };
        // SAFETY: as promised by the caller.
        left.zip(unsafe { self.1.block(start, end) })
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = Self::Item> {
        // SAFETY: as promised by the caller.
        let left = unsafe { self.0.block_backwards(start, end) };
        // SAFETY: as promised by the caller.
        left.zip(unsafe { self.1.block_backwards(start, end) })
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        // SAFETY: as promised by the caller.
        let discard_left = || unsafe { self.0.discard(start, end) };
        // SAFETY: as promised by the caller.
        let discard_right = || unsafe { self.1.discard(start, end) };
        discard_both(discard_left, discard_right);
    }
}

// SAFETY: one pair is made of the items of each position.
unsafe impl<S: Positional, R: Positional> Positional for Zip<S, R> {}

/// See [`Query::enumerate`].
#[derive(Debug)]
pub struct Enumerate<P>(P);

impl<P: Pipeline> Breaker for Enumerate<P> {
    type Item = (usize, P::Item);
    type Positions = Enumerate<P::Positions>;
    const IS_POSITIONAL: bool = P::IS_POSITIONAL;

    fn open<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let base = self.0.into_positions(most, run).release();
        Items::new(Enumerate(base), "enumerate")
    }

    fn explain(&self) -> [String; 2] {
        [self.0.explain(), "enumerate".into()]
    }
}

// SAFETY: positions are passed on one to one.
unsafe impl<S: Indexed> Indexed for Enumerate<S> {
    type Item = (usize, S::Item);

    fn len(&self) -> u64 {
        self.0.len()
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = Self::Item> {
        // SAFETY: as promised by the caller.
        let items = unsafe { self.0.block(start, end) };
        let first = to_usize(start);
        let numbered = items.enumerate();
        numbered.map(move |(number, item)| (first + number, item))
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = Self::Item> {
        // SAFETY: as promised by the caller.
        let items = unsafe { self.0.block_backwards(start, end) };
        (to_usize(start)..to_usize(end)).rev().zip(items)
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        // SAFETY: as promised by the caller.
        unsafe { self.0.discard(start, end) };
    }
}

// SAFETY: one pair is made of each item.
unsafe impl<S: Positional> Positional for Enumerate<S> {}

impl<'a, P: Pipeline, E: Ending> Query<'a, P, Ordered, E> {
    /// Pairs of this query's items and another's, as many as the shorter one has.
    ///
    /// Where one side knows its positions, no more of the other is gathered than has partners.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let products = [1, 2, 3].par_query().zip([4, 5, 6].par_query()).map(|(a, b)| a * b);
    /// assert_eq!(products.to_vec(), [4, 10, 18]);
    /// ```
    #[doc(alias("zip_eq", "multizip"))]
    pub fn zip<Q: IntoParQuery>(
        self,
        other: Q,
    ) -> Query<'a, Materialized<Zip<P, Q::Pipeline>>, Ordered, E> {
        let right = other.into_par_query().pipeline;
        self.breaking(|left| Zip(left, right))
    }

    /// Gives each item with its index.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let indexed = ["a", "b"].into_par_query().enumerate().to_vec();
    /// assert_eq!(indexed, [(0, "a"), (1, "b")]);
    /// ```
    #[doc(alias("Index", "Select"))]
    pub fn enumerate(self) -> Query<'a, Materialized<Enumerate<P>>, Ordered, E> {
        self.breaking(Enumerate)
    }
}
