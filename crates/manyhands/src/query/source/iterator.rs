//! Any iterator that can be sent, pulled in chunks.

use crate::engine::{Consumer, Ending, Grouping};
use crate::parallel;
use crate::parallel::source::{Feed, OwnedItems};
use crate::query::gather::gather;
use crate::query::run::CancelCheck;
use crate::query::source::IntoPipeline;
use crate::query::{ConsumerAdapter, Items, Pipeline, QueryRun};
use std::iter;

/// An iterator as a source of queries.
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

impl<I: Iterator<Item: Send> + Send> Pipeline for FromIter<I> {
    type Item = I::Item;
    type Positions = OwnedItems<I::Item>;

    fn drive<C: Consumer<I::Item>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        let mut left = most;
        let iterator = iter::from_fn(|| {
            if left == 0 {
                return None;
            }
            let item = self.iterator.as_mut()?.next();
            match item {
                Some(_) => left -= 1,
                None => self.iterator = None,
            }
            item
        });
        let check = CancelCheck(run.ending);
        let mut bottom = ConsumerAdapter(consumer, &check);
        let feed = parallel::FromIter {
            iterator,
            chunk_max: self.chunk_max,
        };
        match C::GROUPING {
            Grouping::Any => feed.drive(&mut bottom, &run.plan(), None),
            Grouping::Fixed => feed.drive_leaves(&bottom, &run.plan()),
        }
        most - left
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        gather(self, most, run)
    }

    fn explain(&self) -> String {
        "iterator".into()
    }
}
