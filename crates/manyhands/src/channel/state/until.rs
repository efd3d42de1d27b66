//! Waiters for something of a channel that neither send nor receive: its close or its drain, an item, room.
//!
//! All of them are notified together, and take nothing from anybody (C9).

use crate::channel::state::{FastSend, State};
use crate::channel::{CloseReason, DeferredWakes, PollWaker, Until, WaitList, WaiterKey, WhenFull};
use std::task::Poll;

impl<T> State<T> {
    /// One attempt of a waiter that neither sends nor receives; ready when what it waits for has come.
    pub(in crate::channel) fn poll_until(
        &mut self,
        until: Until,
        waiter: &mut Option<WaiterKey>,
        by: &mut PollWaker<'_>,
        deferred: &mut DeferredWakes<T>,
    ) -> Poll<()> {
        if self.has_come(until) || self.was_notified(until, waiter.as_ref()) {
            deferred.stale = self.list_of(until).give_up(waiter);
            return Poll::Ready(());
        }
        self.is_watched |= matches!(until, Until::Readable | Until::Writable);
        deferred.stale = self.list_of(until).wait(waiter, by);
        Poll::Pending
    }

    fn has_come(&self, until: Until) -> bool {
        match until {
            Until::Closed => self.closed.is_some(),
            Until::Drained => self.closed.is_some() && self.len() == 0,
            Until::Readable => self.closed.is_some() || self.len() > 0,
            Until::Writable => self.closed.is_some() || self.is_writable(),
        }
    }

    /// Whether it was notified of an item or of room, which others may have taken since. It waits no longer, as there may
    /// always be others that are faster.
    fn was_notified(&mut self, until: Until, waiter: Option<&WaiterKey>) -> bool {
        matches!(until, Until::Readable | Until::Writable)
            && waiter.is_some_and(|key| self.list_of(until).is_notified(key))
    }

    /// Whether a send into the open channel would not wait.
    fn is_writable(&self) -> bool {
        self.when_full != WhenFull::Wait || self.has_room()
    }

    /// The reason of the close as an error, if there is one.
    pub(in crate::channel) fn end(&self) -> Result<(), CloseReason> {
        let reason = self.closed.as_ref().and_then(|closed| closed.reason());
        reason.cloned().map_or(Ok(()), Err)
    }

    /// Whether there may ever be room again.
    pub(in crate::channel) fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    /// Whether there is an item, or may ever be one again.
    pub(in crate::channel) fn may_give(&self) -> bool {
        self.is_open() || self.len() > 0
    }

    /// Those that wait for this.
    pub(in crate::channel) fn list_of(&mut self, until: Until) -> &mut WaitList<()> {
        &mut self.until[until as usize]
    }

    /// Notifies all that wait for an item if there is one, and all that wait for room if there is room (C9). Those that
    /// go on waiting keep sends, or receives, from the fast paths.
    #[cold]
    pub(super) fn settle_watched(&mut self, deferred: &mut DeferredWakes<T>) {
        for until in [Until::Readable, Until::Writable] {
            if self.has_come(until) {
                self.list_of(until).notify_all(&mut deferred.wake_too);
            }
        }
        let for_items = self.list_of(Until::Readable).waiting() > 0;
        let for_room = self.list_of(Until::Writable).waiting() > 0;
        if for_items {
            self.fast_send = FastSend::None;
        }
        if for_room {
            self.fast_recv_above = usize::MAX;
        }
        self.is_watched = for_items || for_room;
    }
}
