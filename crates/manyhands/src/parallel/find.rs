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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Finding, Which};
    use crate::parallel::consumer::Uncancellable;
    use crate::parallel::control::LoopState;
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::time::Duration;

    /// Says that it is being dropped, and waits until it may.
    struct Item {
        is_dropped: Sender<()>,
        may_drop: Option<Receiver<()>>,
        waited: Sender<Result<(), RecvTimeoutError>>,
    }

    impl Drop for Item {
        fn drop(&mut self) {
            let _ = self.is_dropped.send(());
            if let Some(may_drop) = &self.may_drop {
                let waited = may_drop.recv_timeout(Duration::from_secs(20));
                let _ = self.waited.send(waited);
            }
        }
    }

    #[test]
    fn an_item_that_is_not_kept_may_wait_for_another_when_it_is_dropped() {
        let state = LoopState::new();
        let finding = Finding {
            predicate: |_: &Item| true,
            which: Which::First,
            watch: Uncancellable,
            state: &state,
            found: crate::sync::Mutex::new(None),
        };
        let (waited, has_waited) = channel();
        let item = |may_drop| {
            let (is_dropped, drops) = channel();
            let waited = waited.clone();
            let item = Item {
                is_dropped,
                may_drop,
                waited,
            };
            (item, drops)
        };
        let (lowest, _) = item(None);
        let (last, last_is_dropped) = item(None);
        let (loser, loser_is_dropped) = item(Some(last_is_dropped));
        finding.keep(0, lowest);
        std::thread::scope(|scope| {
            scope.spawn(|| finding.keep(1, loser));
            loser_is_dropped.recv().expect("it is dropped");
            finding.keep(2, last);
        });
        assert_eq!(has_waited.recv(), Ok(Ok(())));
    }
}
