//! Items that may have failed, up to the first failure.

use crate::parallel::consumer::Consumer;
use crate::parallel::source::owned::OwnedItems;
use crate::query::explain::Explanation;
use crate::query::items::Items;
use crate::query::pipeline::Pipeline;
use crate::query::relay::{Alter, Relay};
use crate::query::run::{Control, Run};
use crate::query::terminal::collect::gather;
use crate::query::terminal::earliest::Earliest;
use std::ops::Range;
use std::sync::Arc;

/// A `Result` or an `Option`.
pub(super) trait Attempt: Send {
    /// What there is after a success.
    type Value: Send;
    /// What there is after a failure.
    type Failure: Send;

    /// Which of the two it is.
    fn into_result(self) -> Result<Self::Value, Self::Failure>;
}

impl<T: Send, E: Send> Attempt for Result<T, E> {
    type Value = T;
    type Failure = E;

    #[inline]
    fn into_result(self) -> Self {
        self
    }
}

impl<T: Send> Attempt for Option<T> {
    type Value = T;
    type Failure = ();

    #[inline]
    fn into_result(self) -> Result<T, ()> {
        self.ok_or(())
    }
}

/// The values of a pipeline's items, as long as there is no failure.
#[derive(Debug)]
pub(super) struct Succeeding<P, F> {
    base: P,
    failure: Arc<Earliest<F>>,
}

impl<P: Pipeline<Item: Attempt>> Succeeding<P, <P::Item as Attempt>::Failure> {
    /// The pipeline, and where its failure will be.
    pub(super) fn new(base: P) -> (Self, Arc<Earliest<<P::Item as Attempt>::Failure>>) {
        let failure = Arc::new(Earliest::new());
        let theirs = Arc::clone(&failure);
        (Self { base, failure }, theirs)
    }
}

impl<P: Pipeline<Item: Attempt>> Pipeline for Succeeding<P, <P::Item as Attempt>::Failure> {
    type Item = <P::Item as Attempt>::Value;
    type Positions = OwnedItems<Self::Item>;
    const IS_POSITIONAL: bool = false;

    fn drive<C: Consumer<Self::Item>, E: Control>(
        &mut self,
        most: u64,
        consumer: &C,
        run: &Run<'_, E>,
    ) -> u64 {
        let consumer = Relay {
            consumer,
            alter: UpToFailure(&self.failure),
        };
        self.base.drive(most, &consumer, run)
    }

    fn into_positions<E: Control>(self, most: u64, run: &Run<'_, E>) -> Items<Self::Positions> {
        gather(self, most, run)
    }

    fn explain(&self, explanation: &mut Explanation) {
        self.base.explain(explanation);
    }
}

struct UpToFailure<'a, F>(&'a Earliest<F>);

impl<T: Attempt> Alter<T> for UpToFailure<'_, T::Failure> {
    type Output = T::Value;

    #[inline]
    fn alter<C: Consumer<T::Value>>(
        &self,
        consumer: &C,
        runner: &mut C::Runner,
        positions: Range<u64>,
        items: impl Iterator<Item = T>,
    ) {
        let start = positions.start;
        let values = items.map_while(|item| {
            let noted = item.into_result();
            let note = |failure| self.0.keep(start, failure, start.saturating_add(1));
            noted.map_err(note).ok()
        });
        consumer.consume(runner, positions, values);
    }

    fn end(&self, end: u64) -> u64 {
        end.min(self.0.end())
    }
}
