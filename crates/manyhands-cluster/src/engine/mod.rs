//! The engines: what carries the driver's messages to workers and back.

#[cfg(any(unix, feature = "nats"))]
pub(crate) mod hub;
pub(crate) mod loopback;
#[cfg(feature = "nats")]
pub(crate) mod nats;
#[cfg(unix)]
pub(crate) mod processes;

use crate::{
    ClusterError,
    driver::{Part, WorkerId},
    wire::ToWorker,
};

/// What takes messages to workers. What they say comes to the hub's channel.
#[cfg(any(unix, feature = "nats"))]
pub(crate) trait Carrier: Send + 'static {
    /// Sends messages, all in one where there is room; they may be lost.
    fn send(&mut self, worker: WorkerId, messages: Vec<ToWorker>);

    /// Sends a message to several workers. An engine that can send it once to all of them does.
    fn send_all(&mut self, workers: &[WorkerId], message: ToWorker) {
        for worker in workers {
            self.send(*worker, vec![message.clone()]);
        }
    }

    /// The worker's connection has ended; `was_known` says whether it ever had one that worked.
    fn left(&mut self, worker: WorkerId, was_known: bool);

    /// The driver knows no worker of this number any more. An engine that made it up for a name forgets both.
    fn forget(&mut self, _: WorkerId) {}

    /// There will be no more messages.
    fn end(&mut self);
}

/// What a call hears while it runs.
#[derive(Debug)]
pub(crate) enum Update {
    Part(Part),
    /// The last one.
    End(Result<(), ClusterError>),
}
