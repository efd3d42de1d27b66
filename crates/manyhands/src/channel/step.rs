//! What a step of a channel takes and returns: a send in progress, the outcomes of the fast paths, and the wakes that are
//! deferred until the lock is released.
//!
//! Not here: the steps themselves (`state.rs`).

use crate::channel::WaiterKey;
use crate::job::{self, Payload};
use std::task::Waker;

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
