//! Loops that look for an item.

use crate::parallel::consumer::{Consumer, Ending, Watch};
use crate::parallel::control::{Both, LoopState};
use crate::parallel::options::Options;
use crate::parallel::source::{Drive, Feed, Source};
use crate::sync::{Mutex, into_inner, lock};
use std::ops::Range;

/// Keeps the found item with the lowest position.
struct Finding<'a, T, P, W> {
    predicate: P,
    which: Which,
    watch: W,
    state: &'a LoopState,
    found: Mutex<Option<(u64, T)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Any,
    First,
}

impl<T, P, W> Consumer<T> for Finding<'_, T, P, W>
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
                return self.keep(position, item);
            }
        }
    }

    fn finish(&self, _runner: ()) {}

    fn end(&self) -> u64 {
        self.watch.end()
    }
}

impl<T, P, W> Finding<'_, T, P, W> {
    fn keep(&self, position: u64, item: T) {
        let mut found = lock(&self.found);
        let is_lower = found.as_ref().is_none_or(|(lowest, _)| position < *lowest);
        // Dropped after the lock: its drop is the caller's code.
        let loser = if is_lower {
            found.replace((position, item))
        } else {
            Some((position, item))
        };
        drop(found);
        self.state.cut_at(if self.which == Which::Any {
            0
        } else {
            position
        });
        drop(loser);
    }
}

impl<E: Ending> Options<'_, E> {
    /// As [`find_any`](crate::parallel::find_any), with these options.
    #[doc(alias = "Any")]
    pub fn find_any<S: Source<Item: Send>>(
        &self,
        source: S,
        predicate: impl Fn(&S::Item) -> bool + Sync,
    ) -> E::Output<Option<S::Item>> {
        self.find(source, predicate, Which::Any)
    }

    /// As [`find_first`](crate::parallel::find_first), with these options.
    #[doc(alias = "First")]
    #[doc(alias = "FirstOrDefault")]
    pub fn find_first<S: Source<Item: Send>>(
        &self,
        source: S,
        predicate: impl Fn(&S::Item) -> bool + Sync,
    ) -> E::Output<Option<S::Item>> {
        self.find(source, predicate, Which::First)
    }

    fn find<S: Drive<Item: Send>>(
        &self,
        source: S,
        predicate: impl Fn(&S::Item) -> bool + Sync,
        which: Which,
    ) -> E::Output<Option<S::Item>> {
        let (ending, state) = (self.ending(), LoopState::new());
        let finding = Finding {
            predicate,
            which,
            watch: Both(ending, &state),
            state: &state,
            found: Mutex::new(None),
        };
        source.into_feed().drive(&finding, &self.plan());
        let found = into_inner(finding.found);
        ending.conclude(Some(found.map(|(_, item)| item)))
    }
}
