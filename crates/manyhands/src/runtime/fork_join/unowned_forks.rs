//! Forks that nobody has in a deque, until a worker or their owner takes them.
//!
//! Some are the rest of a call that its thread ran alone, which the monitor has opened (`unshared_calls.rs`). Others were
//! taken by mistake.
//!
//! While a waiter looks for a part of what it waits for, that may end and another execution begin, so that what it
//! takes belongs to the other one (`executions.rs`). The waiter must not run that, and cannot put it back, because an
//! entry that was stolen has lost its place in the deque. So it passes the fork on:
//! - any worker that looks for work may run it, because its owner's first half may wait for it;
//! - the owner takes it back when it waits for it, because it may hold a lock that all other threads wait for.
//!
//! # Threads
//! Any thread calls everything. The thread that takes a fork has it alone. The owner of a fork does not leave its frame before the
//! fork was run or taken back.
//!
//! # Ordering
//! The count is SeqCst, as a step of I1 (`sleep/idle.rs`): a worker that has announced sleep looks at it. Forks change
//! hands under the lock.

use crate::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use crate::sync::{Mutex, lock};

/// The forks of one runtime.
pub(crate) struct UnownedForks<T> {
    /// The length of the list.
    count: AtomicUsize,
    forks: Mutex<Vec<AtomicPtr<T>>>,
}

impl<T> UnownedForks<T> {
    /// None.
    pub(crate) fn new() -> Self {
        Self {
            count: AtomicUsize::new(0),
            forks: Mutex::new(Vec::new()),
        }
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // SeqCst: see the file's header.
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Passes on a fork. The caller wakes its owner, which may sleep, and a worker.
    pub(crate) fn push(&self, fork: *mut T) {
        let mut forks = lock(&self.forks);
        forks.push(AtomicPtr::new(fork));
        // SeqCst: see the file's header.
        self.count.store(forks.len(), Ordering::SeqCst);
    }

    /// Takes the one that came first.
    pub(crate) fn take(&self) -> Option<*mut T> {
        self.remove(|_| true)
    }

    /// Whether this one is there. It may be taken at any time.
    pub(crate) fn has(&self, fork: *mut T) -> bool {
        !self.is_empty() && position(&lock(&self.forks), |other| other == fork).is_some()
    }

    /// Owner of a fork: takes it back, if it is there.
    pub(crate) fn take_back(&self, fork: *mut T) -> bool {
        self.remove(|other| other == fork).is_some()
    }

    fn remove(&self, is_wanted: impl Fn(*mut T) -> bool) -> Option<*mut T> {
        if self.is_empty() {
            return None;
        }
        let mut forks = lock(&self.forks);
        let fork = position(&forks, is_wanted).map(|position| forks.remove(position));
        // SeqCst: see the file's header.
        self.count.store(forks.len(), Ordering::SeqCst);
        // Relaxed: under the lock.
        fork.map(|fork| fork.load(Ordering::Relaxed))
    }
}

fn position<T>(forks: &[AtomicPtr<T>], is_wanted: impl Fn(*mut T) -> bool) -> Option<usize> {
    // Relaxed: under the lock.
    let is_it = |fork: &AtomicPtr<T>| is_wanted(fork.load(Ordering::Relaxed));
    forks.iter().position(is_it)
}
