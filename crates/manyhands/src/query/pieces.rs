//! Positions as a pipeline where each may give any number of items, as pieces of a text do.
//!
//! Not here: positions with one item each (`items.rs`).

use crate::engine::Indexed;
use crate::engine::consumer::{Consumer, Ending};
use crate::parallel::source::owned::OwnedItems;
use crate::query::gather::gather;
use crate::query::items::Items;
use crate::query::pipeline::Pipeline;
use crate::query::run::QueryRun;

/// The positions of a source each of which may give any number of items.
#[derive(Debug)]
pub struct Pieces<S: Indexed>(pub(crate) Items<S>);

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
