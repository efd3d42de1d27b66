//! Counts work items down, and wakes who waits for the last.

use std::sync::{
    Condvar, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

/// How many items are left.
#[derive(Debug)]
pub(super) struct Countdown {
    left: AtomicUsize,
    /// Held while looking at `left` before sleeping, and while waking.
    lock: Mutex<()>,
    all_finished: Condvar,
}

impl Countdown {
    pub(super) const fn new() -> Self {
        Self {
            left: AtomicUsize::new(0),
            lock: Mutex::new(()),
            all_finished: Condvar::new(),
        }
    }

    /// Sets the number of items; those of the last round have finished.
    pub(super) fn begin(&self, items: usize) {
        self.left.store(items, Ordering::Release);
    }

    /// One item is finished.
    pub(super) fn finish_one(&self) {
        // AcqRel: who finds nothing left has seen what all items did.
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let _lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.all_finished.notify_one();
        }
    }

    /// Waits until nothing is left.
    pub(super) fn wait(&self) {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.all_finished.wait_while(lock, |()| self.left() > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Items not yet finished.
    pub(super) fn left(&self) -> usize {
        // Acquire: pairs with the release of the last item.
        self.left.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_with_the_last_item_round_after_round() {
        let countdown = Countdown::new();
        countdown.wait();
        for _ in 0..100 {
            countdown.begin(2);
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| countdown.finish_one());
                }
                countdown.wait();
                assert_eq!(countdown.left(), 0);
            });
        }
    }
}
