//! Items in groups, or some of them, by position: `chunks`, `step_by`.
//!
//! Unsafe: passes positions on.

use crate::engine::{Ending, Indexed};
use crate::query::{Breaker, Items, Materialized, Ordered, Pipeline, Positional, Query, QueryRun};

/// Several positions of the base as one; see [`Query::chunks`] and [`Query::step_by`].
#[derive(Debug)]
pub struct Grouped<P, K> {
    base: P,
    /// Positions of the base for each of these.
    size: u64,
    kind: K,
}

/// What is made of the items of a group.
pub trait Kind<T>: Send + Sync {
    /// The new item.
    type Output: Send;

    /// For the explanation.
    const NAME: &'static str;

    /// The results for items, the last group of which may be short.
    fn group<I: Iterator<Item = T>>(items: I, size: usize) -> impl Iterator<Item = Self::Output>;
}

/// See [`Query::chunks`].
#[derive(Debug)]
pub struct Chunks;

impl<T: Send> Kind<T> for Chunks {
    type Output = Vec<T>;
    const NAME: &'static str = "chunks";

    fn group<I: Iterator<Item = T>>(mut items: I, size: usize) -> impl Iterator<Item = Vec<T>> {
        std::iter::from_fn(move || {
            let chunk: Vec<T> = items.by_ref().take(size).collect();
            (!chunk.is_empty()).then_some(chunk)
        })
    }
}

/// See [`Query::step_by`].
#[derive(Debug)]
pub struct StepBy;

impl<T: Send> Kind<T> for StepBy {
    type Output = T;
    const NAME: &'static str = "step_by";

    fn group<I: Iterator<Item = T>>(items: I, size: usize) -> impl Iterator<Item = T> {
        items.step_by(size)
    }
}

impl<P: Pipeline, K: Kind<P::Item>> Breaker for Grouped<P, K> {
    type Item = K::Output;
    type Positions = Grouped<P::Positions, K>;
    const IS_POSITIONAL: bool = P::IS_POSITIONAL;

    fn open<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let needed = most.saturating_mul(self.size);
        let Self { base, size, kind } = self;
        let base = base.into_positions(needed, run).release();
        Items::new(Grouped { base, size, kind }, K::NAME)
    }

    fn explain(&self) -> [String; 2] {
        [self.base.explain(), K::NAME.into()]
    }
}

impl<S: Indexed, K> Grouped<S, K> {
    /// Where a position begins in the base.
    fn first_of(&self, position: u64) -> u64 {
        position.saturating_mul(self.size).min(self.base.len())
    }
}

// SAFETY: groups do not overlap, so positions are passed on as often as groups are asked for.
unsafe impl<S: Indexed, K: Kind<S::Item>> Indexed for Grouped<S, K> {
    type Item = K::Output;

    fn len(&self) -> u64 {
        self.base.len().div_ceil(self.size)
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = K::Output> {
        // SAFETY: as promised by the caller.
        let items = unsafe { self.base.block(self.first_of(start), self.first_of(end)) };
        K::group(items, usize::try_from(self.size).unwrap_or(usize::MAX))
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        // SAFETY: as promised by the caller.
        unsafe { self.base.discard(self.first_of(start), self.first_of(end)) };
    }
}

// SAFETY: one item is made of each group, and only the last group may be short, none empty.
unsafe impl<S: Positional, K: Kind<S::Item>> Positional for Grouped<S, K> {}

impl<'a, P: Pipeline, E: Ending> Query<'a, P, Ordered, E> {
    /// The items in vectors of `size`, the last of which may be shorter.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let chunks = (1..=5).into_par_query().chunks(2).to_vec();
    /// assert_eq!(chunks, [vec![1, 2], vec![3, 4], vec![5]]);
    /// ```
    #[doc(alias("par_chunks", "Chunk", "fold_chunks"))]
    pub fn chunks(self, size: usize) -> Query<'a, Materialized<Grouped<P, Chunks>>, Ordered, E> {
        assert!(size > 0, "chunk size must be non-zero");
        self.grouped(size, Chunks)
    }

    /// The first item, and each `step`th one after it.
    ///
    /// # Panics
    /// If `step` is 0.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!((0..10).into_par_query().step_by(4).to_vec(), [0, 4, 8]);
    /// ```
    pub fn step_by(self, step: usize) -> Query<'a, Materialized<Grouped<P, StepBy>>, Ordered, E> {
        assert!(step > 0, "step must be non-zero");
        self.grouped(step, StepBy)
    }

    fn grouped<K>(self, size: usize, kind: K) -> Query<'a, Materialized<Grouped<P, K>>, Ordered, E>
    where
        K: Kind<P::Item>,
    {
        self.breaking(|base| Grouped {
            base,
            size: size as u64,
            kind,
        })
    }
}
