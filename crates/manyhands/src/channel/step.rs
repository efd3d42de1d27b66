//! What a step of a channel takes and returns: a send in progress, the waker of an attempt, the outcomes of the fast paths,
//! and the wakes that are deferred until the lock is released.
//!
//! Not here: the steps themselves (`state.rs`).

use crate::channel::WaiterKey;
use crate::job::{self, Payload};
use std::mem;
use std::task::{Context, Waker};

/// What a step leaves to do once no lock is held.
pub(super) struct DeferredWakes<T> {
    pub(super) wake: Option<Waker>,
    pub(super) wake_too: Vec<Waker>,
    /// A waker that is not needed any more; dropping it may drop a task, and with it an end of this channel.
    pub(super) stale: Option<Waker>,
    /// An item that fell out of the full channel.
    pub(super) dropped: Option<T>,
    /// Of a comparison. It goes on once all that was done is made known.
    pub(super) panic: Option<Payload>,
}

/// The outcome of a send's fast path.
pub(super) enum Offered<T> {
    In,
    /// There is no room, and nobody has to be notified.
    Full(T),
    /// A full step is needed.
    NeedsSlowPath(T),
}

/// The outcome of a receive's fast path.
pub(super) enum Taken<T> {
    Item(T),
    /// There is no item yet, and nobody has to be notified.
    Empty,
    /// A full step is needed.
    NeedsSlowPath,
}

/// A send in progress.
pub(super) struct Sending<T> {
    /// The item, until it is sent or left in a wait-list entry.
    pub(super) item: Option<T>,
    pub(super) key: Option<WaiterKey>,
}

/// One attempt of what may have to wait, with its waker.
///
/// Attempts are made under a lock, and the clone of a waker may run code of the user. So an attempt that has to keep its waker,
/// and has no clone of it, changes nothing. The clone is made while no lock is held, and then the attempt is made again.
/// The clone of a task's waker is only a count, and is made under the lock.
pub(super) struct Attempt<'a> {
    pub(super) waker: &'a Waker,
    clone: Option<Waker>,
    lacks_clone: bool,
}

/// What a caller waits for that neither sends nor receives.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    Closed,
    Drained,
    /// An item can be received, or none will ever come.
    Readable,
    /// An item can be sent without waiting, or none ever.
    Writable,
}

impl<T> Sending<T> {
    /// Of this item. It is an option because callers that have tried before have it in one.
    pub(super) const fn new(item: Option<T>) -> Self {
        Self { item, key: None }
    }

    /// Whether a send is in progress.
    pub(super) fn is_some(&self) -> bool {
        self.item.is_some() || self.key.is_some()
    }
}

impl<'a> Attempt<'a> {
    /// Makes an attempt, and makes it again if it has lacked a clone of its waker. `make` returns without a lock.
    pub(super) fn make<R>(cx: &Context<'a>, mut make: impl FnMut(&mut Self) -> R) -> R {
        let mut attempt = Self {
            waker: cx.waker(),
            clone: None,
            lacks_clone: false,
        };
        let made = make(&mut attempt);
        if !mem::take(&mut attempt.lacks_clone) {
            return made;
        }
        attempt.clone = Some(attempt.waker.clone());
        make(&mut attempt)
    }

    /// The waker, to be kept. If there is none, this attempt ends as if it had not been made.
    pub(super) fn keep_waker(&mut self) -> Option<Waker> {
        // In a model no waker is the user's, and each further step under a lock multiplies what there is to explore.
        let is_own = is_task(self.waker);
        let own = || is_own.then(|| self.waker.clone());
        let waker = self.clone.take().or_else(own);
        self.lacks_clone = waker.is_none();
        waker
    }
}

impl Drop for Attempt<'_> {
    /// A clone that was not needed; also where an attempt has panicked.
    #[inline]
    fn drop(&mut self) {
        job::discard(self.clone.take());
    }
}

impl<T> DeferredWakes<T> {
    pub(super) const fn none() -> Self {
        Self {
            wake: None,
            wake_too: Vec::new(),
            stale: None,
            dropped: None,
            panic: None,
        }
    }

    pub(super) fn wake_later(&mut self, waker: Waker) {
        match &mut self.wake {
            none @ None => *none = Some(waker),
            Some(_) => self.wake_too.push(waker),
        }
    }

    /// Wakes and drops; passes the item that fell out to `on_drop`; resumes the panic.
    #[inline]
    pub(super) fn run(self, on_drop: impl FnOnce(T)) {
        self.wake.into_iter().for_each(job::wake);
        self.wake_too.into_iter().for_each(job::wake);
        job::discard(self.stale);
        let Some(panic) = self.panic else {
            return self.dropped.map_or((), on_drop);
        };
        // Neither hides the other.
        let other = self
            .dropped
            .and_then(|item| job::catch(|| on_drop(item)).err());
        job::resume_all([panic].into_iter().chain(other).collect());
    }
}

/// Whether a waker is that of a task of this library: no code of the user runs when it is cloned. In a model all are.
#[cfg(not(loom))]
pub(super) fn is_task(waker: &Waker) -> bool {
    crate::task::task_of(waker).is_some()
}

#[cfg(loom)]
pub(super) fn is_task(_waker: &Waker) -> bool {
    true
}
