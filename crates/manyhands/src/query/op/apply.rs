//! Operators that make one item of each: `map`, `inspect`, `copied`, `cloned`.
//!
//! They keep positions, so a chain of them over a vector still writes its results in place.
//!
//! Unsafe: passes positions on.

use crate::engine::{Consumer, Ending, Indexed};
use crate::query::{
    AdaptItem, ConsumerAdapter, Items, Order, Pipeline, Positional, Query, QueryRun,
};
use std::ops::Range;

/// Makes one item of each.
pub trait Apply<T>: Send + Sync {
    /// The new item.
    type Output: Send;

    /// For the explanation.
    const NAME: &'static str;

    /// Makes one item.
    fn apply(&self, item: T) -> Self::Output;
}

/// A pipeline with `A` applied to each item; also positional items, and a consumer's input.
#[derive(Debug)]
pub struct Applied<P, A>(pub(crate) P, pub(crate) A);

impl<P: Pipeline, A: Apply<P::Item>> Pipeline for Applied<P, A> {
    type Item = A::Output;
    type Positions = Applied<P::Positions, A>;
    const IS_POSITIONAL: bool = P::IS_POSITIONAL;
    const IS_GATHERED: bool = P::IS_GATHERED;

    #[inline]
    fn drive<C: Consumer<A::Output>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        let applying = Applying(&self.1);
        let mut consumer = ConsumerAdapter(consumer, &applying);
        self.0.drive(most, &mut consumer, run)
    }

    fn positions_left(&self) -> Option<u64> {
        self.0.positions_left()
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        let base = self.0.into_positions(most, run).release();
        Items::new(Applied(base, self.1), A::NAME)
    }

    fn explain(&self) -> String {
        format!("{}, {}", self.0.explain(), A::NAME)
    }
}

// SAFETY: positions are passed on one to one.
unsafe impl<S: Indexed, A: Apply<S::Item>> Indexed for Applied<S, A> {
    type Item = A::Output;

    fn len(&self) -> u64 {
        self.0.len()
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = A::Output> {
        // SAFETY: as promised by the caller.
        let items = unsafe { self.0.block(start, end) };
        items.map(|item| self.1.apply(item))
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = A::Output> {
        // SAFETY: as promised by the caller.
        let items = unsafe { self.0.block_backwards(start, end) };
        items.map(|item| self.1.apply(item))
    }

    unsafe fn discard(&self, start: u64, end: u64) {
        // SAFETY: as promised by the caller.
        unsafe { self.0.discard(start, end) };
    }
}

// SAFETY: one item is made of each.
unsafe impl<S: Positional, A: Apply<S::Item>> Positional for Applied<S, A> {}

struct Applying<'a, A>(&'a A);

impl<T, A: Apply<T>> AdaptItem<T> for Applying<'_, A> {
    type Output = A::Output;

    #[inline]
    fn alter<C: Consumer<A::Output>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: impl Iterator<Item = T>,
    ) {
        let items = items.map(|item| self.0.apply(item));
        consumer.consume(runner, positions, items);
    }
}

/// See [`Query::map`].
#[derive(Debug)]
pub struct Map<F>(pub(crate) F);

impl<T, R: Send, F: Fn(T) -> R + Send + Sync> Apply<T> for Map<F> {
    type Output = R;
    const NAME: &'static str = "map";

    #[inline]
    fn apply(&self, item: T) -> R {
        (self.0)(item)
    }
}

/// See [`Query::inspect`].
#[derive(Debug)]
pub struct Inspect<F>(F);

impl<T: Send, F: Fn(&T) + Send + Sync> Apply<T> for Inspect<F> {
    type Output = T;
    const NAME: &'static str = "inspect";

    #[inline]
    fn apply(&self, item: T) -> T {
        (self.0)(&item);
        item
    }
}

/// See [`Query::copied`].
#[derive(Debug)]
pub struct Copied;

impl<T: Copy + Send> Apply<&T> for Copied {
    type Output = T;
    const NAME: &'static str = "copied";

    #[inline]
    fn apply(&self, item: &T) -> T {
        *item
    }
}

/// See [`Query::cloned`].
#[derive(Debug)]
pub struct Cloned;

impl<T: Clone + Send> Apply<&T> for Cloned {
    type Output = T;
    const NAME: &'static str = "cloned";

    #[inline]
    fn apply(&self, item: &T) -> T {
        item.clone()
    }
}

impl<'a, P: Pipeline, O: Order, E: Ending> Query<'a, P, O, E> {
    /// Makes a new item of each.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let squares = [1, 2, 3].par_query().map(|n| n * n).to_vec();
    /// assert_eq!(squares, [1, 4, 9]);
    /// ```
    #[doc(alias("update", "Select", "Cast"))]
    pub fn map<R: Send, F: Fn(P::Item) -> R + Send + Sync>(
        self,
        map: F,
    ) -> Query<'a, Applied<P, Map<F>>, O, E> {
        self.with(|base| Applied(base, Map(map)))
    }

    /// Looks at each item on its way.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// let seen = AtomicU32::new(0);
    /// let all = (0..10).into_par_query().inspect(|_| { seen.fetch_add(1, Ordering::Relaxed); });
    /// assert_eq!(all.filter(|n| n % 2 == 0).count(), 5);
    /// assert_eq!(seen.into_inner(), 10);
    /// ```
    pub fn inspect<F: Fn(&P::Item) + Send + Sync>(
        self,
        look: F,
    ) -> Query<'a, Applied<P, Inspect<F>>, O, E> {
        self.with(|base| Applied(base, Inspect(look)))
    }
}

impl<'a, 'b, T: 'b + Sync, P: Pipeline<Item = &'b T>, O: Order, E: Ending> Query<'a, P, O, E> {
    /// Copies each item.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// assert_eq!([1, 2, 3].par_query().copied().max(), Some(3));
    /// ```
    pub fn copied(self) -> Query<'a, Applied<P, Copied>, O, E>
    where
        T: Copy + Send,
    {
        self.with(|base| Applied(base, Copied))
    }

    /// Clones each item.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words: Vec<String> = ["many".to_owned()].par_query().cloned().collect();
    /// assert_eq!(words, ["many"]);
    /// ```
    pub fn cloned(self) -> Query<'a, Applied<P, Cloned>, O, E>
    where
        T: Clone + Send,
    {
        self.with(|base| Applied(base, Cloned))
    }
}
