//! What a step of a channel is given and what becomes of it: a send on its way, the outcomes of the fast paths,
//! and the wakes that follow once the lock is released.
//!
//! Not here: the steps themselves (`state.rs`).

use crate::channel::wait_list::WaiterKey;
use crate::job;
use std::task::Waker;

/// What is owed after a step, to be paid where no lock is held.
#[derive(Debug)]
pub(super) struct DeferredWakes<T> {
    pub(super) wake: Option<Waker>,
    pub(super) wake_too: Vec<Waker>,
    /// A waker that nobody needs; dropping it may drop a task, and with it an end of this channel.
    pub(super) stale: Option<Waker>,
    /// An item that fell out of the full channel.
    pub(super) dropped: Option<T>,
}

/// What became of a quiet offer.
#[derive(Debug)]
pub(super) enum Offered<T> {
    In,
    /// There is no room, and nobody to tell.
    Full(T),
    /// It takes a whole step.
    NeedsSlowPath(T),
}

/// What became of a quiet look for an item.
#[derive(Debug)]
pub(super) enum Taken<T> {
    Item(T),
    /// There is none yet, and nobody to tell.
    Empty,
    /// It takes a whole step.
    NeedsSlowPath,
}

/// A send on its way.
#[derive(Debug)]
pub(super) struct Sending<T> {
    /// The item, until it is sent or left at the place.
    pub(super) item: Option<T>,
    pub(super) key: Option<WaiterKey>,
}

/// For what one may wait without sending or receiving.
#[derive(Debug, Clone, Copy)]
pub(super) enum Until {
    Closed,
    Drained,
}

impl<T> Sending<T> {
    /// Nothing to be sent.
    pub(super) const fn none() -> Self {
        Self {
            item: None,
            key: None,
        }
    }

    /// Whether something has not been sent yet.
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
        }
    }

    /// Whether an item has fallen out.
    pub(super) fn has_dropped(&self) -> bool {
        self.dropped.is_some()
    }

    pub(super) fn wake_later(&mut self, waker: Waker) {
        match &mut self.wake {
            none @ None => *none = Some(waker),
            Some(_) => self.wake_too.push(waker),
        }
    }

    /// Pays; the item that fell out goes to `on_drop`.
    #[inline]
    pub(super) fn pay(self, on_drop: impl FnOnce(T)) {
        self.wake.into_iter().for_each(job::wake);
        self.wake_too.into_iter().for_each(job::wake);
        job::discard(self.stale);
        if let Some(item) = self.dropped {
            on_drop(item);
        }
    }
}
