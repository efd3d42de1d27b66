//! The sources of loops.
//!
//! Slices, vectors and arrays, by reference, by mutable reference or by value; ranges of every integer type; the
//! collections of the standard library; collections of other crates, through [`Producer`]; and, through [`from_iter`], any
//! iterator that can be sent.
//!
//! Not here: queries as sources of loops (`query/source/of_loops.rs`).

mod beginning;
pub(crate) mod chained;
mod collections;
mod iterator;
pub(crate) mod leaves;
pub(crate) mod owned;
pub(crate) mod producer;
mod pull;
pub(crate) mod range;
mod shared_pull;
pub(crate) mod slice;
pub(crate) mod turns;

pub(crate) use chained::{Chained, discard_both};
pub use iterator::{FromIter, from_iter};
pub(crate) use owned::OwnedItems;
pub use producer::Producer;
pub(crate) use slice::{MutableItems, SharedItems, to_usize};

use crate::cancel::Token;
use crate::engine::{Consumer, Indexed, Plan, drive};

/// A source of loops and queries.
///
/// Slices, vectors, arrays, and maps, sets and queues of the standard library, by reference, and all but slices also by value;
/// boxed slices by reference and by value; an `Arc` of a slice or a vector by reference; options, and ranges of every integer
/// type by value. Maps, sets and linked lists are read by their iterators; the others, queues and heaps too, are divided by
/// position. For collections of other crates, see [`Producer`]; for any other iterator, use [`from_iter`].
///
/// There are at most 2^64 - 1 positions: `skip`, `step_by`, `element_at` and `chain` of a query miss what a longer range, such as
/// `0..=u64::MAX` or one of `u128`, has behind them, and operators from the end, such as `rev`, panic at that length.
///
/// An ordered [query](crate::query::Query) with no token, and not `deterministic`, is a source, too, by position: of chunks
/// ([`par_chunks`](crate::query::ParSlice::par_chunks)), of a `zip`. One whose operators add or remove items gathers what
/// it gives before the loop begins. The loop's options apply to both.
///
/// # Examples
/// ```
/// use manyhands::parallel;
/// let words = ["many", "hands"];
/// assert_eq!(parallel::map(&words, |word| word.len()), [4, 5]);
/// assert_eq!(parallel::map(words.to_vec(), |word| word.to_uppercase()), ["MANY", "HANDS"]);
/// assert_eq!(parallel::map(3..6_u8, |i| i * 2), [6, 8, 10]);
/// assert_eq!(parallel::map(parallel::from_iter("a b".split(' ')), str::len), [1, 1]);
///
/// use manyhands::query::prelude::*;
/// let sums = parallel::map([1, 2, 3].par_query().zip([10, 20, 30].par_query()), |(a, b)| a + b);
/// assert_eq!(sums, [11, 22, 33]);
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
///
/// A type of one's own is the source that it is made of:
/// ```
/// use manyhands::{parallel, query::prelude::*};
///
/// struct Words(Vec<String>);
///
/// impl<'a> parallel::Source for &'a Words {
///     type Item = &'a String;
///     type Feed = <&'a Vec<String> as parallel::Source>::Feed;
///
///     fn into_feed(self) -> Self::Feed {
///         (&self.0).into_feed()
///     }
/// }
///
/// let words = Words(vec!["many".to_owned(), "hands".to_owned()]);
/// assert_eq!(parallel::map(&words, String::len), [4, 5]);
/// assert_eq!(words.par_query().rev().to_vec(), ["hands", "many"]);
/// ```
#[doc(alias("IntoParallelIterator", "Partitioner"))]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a source of a loop or a query",
    note = "pass a collection as `&collection`, `&mut collection` or `collection`, what points to one as `&*pointer`, and an iterator as `parallel::from_iter(iterator)`; items by reference must be `Sync`, others `Send`"
)]
pub trait Source: Sized {
    /// What the body receives.
    type Item;

    /// What feeds the loop, always that of another source.
    type Feed: Feed<Item = Self::Item>;

    /// Prepares the items.
    ///
    /// Example: see [`Source`].
    fn into_feed(self) -> Self::Feed;
}

/// Gives a loop its items.
pub trait Feed: Sized {
    /// What the body receives.
    type Item;

    /// Runs all items through `consumer`. `token` ends what makes them before the first of them is given; the consumer itself
    /// says when no more are wanted.
    fn drive<C: Consumer<Self::Item>>(
        self,
        consumer: &mut C,
        plan: &Plan<'_>,
        token: Option<&Token>,
    );

    /// The number of items, where it is known.
    fn len_hint(&self) -> Option<usize>;
}

/// Gives items by position.
#[derive(Debug)]
pub struct ByPosition<S>(pub(crate) S);

impl<S: Indexed> Feed for ByPosition<S> {
    type Item = S::Item;

    fn drive<C: Consumer<S::Item>>(
        self,
        consumer: &mut C,
        plan: &Plan<'_>,
        _token: Option<&Token>,
    ) {
        drive(&self.0, consumer, plan);
    }

    fn len_hint(&self) -> Option<usize> {
        usize::try_from(self.0.len()).ok()
    }
}
