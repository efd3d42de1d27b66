//! How many of a pool's own threads have started, and how many have left.

use std::sync::{Condvar, Mutex, PoisonError};

/// How many of a pool's own threads have started, and how many have left.
#[derive(Default)]
pub(crate) struct ThreadCounts {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Default)]
struct Counts {
    started: usize,
    stopped: usize,
}

impl ThreadCounts {
    pub(crate) fn note_started(&self) {
        self.note(|counts| counts.started += 1);
    }

    pub(crate) fn note_stopped(&self) {
        self.note(|counts| counts.stopped += 1);
    }

    fn note(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    pub(crate) fn wait_until_started(&self, count: usize) {
        self.wait_while(|counts| counts.started < count);
    }

    #[cfg(test)]
    pub(crate) fn wait_until_stopped(&self, count: usize) {
        self.wait_while(|counts| counts.stopped < count);
    }

    fn wait_while(&self, condition: impl Fn(&Counts) -> bool) {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(counts, |counts| condition(counts));
        drop(waited);
    }
}
