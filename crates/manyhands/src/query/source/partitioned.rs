//! A user's own source, divided by positions, each of which may give any number of items, as pieces of a text do.
//!
//! Unsafe: implements the engine's trait for positions.

use crate::engine::{Consumer, Ending, Indexed};
use crate::parallel::source::{OwnedItems, to_usize};
use crate::query::gather::gather;
use crate::query::{Items, Pipeline, Query, QueryRun};
use std::ops::Range;

/// A source that can be cut anywhere.
///
/// Positions count from 0 to [`len`](Self::len); each may stand for any number of items, for instance the
/// bytes of a text whose lines are the items. Blocks of positions are asked for from several threads, in any
/// order; no position is asked for twice, and some may not be asked for at all. A query that has found what it seeks
/// elsewhere ends between blocks, so a position should not have very many items. Where each position is one item, a
/// [`Producer`](crate::parallel::Producer) is a source of loops too, and of operators that need positions.
///
/// # Examples
/// ```
/// use manyhands::query::Partitioned;
/// use std::ops::Range;
///
/// /// The lines that begin at each byte.
/// struct Lines<'a>(&'a str);
///
/// impl<'a> Partitioned for Lines<'a> {
///     type Item = &'a str;
///
///     fn len(&self) -> usize {
///         self.0.len()
///     }
///
///     fn items(&self, positions: Range<usize>) -> impl Iterator<Item = &'a str> {
///         let begins_at = |at: &usize| *at == 0 || self.0.as_bytes()[at - 1] == b'\n';
///         positions.filter(begins_at).filter_map(|at| self.0[at..].lines().next())
///     }
/// }
///
/// let lengths = Lines("many\nhands\n").into_par_query().map(str::len).to_vec();
/// assert_eq!(lengths, [4, 5]);
/// ```
#[doc(alias = "OrderablePartitioner")]
#[expect(
    clippy::len_without_is_empty,
    reason = "positions are counted, not items"
)]
#[doc(alias = "UnindexedProducer")]
pub trait Partitioned: Send + Sync {
    /// What it gives.
    type Item: Send;

    /// The number of positions.
    ///
    /// Example: see [`Partitioned`].
    fn len(&self) -> usize;

    /// The items of these positions, in order.
    ///
    /// Example: see [`Partitioned`].
    fn items(&self, positions: Range<usize>) -> impl Iterator<Item = Self::Item>;

    /// A query over the items.
    ///
    /// Example: see [`Partitioned`].
    #[doc(alias = "Partitioner")]
    fn into_par_query(self) -> Query<'static, Pieces<ByPartition<Self>>>
    where
        Self: Sized,
    {
        let positions = Items::new(ByPartition(self), "partitioned source");
        Query::new(Pieces(positions))
    }
}

/// A user's source as the engine sees it.
#[derive(Debug)]
pub struct ByPartition<S>(S);

// SAFETY: the source's items are passed on; no safety depends on its being asked once.
unsafe impl<S: Partitioned> Indexed for ByPartition<S> {
    type Item = S::Item;

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = S::Item> {
        self.0.items(to_usize(start)..to_usize(end))
    }
}

/// The positions of a source each of which may give any number of items.
#[derive(Debug)]
pub struct Pieces<S: Indexed>(Items<S>);

impl<S: Indexed<Item: Send> + Send> Pipeline for Pieces<S> {
    type Item = S::Item;
    type Positions = OwnedItems<S::Item>;

    fn drive<C: Consumer<S::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        self.0.drive(most, consumer, run)
    }

    fn positions_left(&self) -> Option<u64> {
        Some(self.0.len())
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        gather(self, most, run)
    }

    fn explain(&self) -> String {
        self.0.name.into()
    }
}
