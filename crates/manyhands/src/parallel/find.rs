//! Loops that look for an item.

use crate::engine::consumer::{Consumer, Ending, Watch};
use crate::parallel::control::Both;
use crate::parallel::earliest::{Earliest, FindMode};
use crate::parallel::options::Options;
use crate::parallel::source::{Feed, Source};
use std::ops::Range;

/// Keeps an item that satisfies the predicate, with its own position.
struct FindByPosition<'a, T, P, W> {
    predicate: P,
    watch: W,
    earliest: &'a Earliest<T>,
}

impl<T, P, W> Consumer<T> for FindByPosition<'_, T, P, W>
where
    T: Send,
    P: Fn(&T) -> bool + Sync,
    W: Watch,
{
    type Runner = ();

    fn start(&self) {}

    fn consume<I: Iterator<Item = T>>(&self, _runner: &mut (), positions: Range<u64>, items: I) {
        for (item, position) in self.watch.limit(positions.start, items).zip(positions) {
            if (self.predicate)(&item) {
                return self.earliest.keep(position, item, position);
            }
        }
    }

    fn finish(&self, _runner: ()) {}

    fn end(&self) -> u64 {
        self.watch.end()
    }
}

impl<E: Ending> Options<'_, E> {
    /// As [`find_any`](crate::parallel::find_any), with these options.
    ///
    /// Example: see [`Options`].
    #[doc(alias = "Any")]
    #[track_caller]
    pub fn find_any<S: Source<Item: Send>>(
        &self,
        source: S,
        predicate: impl Fn(&S::Item) -> bool + Sync,
    ) -> E::Output<Option<S::Item>> {
        self.find(source, predicate, FindMode::Any)
    }

    /// As [`find_first`](crate::parallel::find_first), with these options.
    ///
    /// Example: see [`Options`].
    #[doc(alias = "First")]
    #[doc(alias = "FirstOrDefault")]
    #[track_caller]
    pub fn find_first<S: Source<Item: Send>>(
        &self,
        source: S,
        predicate: impl Fn(&S::Item) -> bool + Sync,
    ) -> E::Output<Option<S::Item>> {
        self.find(source, predicate, FindMode::First)
    }

    #[track_caller]
    fn find<S: Source<Item: Send>>(
        &self,
        source: S,
        predicate: impl Fn(&S::Item) -> bool + Sync,
        mode: FindMode,
    ) -> E::Output<Option<S::Item>> {
        let (ending, earliest) = (self.ending(), Earliest::new(mode));
        let finding = FindByPosition {
            predicate,
            watch: Both(ending, &earliest),
            earliest: &earliest,
        };
        source.into_feed().drive(&finding, &self.plan());
        ending.conclude(Some(earliest.into_found()))
    }
}
