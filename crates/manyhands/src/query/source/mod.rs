//! The sources of queries: everything a loop can run over, and more.

mod chunks;
mod indexed;
mod iterator;
mod of_loops;
mod partitioned;
mod slice;
mod text;

pub use partitioned::Partitioned;
pub use slice::ParSlice;
pub use text::ParText;

use crate::parallel::Source;
use crate::parallel::source::Feed;
use crate::query::{Pipeline, Query};

/// A type of which a query can be made.
///
/// Everything that is a [`Source`] of a loop, also of one's own: `[item]` for one item, an empty array for none, `(0..n)`
/// mapped to the same item for a repeated one, and [`parallel::from_iter`](crate::parallel::from_iter) of any other
/// iterator, which is [pulled](IntoParQuery::into_par_query) by one runner at a time. A query as an operand of
/// another one is one, too; the other's settings apply to both.
///
/// Example: see [`IntoParQuery::into_par_query`].
#[doc(alias("AsParallel", "IntoParallelIterator", "Range", "Empty"))]
#[doc(alias("Repeat", "repeat_n", "once"))]
pub trait IntoParQuery {
    /// What the query gives.
    type Item: Send;

    /// What the query is made of.
    type Pipeline: Pipeline<Item = Self::Item>;

    /// A query over the items.
    ///
    /// # Iterators
    /// The items of [`parallel::from_iter`](crate::parallel::from_iter) are pulled in order, by one runner at a time, in
    /// chunks of a few microseconds. The iterator is dropped before the query returns. One that waits until its last item
    /// was processed, such as a channel whose sender waits for an answer, needs
    /// [`ExecutionMode::Parallel`](crate::query::ExecutionMode::Parallel), which pulls one item at a time.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{parallel, query::prelude::*};
    /// let lengths = vec!["a", "bc"].into_par_query().map(str::len).to_vec();
    /// assert_eq!(lengths, [1, 2]);
    /// let words = parallel::from_iter("to be or not".split(' ')).into_par_query();
    /// assert_eq!(words.map(str::len).to_vec(), [2, 2, 2, 3]);
    /// ```
    #[doc(alias("par_bridge", "Partitioner.Create", "into_par_iter"))]
    fn into_par_query(self) -> Query<'static, Self::Pipeline>;
}

/// Something that can be queried by reference.
///
/// Example: see [`ParQuery::par_query`].
pub trait ParQuery<'a> {
    /// What the query gives.
    type Item: Send;

    /// What the query is made of.
    type Pipeline: Pipeline<Item = Self::Item>;

    /// A query over references to the items.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let words = ["many", "hands"];
    /// assert_eq!(words.par_query().map(|word| word.len()).to_vec(), [4, 5]);
    /// ```
    #[doc(alias("AsParallel", "par_iter"))]
    fn par_query(&'a self) -> Query<'static, Self::Pipeline>;
}

/// Something that can be queried by mutable reference.
///
/// Example: see [`ParQueryMut::par_query_mut`].
pub trait ParQueryMut<'a> {
    /// What the query gives.
    type Item: Send;

    /// What the query is made of.
    type Pipeline: Pipeline<Item = Self::Item>;

    /// A query over mutable references to the items.
    ///
    /// # Examples
    /// ```
    /// use manyhands::query::prelude::*;
    /// let mut numbers = [1, 2, 3];
    /// numbers.par_query_mut().for_each(|n| *n *= 10);
    /// assert_eq!(numbers, [10, 20, 30]);
    /// ```
    #[doc(alias = "par_iter_mut")]
    fn par_query_mut(&'a mut self) -> Query<'static, Self::Pipeline>;
}

/// What feeds a loop, as a pipeline.
pub trait IntoPipeline: Feed {
    /// The pipeline.
    type Pipeline: Pipeline<Item = Self::Item>;

    /// Prepares the items.
    fn into_pipeline(self) -> Self::Pipeline;
}

impl<S> IntoParQuery for S
where
    S: Source<Item: Send, Feed: IntoPipeline>,
{
    type Item = S::Item;
    type Pipeline = <S::Feed as IntoPipeline>::Pipeline;

    fn into_par_query(self) -> Query<'static, Self::Pipeline> {
        Query::new(self.into_feed().into_pipeline())
    }
}

impl<'a, C: ?Sized + 'a> ParQuery<'a> for C
where
    &'a C: IntoParQuery,
{
    type Item = <&'a C as IntoParQuery>::Item;
    type Pipeline = <&'a C as IntoParQuery>::Pipeline;

    fn par_query(&'a self) -> Query<'static, Self::Pipeline> {
        self.into_par_query()
    }
}

impl<'a, C: ?Sized + 'a> ParQueryMut<'a> for C
where
    &'a mut C: IntoParQuery,
{
    type Item = <&'a mut C as IntoParQuery>::Item;
    type Pipeline = <&'a mut C as IntoParQuery>::Pipeline;

    fn par_query_mut(&'a mut self) -> Query<'static, Self::Pipeline> {
        self.into_par_query()
    }
}
