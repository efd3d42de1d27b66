//! Items that may have failed, up to the first failure.
//!
//! # Ordering
//! The end is advice to runners about what they need not start, hence Relaxed; the failure is handed over
//! under the lock.

use crate::parallel::consumer::Consumer;
use crate::parallel::source::owned::OwnedItems;
use crate::query::explain::Explanation;
use crate::query::items::Items;
use crate::query::pipeline::Pipeline;
use crate::query::relay::{Alter, Relay};
use crate::query::run::{Control, Run};
use crate::query::terminal::collect::gather;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
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
    failure: Arc<FirstFailure<F>>,
}

/// The failure that comes first in the order.
#[derive(Debug)]
pub(super) struct FirstFailure<F> {
    end: AtomicU64,
    failure: Mutex<Option<(u64, F)>>,
}

impl<F> FirstFailure<F> {
    /// The failure, if there was one.
    pub(super) fn take(&self) -> Option<F> {
        lock(&self.failure).take().map(|(_, failure)| failure)
    }

    fn note(&self, start: u64, failure: F) {
        let mut kept = lock(&self.failure);
        let is_lower = kept.as_ref().is_none_or(|(lowest, _)| start < *lowest);
        // Dropped after the lock, as a destructor may wait for other failures.
        let _unwanted = if is_lower {
            kept.replace((start, failure))
        } else {
            Some((start, failure))
        };
        drop(kept);
        // Relaxed: see the file's header.
        self.end
            .fetch_min(start.saturating_add(1), Ordering::Relaxed);
    }
}

impl<P: Pipeline<Item: Attempt>> Succeeding<P, <P::Item as Attempt>::Failure> {
    /// The pipeline, and where its failure will be.
    pub(super) fn new(base: P) -> (Self, Arc<FirstFailure<<P::Item as Attempt>::Failure>>) {
        let failure = Arc::new(FirstFailure {
            end: AtomicU64::new(u64::MAX),
            failure: Mutex::new(None),
        });
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

struct UpToFailure<'a, F>(&'a FirstFailure<F>);

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
            noted.map_err(|failure| self.0.note(start, failure)).ok()
        });
        consumer.consume(runner, positions, values);
    }

    fn end(&self, end: u64) -> u64 {
        // Relaxed: see the file's header.
        end.min(self.0.end.load(Ordering::Relaxed))
    }
}
