//! Items with their indices: `enumerate`.
//!
//! Unsafe: passes positions on.

use crate::engine::Indexed;
use crate::engine::consumer::Ending;
use crate::parallel::source::slice::to_usize;
use crate::query::Query;
use crate::query::items::Items;
use crate::query::order::Ordered;
use crate::query::pipeline::{Breaker, Materialized, Pipeline, Positional};
use crate::query::run::QueryRun;

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
        (to_usize(start)..).zip(items)
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
