//! The tokio context around a thread, and the worker that polls the I/O driver.
//!
//! Not here: the driver itself (`integrations`).

pub(crate) mod poller;
pub(crate) mod tokio_context;
