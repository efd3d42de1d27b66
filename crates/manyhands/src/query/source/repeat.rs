//! Sources without data: `empty`, `once`, `repeat_n`.
//!
//! Unsafe: implements the engine's trait for positions.

use crate::engine::Indexed;
use crate::parallel::source::owned::OwnedItems;
use crate::query::Query;
use crate::query::items::Items;
use crate::query::pipeline::Positional;

/// A query without items.
///
/// # Examples
/// ```
/// let none = manyhands::query::empty::<u8>();
/// assert_eq!(none.count(), 0);
/// ```
#[doc(alias = "Empty")]
pub fn empty<T: Send>() -> Query<'static, Items<OwnedItems<T>>> {
    Query::new(Items::of_vec(Vec::new()))
}

/// A query with one item, for instance to [`chain`](Query::chain) others behind it.
///
/// # Examples
/// ```
/// use manyhands::query::{self, prelude::*};
/// assert_eq!(query::once(0).chain([1, 2]).to_vec(), [0, 1, 2]);
/// ```
#[doc(alias = "Prepend")]
pub fn once<T: Send>(item: T) -> Query<'static, Items<OwnedItems<T>>> {
    Query::new(Items::of_vec(vec![item]))
}

/// A query that gives an item `count` times. It is cloned for each.
///
/// # Examples
/// ```
/// let text: String = manyhands::query::repeat_n("ab", 3).collect();
/// assert_eq!(text, "ababab");
/// ```
#[doc(alias = "Repeat")]
pub fn repeat_n<T: Clone + Send + Sync>(
    item: T,
    count: usize,
) -> Query<'static, Items<RepeatN<T>>> {
    let count = count as u64;
    Query::new(Items::new(RepeatN { item, count }, "repeat_n"))
}

/// The same item at each position.
#[derive(Debug)]
pub struct RepeatN<T> {
    item: T,
    count: u64,
}

// SAFETY: a position's item is a clone, made at each request.
unsafe impl<T: Clone + Send + Sync> Indexed for RepeatN<T> {
    type Item = T;

    fn len(&self) -> u64 {
        self.count
    }

    #[inline]
    unsafe fn block(&self, start: u64, end: u64) -> impl Iterator<Item = T> {
        (start..end).map(|_| self.item.clone())
    }

    #[inline]
    unsafe fn block_backwards(&self, start: u64, end: u64) -> impl Iterator<Item = T> {
        (start..end).map(|_| self.item.clone())
    }
}

// SAFETY: a clone for each position.
unsafe impl<T: Clone + Send + Sync> Positional for RepeatN<T> {}
