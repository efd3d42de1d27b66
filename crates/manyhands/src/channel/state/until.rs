//! Those who wait for something of a channel and neither send nor receive.

use crate::channel::error::CloseReason;
use crate::channel::state::State;
use crate::channel::step::{DeferredWakes, Until};
use crate::channel::wait_list::{WaitList, WaiterKey};
use std::task::{Poll, Waker};

impl<T> State<T> {
    /// One attempt of a waiter for the close or the drain.
    pub(in crate::channel) fn poll_until(
        &mut self,
        until: Until,
        waiter: &mut Option<WaiterKey>,
        waker: &Waker,
        deferred: &mut DeferredWakes<T>,
    ) -> Poll<Result<(), CloseReason>> {
        let is_over = match until {
            Until::Closed => true,
            Until::Drained => self.len() == 0,
        };
        match &self.closed {
            Some(closed) if is_over => {
                let result = closed.reason().cloned().map_or(Ok(()), Err);
                self.leave_until(until, waiter, deferred);
                Poll::Ready(result)
            }
            _ => {
                deferred.stale = self.list_of(until).wait(waiter, waker);
                Poll::Pending
            }
        }
    }

    /// Removes a waiter for the close or the drain.
    pub(in crate::channel) fn leave_until(
        &mut self,
        until: Until,
        waiter: &mut Option<WaiterKey>,
        deferred: &mut DeferredWakes<T>,
    ) {
        deferred.stale = self.list_of(until).give_up(waiter);
    }

    fn list_of(&mut self, until: Until) -> &mut WaitList<()> {
        match until {
            Until::Closed => &mut self.until_closed,
            Until::Drained => &mut self.until_drained,
        }
    }
}
