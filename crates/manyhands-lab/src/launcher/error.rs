//! Why a process did not do what it was asked.

use std::{error::Error, fmt, io, time::Duration};

/// A process that could not measure. The run goes on without the point it was to measure.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChildError {
    /// It could not be started.
    Start(io::Error),
    /// It ended before it answered.
    Ended {
        /// How, as the system says it.
        status: String,
    },
    /// It took longer than it may.
    Hung {
        /// How long it was waited for.
        deadline: Duration,
    },
    /// It answered something that is no answer.
    Nonsense {
        /// What it said, cut to one line.
        said: String,
    },
    /// It says that it cannot.
    Failed {
        /// Why.
        message: String,
    },
}

impl fmt::Display for ChildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(source) => write!(formatter, "cannot start a process: {source}"),
            Self::Ended { status } => write!(formatter, "the process ended: {status}"),
            Self::Hung { deadline } => {
                write!(formatter, "the process did not answer within {deadline:?}")
            }
            Self::Nonsense { said } => {
                write!(
                    formatter,
                    "the process said something that is no answer: {said:?}"
                )
            }
            Self::Failed { message } => formatter.write_str(message),
        }
    }
}

impl Error for ChildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Start(source) => Some(source),
            _ => None,
        }
    }
}
