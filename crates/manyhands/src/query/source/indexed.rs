//! The sources of loops that know positions, as sources of queries: slices, their chunks and windows, vectors, arrays,
//! ranges, boxed slices, options.
//!
//! Unsafe: says which of them give one item at each position.

use crate::parallel::source::owned::OwnedItems;
use crate::parallel::source::range::{Indices, Integer};
use crate::parallel::source::slice::{MutableItems, SharedItems};
use crate::parallel::source::{ByPosition, Chunks, ChunksMut, Drive, Windows};
use crate::query::Query;
use crate::query::items::Items;
use crate::query::pipeline::Positional;
use crate::query::source::IntoParQuery;
use std::ops::Range;

// SAFETY: an item of the slice for each position.
unsafe impl<T: Sync> Positional for SharedItems<'_, T> {}
// SAFETY: an item of the slice for each position.
unsafe impl<T: Send> Positional for MutableItems<'_, T> {}
// SAFETY: a chunk of the slice for each position.
unsafe impl<T: Sync> Positional for Chunks<'_, T> {}
// SAFETY: a chunk of the slice for each position.
unsafe impl<T: Send> Positional for ChunksMut<'_, T> {}
// SAFETY: a window of the slice for each position.
unsafe impl<T: Sync> Positional for Windows<'_, T> {}
// SAFETY: an item of the vector for each position.
unsafe impl<T: Send> Positional for OwnedItems<T> {
    fn into_vec(self) -> Result<Vec<T>, Self> {
        Ok(self.into_items())
    }
}
// SAFETY: an integer for each position.
unsafe impl<T: Integer> Positional for Indices<T> where Range<T>: DoubleEndedIterator<Item = T> {}

impl<S, P> IntoParQuery for S
where
    S: Drive<Item = P::Item, Feed = ByPosition<P>>,
    P: Positional,
{
    type Item = P::Item;
    type Pipeline = Items<P>;

    fn into_par_query(self) -> Query<'static, Items<P>> {
        Query::new(Items::new(self.into_feed().0, "items"))
    }
}

impl<T: Send> IntoParQuery for Box<[T]> {
    type Item = T;
    type Pipeline = Items<OwnedItems<T>>;

    fn into_par_query(self) -> Query<'static, Self::Pipeline> {
        Query::new(Items::of_vec(self.into_vec()))
    }
}

impl<T: Send> IntoParQuery for Option<T> {
    type Item = T;
    type Pipeline = Items<OwnedItems<T>>;

    fn into_par_query(self) -> Query<'static, Self::Pipeline> {
        Query::new(Items::of_vec(Vec::from_iter(self)))
    }
}
