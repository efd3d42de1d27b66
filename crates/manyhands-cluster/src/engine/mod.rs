//! The engines: what carries the driver's messages to workers and back.

#[cfg(unix)]
pub(crate) mod hub;
pub(crate) mod loopback;
#[cfg(unix)]
pub(crate) mod processes;

use crate::{ClusterError, driver::Part};

/// What a call hears while it runs.
#[derive(Debug)]
pub(crate) enum Update {
    Part(Part),
    /// The last one.
    End(Result<(), ClusterError>),
}
