//! Items that may have failed, up to the first failure.

use crate::engine::consumer::Consumer;
use crate::query::consumer_adapter::AdaptItem;
use crate::query::earliest::Earliest;
use std::ops::Range;

/// Gives the values of items until the first failure, and keeps that. The closure says which of the two an item is.
pub(super) struct UpToFailure<'a, F, M>(pub(super) &'a Earliest<F>, pub(super) M);

impl<T, V, F: Send, M: Fn(T) -> Result<V, F> + Sync> AdaptItem<T> for UpToFailure<'_, F, M> {
    type Output = V;

    #[inline]
    fn alter<C: Consumer<V>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: impl Iterator<Item = T>,
    ) {
        let start = positions.start;
        let values = items.map_while(|item| {
            let note = |failure| self.0.keep(start, failure);
            (self.1)(item).map_err(note).ok()
        });
        consumer.consume(runner, positions, values);
    }

    fn end(&self, end: u64) -> u64 {
        end.min(self.0.end())
    }
}
