//! The state of the channel between two operations: plain data, to be kept under a lock.

use crate::channel::RecvError;
use crate::channel::subscribers::{HasSubscribers, Subscribers, TakenWakers};
use crate::channel::wait_list::WaiterKey;
use crate::sync::thread::ThreadId;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// The value and those waiting for the next one.
#[derive(Debug)]
pub(in crate::channel) struct State<T> {
    pub(super) value: Arc<T>,
    pub(super) version: u64,
    pub(super) subscribers: Subscribers,
    /// Where closures run that modify the value.
    pub(super) modifying: Vec<ThreadId>,
}

impl<T> State<T> {
    pub(super) fn new(initial: T) -> Self {
        Self {
            value: Arc::new(initial),
            version: 0,
            subscribers: Subscribers::new(),
            modifying: Vec::new(),
        }
    }

    /// One attempt of a receiver that has seen the version `seen`.
    pub(super) fn poll(
        &mut self,
        seen: &mut u64,
        waiter: &mut Option<WaiterKey>,
        waker: &Waker,
    ) -> (Poll<Result<Arc<T>, RecvError>>, TakenWakers) {
        let result = if *seen != self.version {
            *seen = self.version;
            Ok(Arc::clone(&self.value))
        } else if let Some(closed) = self.subscribers.closed() {
            Err(closed.clone())
        } else {
            return (Poll::Pending, self.subscribers.wait(waiter, waker));
        };
        (Poll::Ready(result), self.subscribers.leave(waiter))
    }
}

impl<T> HasSubscribers for State<T> {
    fn subscribers(&mut self) -> &mut Subscribers {
        &mut self.subscribers
    }
}
