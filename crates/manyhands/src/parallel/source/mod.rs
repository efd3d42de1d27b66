//! The sources of loops.
//!
//! Slices, vectors and arrays, by reference, by mutable reference or by value; chunks and windows of slices; ranges of every integer
//! type; and, through [`from_iter`], any iterator that can be sent. The trait is sealed for now.

mod chunks;
mod iterator;
pub(crate) mod leaves;
pub(crate) mod owned;
pub(crate) mod range;
pub(crate) mod slice;
pub(crate) mod turns;

pub use chunks::{Chunks, ChunksMut, Windows, chunks, chunks_mut, windows};
pub use iterator::{FromIter, from_iter};
pub use range::Integer;
pub(super) use slice::to_usize;

use crate::engine::consumer::Consumer;
use crate::engine::{Indexed, Plan, drive};

/// A source of a loop.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let words = ["many", "hands"];
/// assert_eq!(parallel::map(&words, |word| word.len()), [4, 5]);
/// assert_eq!(parallel::map(words.to_vec(), |word| word.to_uppercase()), ["MANY", "HANDS"]);
/// assert_eq!(parallel::map(3..6_u8, |i| i * 2), [6, 8, 10]);
/// assert_eq!(parallel::map(parallel::from_iter("a b".split(' ')), str::len), [1, 1]);
/// ```
///
/// A type that cannot be sent or shared is refused:
/// ```compile_fail,E0277
/// let cells = [std::cell::Cell::new(1)];
/// manyhands::parallel::for_each(&cells, |cell| cell.set(2));
/// ```
/// and an iterator that cannot be sent to another thread is refused, at compile time:
/// ```compile_fail,E0277
/// let shared = std::rc::Rc::new([1, 2]);
/// let iterator = (0..2).map(move |i| shared[i]);
/// manyhands::parallel::for_each(manyhands::parallel::from_iter(iterator), |_| {});
/// ```
#[doc(alias = "Partitioner")]
pub trait Source: Drive {}

impl<S: Drive> Source for S {}

/// The sealed part of [`Source`].
pub trait Drive: Sized {
    /// What the body receives.
    type Item;
    /// What feeds the loop.
    type Feed: Feed<Item = Self::Item>;

    /// Prepares the items.
    fn into_feed(self) -> Self::Feed;
}

/// Gives a loop its items.
pub trait Feed: Sized {
    /// What the body receives.
    type Item;

    /// Runs all items through `consumer`.
    fn drive<C: Consumer<Self::Item>>(self, consumer: &C, plan: &Plan<'_>);

    /// Like [`drive`](Self::drive), in blocks that depend on the source alone, one to each `consume`. For reductions
    /// that must not depend on which runner ran which items.
    fn drive_leaves<C: Consumer<Self::Item>>(self, consumer: &C, plan: &Plan<'_>);

    /// The number of items, where it is known.
    fn len_hint(&self) -> Option<usize>;
}

/// Gives items by position.
#[derive(Debug)]
pub struct ByPosition<S>(pub(crate) S);

impl<S: Indexed> Feed for ByPosition<S> {
    type Item = S::Item;

    fn drive<C: Consumer<S::Item>>(self, consumer: &C, plan: &Plan<'_>) {
        drive(&self.0, consumer, plan);
    }

    fn drive_leaves<C: Consumer<S::Item>>(self, consumer: &C, plan: &Plan<'_>) {
        leaves::drive_leaves(&self.0, consumer, plan);
    }

    fn len_hint(&self) -> Option<usize> {
        usize::try_from(self.0.len()).ok()
    }
}
