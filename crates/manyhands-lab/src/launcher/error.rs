//! Why a process did not do what it was asked.

use std::{io, time::Duration};

/// A process that could not measure. The run goes on without the point it was to measure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChildError {
    /// It could not be started.
    #[error("cannot start a process: {0}")]
    Start(#[source] io::Error),
    /// It ended before it answered.
    #[error("the process ended: {status}")]
    Ended {
        /// How, as the system says it.
        status: String,
    },
    /// It took longer than it may.
    #[error("the process did not answer within {deadline:?}")]
    Hung {
        /// How long it was waited for.
        deadline: Duration,
    },
    /// It answered something that is no answer.
    #[error("the process said something that is no answer: {said:?}")]
    Nonsense {
        /// What it said, cut to one line.
        said: String,
    },
    /// It says that it cannot.
    #[error("{message}")]
    Failed {
        /// Why.
        message: String,
    },
}
