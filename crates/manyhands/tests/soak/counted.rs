//! Counted values: bodies by their index, items when they are made and dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

/// How often each index was visited.
#[derive(Debug)]
pub(crate) struct Visits(Vec<AtomicU8>);

impl Visits {
    pub(crate) fn new(count: u64) -> Self {
        Self((0..count).map(|_| AtomicU8::new(0)).collect())
    }

    pub(crate) fn visit(&self, index: u64) {
        let index = usize::try_from(index).expect("an index");
        let before = self.0[index].fetch_add(1, Ordering::Relaxed);
        assert_eq!(before, 0, "index {index} was visited twice");
    }

    pub(crate) fn has(&self, index: u64) -> bool {
        let index = usize::try_from(index).expect("an index");
        self.0[index].load(Ordering::Relaxed) > 0
    }

    pub(crate) fn count(&self) -> u64 {
        let visits = self.0.iter();
        visits
            .map(|count| u64::from(count.load(Ordering::Relaxed)))
            .sum()
    }

    /// Each was visited once.
    #[track_caller]
    pub(crate) fn assert_all(&self) {
        self.assert_all_below(self.0.len() as u64);
    }

    /// Each below `end` was visited once.
    #[track_caller]
    pub(crate) fn assert_all_below(&self, end: u64) {
        let missing: Vec<u64> = (0..end).filter(|&index| !self.has(index)).collect();
        let first = &missing[..missing.len().min(20)];
        let (lost, all) = (missing.len(), self.0.len());
        assert!(
            missing.is_empty(),
            "lost {lost} of {end} bodies (of {all}): {first:?} …"
        );
    }
}

/// The number of values that were made and not dropped.
#[derive(Debug, Default)]
pub(crate) struct Tally(AtomicI64);

impl Tally {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn make(self: &Arc<Self>, number: u64) -> Thing {
        self.0.fetch_add(1, Ordering::Relaxed);
        Thing {
            number,
            contents: Box::new(!number),
            tally: Arc::clone(self),
        }
    }

    /// Everything was dropped once.
    #[track_caller]
    pub(crate) fn assert_none_left(&self) {
        // Acquire: after everything that was done before the values were dropped.
        assert_eq!(
            self.0.load(Ordering::Acquire),
            0,
            "things made and not dropped"
        );
    }

    pub(crate) fn left(&self) -> i64 {
        self.0.load(Ordering::Acquire)
    }
}

/// A numbered value that knows whether it was ever written.
#[derive(Debug)]
pub(crate) struct Thing {
    number: u64,
    contents: Box<u64>,
    tally: Arc<Tally>,
}

impl Thing {
    pub(crate) fn number(&self) -> u64 {
        assert_eq!(*self.contents, !self.number, "a thing that was made");
        self.number
    }
}

impl Clone for Thing {
    fn clone(&self) -> Self {
        self.tally.make(self.number())
    }
}

impl Drop for Thing {
    fn drop(&mut self) {
        *self.contents = 0;
        self.tally.0.fetch_sub(1, Ordering::Release);
    }
}

impl PartialEq for Thing {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number()
    }
}

impl Eq for Thing {}

impl PartialOrd for Thing {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Thing {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.number().cmp(&other.number())
    }
}
