//! The sources of loops that know positions, as sources of queries: slices, vectors, queues, ranges, collections of
//! other crates.
//!
//! Unsafe: says which of them give one item at each position.

use crate::parallel::source::producer::{Parts, Producer};
use crate::parallel::source::range::{Indices, IndicesThrough, Integer};
use crate::parallel::source::{ByPosition, Chained, MutableItems, OwnedItems, SharedItems};
use crate::query::source::IntoPipeline;
use crate::query::{Items, Positional};
use std::ops::Range;

// SAFETY: an item of the slice for each position.
unsafe impl<T: Sync> Positional for SharedItems<'_, T> {}
// SAFETY: an item of the slice for each position.
unsafe impl<T: Send> Positional for MutableItems<'_, T> {}
// SAFETY: an item of the vector for each position.
unsafe impl<T: Send> Positional for OwnedItems<T> {
    fn into_vec(self) -> Result<Vec<T>, Self> {
        Ok(self.into_items())
    }
}
// SAFETY: an item of one of the two for each position.
unsafe impl<S: Positional, R: Positional<Item = S::Item>> Positional for Chained<S, R> {}
// SAFETY: an item for each position, or a panic of the loop.
unsafe impl<P: Producer<Item: Send>> Positional for Parts<P> {}
// SAFETY: an integer for each position.
unsafe impl<T: Integer> Positional for Indices<T> where Range<T>: DoubleEndedIterator<Item = T> {}
// SAFETY: an integer for each position.
unsafe impl<T: Integer> Positional for IndicesThrough<T> {}

impl<P: Positional> IntoPipeline for ByPosition<P> {
    type Pipeline = Items<P>;

    fn into_pipeline(self) -> Items<P> {
        Items::new(self.0, "items")
    }
}
