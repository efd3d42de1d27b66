//! The list of those that were refused a thread, and the flag by which sleepers learn that there are any.
//!
//! Not here: who is on it, and how it is tried again (`refused_starts.rs`).
//!
//! # Ordering
//! The flag is set (SeqCst) before every slot is unparked. A thread that is about to sleep on a slot reads it before it
//! parks. Either it reads the flag, or it finds the wake.

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, lock};
use std::mem;

/// The list.
#[derive(Debug, Default)]
pub(crate) struct RefusedList<T> {
    pub(super) is_any: AtomicBool,
    pub(super) list: Mutex<Vec<T>>,
}

impl<T> RefusedList<T> {
    /// Whether there are any.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        // SeqCst: see the file's header.
        self.is_any.load(Ordering::SeqCst)
    }

    /// Adds `entry`, unless one on the list is the `same`. If there were none, wakes all that sleep by `wake_all`.
    pub(crate) fn add(&self, entry: T, same: impl Fn(&T, &T) -> bool, wake_all: impl FnOnce()) {
        let mut list = lock(&self.list);
        if !list.iter().any(|listed| same(listed, &entry)) {
            list.push(entry);
        }
        // SeqCst: see the file's header. Under the lock, as where it is cleared.
        if !self.is_any.swap(true, Ordering::SeqCst) {
            drop(list);
            wake_all();
        }
    }

    /// Tries for those on the list, which another thread that tries has taken from it. Those that `try_again` adds come back.
    pub(crate) fn try_all(&self, try_again: impl FnOnce(&[T])) {
        let listed = mem::take(&mut *lock(&self.list));
        if !listed.is_empty() {
            try_again(&listed);
            let list = lock(&self.list);
            if list.is_empty() {
                // SeqCst: see the file's header.
                self.is_any.store(false, Ordering::SeqCst);
            }
        }
    }
}
