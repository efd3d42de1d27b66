//! Items in reverse: `rev`.
//!
//! Unsafe: passes positions on.

use crate::engine::{Ending, Indexed};
use crate::query::{Breaker, Items, Materialized, Ordered, Pipeline, Positional, Query, QueryRun};

/// See [`Query::rev`].
#[derive(Debug)]
pub struct Rev<P>(P);

impl<P: Pipeline> Breaker for Rev<P> {
    type Item = P::Item;
    type Positions = Rev<P::Positions>;
    const IS_POSITIONAL: bool = P::IS_POSITIONAL;

    fn open<E: Ending>(self, _most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let base = self.0.into_positions(u64::MAX, run);
        base.assert_has_end();
        Items::new(Rev(base.release()), "rev")
    }

    fn explain(&self) -> [String; 2] {
        [self.0.explain(), "rev".into()]
    }
}

impl<S: Indexed> Rev<S> {
    /// The same positions, counted from the start.
    fn turned(&self, start: u64, end: u64) -> (u64, u64) {
        (self.0.len() - end, self.0.len() - start)
    }
}

// SAFETY: positions are reversed, and passed on one to one.
unsafe impl<S: Indexed> Indexed for Rev<S> {
    type Item = S::Item;

    fn len(&self) -> u64 {
        self.0.len()
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = S::Item> {
        let (start, end) = self.turned(start, end);
        // SAFETY: as promised by the caller.
        unsafe { self.0.block_backwards(start, end) }
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = S::Item> {
        let (start, end) = self.turned(start, end);
        // SAFETY: as promised by the caller.
        unsafe { self.0.block(start, end) }
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        let (start, end) = self.turned(start, end);
        // SAFETY: as promised by the caller.
        unsafe { self.0.discard(start, end) };
    }
}

// SAFETY: an item of the base for each position.
unsafe impl<S: Positional> Positional for Rev<S> {}

impl<'a, P: Pipeline, E: Ending> Query<'a, P, Ordered, E> {
    /// The items from the last to the first.
    ///
    /// # Panics
    /// When the query is run, if there are 2^64 - 1 items or more.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((0..3).into_par_query().rev().to_vec(), [2, 1, 0]);
    /// ```
    #[doc(alias("Reverse", "find_last"))]
    pub fn rev(self) -> Query<'a, Materialized<Rev<P>>, Ordered, E> {
        self.breaking(Rev)
    }
}
