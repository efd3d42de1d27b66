//! The state of the channel between two operations: plain data, to be kept under a lock.

use crate::channel::{HasSubscribers, RecvError, Subscribers};
use crate::sync::thread::ThreadId;
use std::sync::Arc;

/// The value and those waiting for the next one.
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

    /// The value, which counts as seen by the receiver that has seen the version `seen`.
    pub(super) fn see(&self, seen: &mut u64) -> Arc<T> {
        *seen = self.version;
        Arc::clone(&self.value)
    }
}

/// The position of a receiver is the version that it has seen.
impl<T> HasSubscribers for State<T> {
    type Item = T;
    type Error = RecvError;

    fn subscribers(&mut self) -> &mut Subscribers {
        &mut self.subscribers
    }

    fn next(&mut self, seen: &mut u64) -> Option<Result<Arc<T>, RecvError>> {
        if *seen != self.version {
            return Some(Ok(self.see(seen)));
        }
        self.subscribers.closed.clone().map(Err)
    }

    fn end(&self) -> u64 {
        self.version
    }
}
