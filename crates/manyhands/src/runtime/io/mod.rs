//! What else a thread is inside of while it is inside a runtime, and a worker that polls the sockets' driver.
//!
//! Not here: the driver itself (`integrations`).

pub(crate) mod poller;
pub(crate) mod tokio_context;
