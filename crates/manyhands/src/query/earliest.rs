//! The earliest of several matches or failures, by position, and where runners may stop because of it.
//!
//! Not here: what counts as a match (`terminal/find.rs` and `terminal/from_query.rs`).
//!
//! # Ordering
//! The end only says what runners need not start, hence Relaxed; the lock publishes what is kept.

use crate::engine::Until;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, into_inner, lock};

/// The match with the lowest position so far.
pub(crate) struct Earliest<T> {
    until: Until,
    end: AtomicU64,
    kept: Mutex<Option<(u64, T)>>,
}

impl<T> Earliest<T> {
    pub(crate) fn new(until: Until) -> Self {
        Self {
            until,
            end: AtomicU64::new(u64::MAX),
            kept: Mutex::new(None),
        }
    }

    /// Keeps the match at `position`, unless one with a lower position is kept. If the first match is wanted, nothing
    /// is needed behind it.
    pub(crate) fn keep(&self, position: u64, found: T) {
        let mut kept = lock(&self.kept);
        let is_lower = kept.as_ref().is_none_or(|(lowest, _)| position < *lowest);
        let loser = if is_lower {
            kept.replace((position, found))
        } else {
            Some((position, found))
        };
        drop(kept);
        let end = match self.until {
            Until::First => position.saturating_add(1),
            Until::Any | Until::End => 0,
        };
        // Relaxed: see the file's header.
        self.end.fetch_min(end, Ordering::Relaxed);
        // Dropped after the lock: its destructor is the caller's code, and may wait for other matches.
        drop(loser);
    }

    /// Positions from here on need not be searched.
    pub(crate) fn end(&self) -> u64 {
        // Relaxed: see the file's header.
        self.end.load(Ordering::Relaxed)
    }

    /// The kept match, if there was one.
    pub(crate) fn into_found(self) -> Option<T> {
        into_inner(self.kept).map(|(_, found)| found)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Earliest, Until};
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::time::Duration;

    #[test]
    fn the_lowest_find_is_kept_and_ends_the_search() {
        let earliest = Earliest::new(Until::First);
        for position in [7, 3, 5] {
            earliest.keep(position, position);
        }
        assert_eq!((earliest.end(), earliest.into_found()), (4, Some(3)));
    }

    #[test]
    fn any_find_ends_the_search_everywhere() {
        let earliest = Earliest::new(Until::Any);
        earliest.keep(7, ());
        assert_eq!((earliest.end(), earliest.into_found()), (0, Some(())));
    }

    /// Reports that it is being dropped, and waits until it may.
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
        let earliest = Earliest::new(Until::First);
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
        earliest.keep(0, lowest);
        std::thread::scope(|scope| {
            scope.spawn(|| earliest.keep(1, loser));
            loser_is_dropped.recv().expect("it is dropped");
            earliest.keep(2, last);
        });
        assert_eq!(has_waited.recv(), Ok(Ok(())));
    }
}
