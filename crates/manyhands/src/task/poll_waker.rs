//! The waker of a poll, as it is kept under a lock.
//!
//! Not here: where it is kept (`wait_list.rs`).

use crate::job;
use std::task::{Context, Waker};

/// The waker of a poll that may have to wait, ready to be kept under a lock.
///
/// The clone of a waker may run code of the user, so it is made before, while no lock is held. That of a task's waker is only a
/// count, and is made where it is kept.
pub(crate) struct PollWaker<'a> {
    pub(crate) waker: &'a Waker,
    clone: Option<Waker>,
}

impl<'a> PollWaker<'a> {
    /// No lock is held.
    pub(crate) fn of(cx: &Context<'a>) -> Self {
        let waker = cx.waker();
        let clone = (!is_task(waker)).then(|| waker.clone());
        Self { waker, clone }
    }

    /// The waker, to be kept; a poll keeps one at most.
    pub(crate) fn keep(&mut self) -> Waker {
        self.clone.take().unwrap_or_else(|| self.waker.clone())
    }
}

impl Drop for PollWaker<'_> {
    /// A clone that was not needed.
    #[inline]
    fn drop(&mut self) {
        job::discard(self.clone.take());
    }
}

/// Whether a waker is that of a task of this library: no code of the user runs when it is cloned. In a model all are.
#[cfg(not(loom))]
pub(crate) fn is_task(waker: &Waker) -> bool {
    crate::task::task_of(waker).is_some()
}

#[cfg(all(test, loom))]
pub(crate) fn is_task(_waker: &Waker) -> bool {
    true
}
