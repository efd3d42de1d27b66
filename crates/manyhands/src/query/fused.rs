//! A pipeline whose items are changed in the loop that makes them, after which positions are unknown.
//!
//! Not here: what changes them (`terminal/try_forms.rs`, `terminal/from_query.rs`), and operators that do
//! (`op/flat_op.rs`, `op/apply.rs`).

use crate::engine::consumer::{Consumer, Ending};
use crate::parallel::source::owned::OwnedItems;
use crate::query::consumer_adapter::{AdaptItem, ConsumerAdapter};
use crate::query::gather::gather;
use crate::query::items::Items;
use crate::query::pipeline::Pipeline;
use crate::query::run::QueryRun;

/// The items of a pipeline, and what changes each block of them.
pub(crate) struct Fused<P, A>(pub(crate) P, pub(crate) A);

impl<P: Pipeline, A: AdaptItem<P::Item, Output: Send> + Send> Pipeline for Fused<P, A> {
    type Item = A::Output;
    type Positions = OwnedItems<A::Output>;

    #[inline]
    fn drive<C: Consumer<A::Output>, E: Ending>(
        &mut self,
        most: u64,
        consumer: &mut C,
        run: &QueryRun<'_, E>,
    ) -> u64 {
        let mut consumer = ConsumerAdapter(consumer, &self.1);
        self.0.drive(most, &mut consumer, run)
    }

    fn positions_left(&self) -> Option<u64> {
        self.0.positions_left()
    }

    fn into_positions<E: Ending>(self, most: u64, run: &QueryRun<'_, E>) -> Items<Self::Positions> {
        gather(self, most, run)
    }

    fn explain(&self) -> String {
        self.0.explain()
    }
}
