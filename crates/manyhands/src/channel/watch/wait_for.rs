//! The wait for a value that is wanted.
//!
//! Not here: the future (`channel/future.rs`), and the wait for the next value, whichever (`channel/next.rs`).

use crate::channel::watch::state::State;
use crate::channel::{Operation, ReceiverCore, Receives, RecvError, WaiterKey};
use crate::task::budget::{self, Permit};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Waits until the value is one for which `is_wanted` holds.
pub(super) struct WaitFor<F> {
    is_wanted: F,
    /// Whether the value at the beginning was looked at.
    has_looked: bool,
    waiter: Option<WaiterKey>,
}

impl<F> WaitFor<F> {
    pub(super) fn new(is_wanted: F) -> Self {
        Self {
            is_wanted,
            has_looked: false,
            waiter: None,
        }
    }
}

impl<T, F: FnMut(&T) -> bool> Operation<&mut ReceiverCore<State<T>>> for WaitFor<F> {
    type Output = Result<Arc<T>, RecvError>;

    fn poll(
        &mut self,
        end: &mut &mut ReceiverCore<State<T>>,
        cx: &Context<'_>,
    ) -> Poll<Self::Output> {
        loop {
            let permit = ready!(budget::poll_proceed(cx));
            let received = if self.has_looked {
                ready!(end.poll_next(&mut self.waiter, cx))
            } else {
                self.has_looked = true;
                Ok(end.shared.lock().see(&mut end.position))
            };
            permit.charge();
            if received
                .as_ref()
                .map_or(true, |value| (self.is_wanted)(value))
            {
                return Poll::Ready(received);
            }
        }
    }

    /// Each look was charged for.
    fn charge(_permit: Permit) {}

    fn cancel(&mut self, end: &mut &mut ReceiverCore<State<T>>) {
        end.leave(&mut self.waiter);
    }
}
