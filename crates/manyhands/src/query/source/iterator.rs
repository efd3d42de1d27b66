//! Any iterator that can be sent, pulled in chunks.

use crate::engine::consumer::Grouping;
use crate::engine::consumer::{Consumer, Ending};
use crate::parallel;
use crate::parallel::source::Feed;
use crate::parallel::source::owned::OwnedItems;
use crate::query::Query;
use crate::query::consumer_adapter::ConsumerAdapter;
use crate::query::explain::Explanation;
use crate::query::gather::gather;
use crate::query::items::Items;
use crate::query::pipeline::Pipeline;
use crate::query::run::{CancelCheck, QueryRun};
use crate::query::source::{IntoParQuery, IntoPipeline};

/// A query over any iterator that can be sent.
///
/// Items are pulled in order, by one runner at a time, in chunks of a few microseconds. The iterator is
/// dropped before the query returns.
///
/// An iterator that waits until its last item was processed, such as a channel whose sender waits for an answer, needs
/// [`ExecutionMode::Parallel`](crate::query::ExecutionMode::Parallel), which pulls one item at a time.
///
/// # Cost
/// The iterator's own, one lock for each chunk, and one move of each item.
///
/// # Examples
/// ```
/// use manyhands::query::{self, prelude::*};
/// let words = query::from_iter("to be or not".split(' '));
/// assert_eq!(words.map(str::len).to_vec(), [2, 2, 2, 3]);
/// ```
#[doc(alias = "AsParallel")]
#[doc(alias = "par_bridge")]
#[doc(alias = "Partitioner.Create")]
pub fn from_iter<I>(iterator: I) -> Query<'static, FromIter<I::IntoIter>>
where
    I: IntoIterator<Item: Send, IntoIter: Send>,
{
    parallel::from_iter(iterator).into_par_query()
}

/// An iterator as a source of queries; made by [`from_iter`].
#[derive(Debug)]
pub struct FromIter<I> {
    /// `None` when it has ended or panicked.
    iterator: Option<I>,
    chunk_max: usize,
}

impl<I: Iterator<Item: Send> + Send> IntoPipeline for parallel::FromIter<I> {
    type Pipeline = FromIter<I>;

    fn into_pipeline(self) -> FromIter<I> {
        FromIter {
            iterator: Some(self.iterator),
            chunk_max: self.chunk_max,
        }
    }
}

/// Up to this number of items of an iterator.
struct Most<'a, I> {
    iterator: &'a mut Option<I>,
    left: u64,
}

impl<I: Iterator> Iterator for Most<'_, I> {
    type Item = I::Item;

    #[inline]
    fn next(&mut self) -> Option<I::Item> {
        if self.left == 0 {
            return None;
        }
        let item = self.iterator.as_mut()?.next();
        if item.is_some() {
            self.left -= 1;
        } else {
            *self.iterator = None;
        }
        item
    }
}

impl<I: Iterator<Item: Send> + Send> Pipeline for FromIter<I> {
    type Item = I::Item;
    type Positions = OwnedItems<I::Item>;
    const IS_POSITIONAL: bool = false;

    fn drive<C: Consumer<I::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        let mut items = Most {
            iterator: &mut self.iterator,
            left: most,
        };
        let bottom = ConsumerAdapter {
            consumer,
            alter: CancelCheck(run.ending),
        };
        let feed = parallel::FromIter {
            iterator: &mut items,
            chunk_max: self.chunk_max,
        };
        match E::GROUPING {
            Grouping::Any => feed.drive(&bottom, &run.plan()),
            Grouping::Fixed => feed.drive_leaves(&bottom, &run.plan()),
        }
        most - items.left
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        gather(self, most, run)
    }

    fn explain(&self, explanation: &mut Explanation) {
        explanation.source("iterator");
    }
}
