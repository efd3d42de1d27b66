//! A consumer in front of another one that changes the items: most operators between a source and the end of a query.
//!
//! Not here: consumers that keep their items (`terminal/`, and the operators that gather).

use crate::engine::{Consumer, Grouping};
use std::ops::Range;

/// How items are changed on their way to a consumer.
pub(crate) trait AdaptItem<T>: Sync {
    /// The changed items.
    type Output;

    /// Changes these items and passes them to `consumer`.
    fn alter<C: Consumer<Self::Output>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: impl Iterator<Item = T>,
    );

    /// Where to end, if the consumer behind ends at `end`.
    #[inline]
    fn end(&self, end: u64) -> u64 {
        end
    }

    /// The consumer's position when all positions before `end` were consumed.
    #[inline]
    fn pass(&self, end: u64) -> u64 {
        end
    }

    /// A body has panicked on some runner.
    fn note_panic(&self) {}
}

/// A consumer and what changes the items in front of it; the consumer does everything else.
pub(crate) struct ConsumerAdapter<'a, C, A>(pub(crate) &'a mut C, pub(crate) &'a A);

impl<T, A: AdaptItem<T>, C: Consumer<A::Output>> Consumer<T> for ConsumerAdapter<'_, C, A> {
    type Runner = C::Runner;

    const GROUPING: Grouping = C::GROUPING;

    #[inline]
    fn start(&self) -> C::Runner {
        self.0.start()
    }

    #[inline]
    fn consume<I: Iterator<Item = T>>(
        &self,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: I,
    ) {
        self.1.alter(self.0, runner, positions, items);
    }

    #[inline]
    fn finish(&self, runner: C::Runner) {
        self.0.finish(runner);
    }

    #[inline]
    fn finish_only(&mut self, runner: C::Runner) {
        self.0.finish_only(runner);
    }

    #[inline]
    fn end(&self) -> u64 {
        self.1.end(self.0.end())
    }

    fn pass(&self, end: u64) {
        self.0.pass(self.1.pass(end));
    }

    fn note_panic(&self) {
        self.1.note_panic();
        self.0.note_panic();
    }
}
