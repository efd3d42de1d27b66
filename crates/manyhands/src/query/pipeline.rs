//! What a query is made of: a source, and operators around it.
//!
//! A [`Pipeline`] is driven by the block: the thread that claims a block of its source's positions takes the block's
//! items through all operators in one loop, into the consumer at the end. Where an operator must know the items'
//! positions (`enumerate`, `zip`, `rev`, `take` …) it asks for [`Positional`] items instead, which cost nothing as
//! long as no operator below has removed or added items.
//!
//! An operator that needs all of its input first is a [`Breaker`]; [`Materialized`] makes a pipeline of it.
//!
//! Unsafe: a promise about positions on which writing results in place depends.

use crate::engine::{Consumer, Ending, Indexed};
use crate::query::{Items, QueryRun};
use std::mem;

/// A query up to some point, which gives items to the operator behind it. Sealed.
///
/// # Examples
/// A function that returns a query:
/// ```
/// use manyhands::query::prelude::*;
/// use manyhands::query::{Pipeline, Query};
///
/// fn long_words(text: &str) -> Query<'_, impl Pipeline<Item = &str>> {
///     text.par_split_whitespace().filter(|word| word.len() > 4)
/// }
/// assert_eq!(long_words("many hands make light work").to_vec(), ["hands", "light"]);
/// ```
pub trait Pipeline: Sized + Send {
    /// The items.
    type Item: Send;

    /// Its items by position.
    #[doc(hidden)]
    type Positions: Positional<Item = Self::Item>;

    /// Whether [`into_positions`](Self::into_positions) costs nothing.
    #[doc(hidden)]
    const IS_POSITIONAL: bool = false;

    /// Whether all items are gathered by position before the first is given.
    #[doc(hidden)]
    const IS_GATHERED: bool = false;

    /// Runs the items of up to `most` further positions of the source through `consumer`, whose positions
    /// count from 0 in each call. Returns how many positions there were; fewer than `most` if no more
    /// are left.
    ///
    /// What is left when a query ends early is dropped with the pipeline. The caller drops that before it returns a result:
    /// the compiler leaks what a function returns if the drop of one of its variables then panics.
    #[doc(hidden)]
    fn drive<C: Consumer<Self::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64;

    /// How many positions are left to be driven, if that is known.
    #[doc(hidden)]
    fn positions_left(&self) -> Option<u64> {
        None
    }

    /// The items by position, of a pipeline that was not driven yet. Items after the first `most` may be missing, and
    /// all of them after a cancellation.
    #[doc(hidden)]
    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions>;

    /// Where the items come from, and its operators.
    #[doc(hidden)]
    fn explain(&self) -> String;
}

/// Exactly one item at each position.
///
/// # Safety
/// [`block`](Indexed::block) and [`block_backwards`](Indexed::block_backwards) give `end - start` items,
/// those of these positions, in order and in reverse order.
pub unsafe trait Positional: Indexed<Item: Send> + Send {
    /// All items, none of which was asked for, if they already are in a vector.
    #[doc(hidden)]
    fn into_vec(self) -> Result<Vec<Self::Item>, Self>
    where
        Self: Sized,
    {
        Err(self)
    }
}

/// An operator that needs its input, or a number of positions, before it gives its first item.
pub trait Breaker: Sized + Send {
    /// The items.
    type Item: Send;

    /// The items by position.
    type Positions: Positional<Item = Self::Item>;

    /// Whether [`open`](Self::open) costs nothing.
    const IS_POSITIONAL: bool = false;

    /// Runs the input; only the first `most` items of the result are needed. After a cancellation the result is not
    /// used.
    fn open<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions>;

    /// As [`Pipeline::explain`]: the input, and the operator itself.
    fn explain(&self) -> [String; 2];
}

/// A breaker as a pipeline.
#[derive(Debug)]
pub enum Materialized<B: Breaker> {
    /// Its input was not run.
    Closed(B),
    Opened(Items<B::Positions>),
    /// Its input has panicked.
    Lost,
}

impl<B: Breaker> Materialized<B> {
    pub(crate) fn new(breaker: B) -> Self {
        Self::Closed(breaker)
    }

    /// Replaces the breaker by another one, made of this one before it was run.
    pub(crate) fn replaced<R: Breaker>(self, make: impl FnOnce(B) -> R) -> Materialized<R> {
        match self {
            Self::Closed(breaker) => Materialized::new(make(breaker)),
            Self::Opened(_) | Self::Lost => unreachable!("operators are added before any is run"),
        }
    }
}

impl<B: Breaker> Pipeline for Materialized<B> {
    type Item = B::Item;
    type Positions = B::Positions;
    const IS_POSITIONAL: bool = B::IS_POSITIONAL;
    const IS_GATHERED: bool = true;

    fn drive<C: Consumer<B::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        if let Self::Closed(_) = self {
            let closed = mem::replace(self, Self::Lost);
            *self = Self::Opened(closed.into_positions(u64::MAX, run));
        }
        match self {
            Self::Opened(items) => items.drive(most, consumer, run),
            Self::Closed(_) | Self::Lost => 0,
        }
    }

    #[inline]
    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<B::Positions> {
        match self {
            Self::Closed(breaker) => breaker.open(most, run),
            Self::Opened(items) => items,
            Self::Lost => panic!("a query that has panicked is not run again"),
        }
    }

    fn explain(&self) -> String {
        let Self::Closed(breaker) = self else {
            return String::new();
        };
        let parts = breaker.explain();
        parts.join(if B::IS_POSITIONAL {
            ", "
        } else {
            "; gathered; "
        })
    }
}

/// Drops what is not wanted before it returns the value, for the reason given at [`Pipeline::drive`].
#[inline]
pub(crate) fn drop_then<D, T>(unwanted: D, value: T) -> T {
    drop(unwanted);
    value
}
