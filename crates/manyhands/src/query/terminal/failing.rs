//! Items that may have failed, up to the first failure.

use crate::engine::consumer::Consumer;
use crate::query::consumer_adapter::AdaptItem;
use crate::query::earliest::Earliest;
use std::ops::Range;

/// A `Result` or an `Option`.
pub(super) trait Attempt: Send {
    /// The value of a success.
    type Value: Send;
    /// The value of a failure.
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

/// Gives the values of items until the first failure, and keeps that.
#[derive(Debug)]
pub(super) struct UpToFailure<'a, F>(pub(super) &'a Earliest<F>);

impl<T: Attempt> AdaptItem<T> for UpToFailure<'_, T::Failure> {
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
            let note = |failure| self.0.keep(start, failure);
            noted.map_err(note).ok()
        });
        consumer.consume(runner, positions, values);
    }

    fn end(&self, end: u64) -> u64 {
        end.min(self.0.end())
    }
}
