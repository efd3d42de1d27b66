//! What a receiver gets next: what all kinds have in common, and the future's operation of broadcast and watch channels.
//!
//! Not here: the future (`future.rs`), the stream (`stream.rs`), and the wait for a certain value (`watch/wait_for.rs`).

use crate::channel::{End, Operation, WaiterKey};
use crate::task::budget::Permit;
use std::task::{Context, Poll};

/// An end that receives.
pub(crate) trait Receives: End {
    /// What it gets, or why it gets nothing.
    type Received;

    /// One attempt.
    fn poll_next(
        &mut self,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
    ) -> Poll<Self::Received>;

    /// Charges the task's budget for what was received.
    fn charge(permit: Permit) {
        permit.charge();
    }

    /// Gives a wait up.
    fn leave(&self, waiter: &mut Option<WaiterKey>);
}

/// Waits for what comes next, and makes of it what the caller gets.
pub(super) struct Next<F> {
    waiter: Option<WaiterKey>,
    finish: F,
}

impl<F> Next<F> {
    pub(super) fn new(finish: F) -> Self {
        Self {
            waiter: None,
            finish,
        }
    }
}

impl<E: Receives, F: Fn(E::Received) -> R, R> Operation<&mut E> for Next<F> {
    type Output = R;

    fn poll(&mut self, end: &mut &mut E, cx: &Context<'_>) -> Poll<R> {
        end.poll_next(&mut self.waiter, cx).map(&self.finish)
    }

    fn cancel(&mut self, end: &mut &mut E) {
        end.leave(&mut self.waiter);
    }
}
