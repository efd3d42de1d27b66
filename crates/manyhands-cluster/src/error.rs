//! Why a call has no result.

use crate::wire::{FRAME_BYTES_MAX, Failure};
use std::{error::Error, fmt, ops::Range, time::Duration};

/// Why a call has no result.
///
/// # Examples
/// ```
/// use manyhands_cluster::{Cluster, ClusterError, remote};
/// # std::panic::set_hook(Box::new(|_| ()));
///
/// let cluster = Cluster::local();
/// let failed = cluster.map(0..10, remote!([] |i| -> u64 { if i == 3 { panic!("three") } else { i } }));
/// let Err(ClusterError::BodyPanicked { range, message, .. }) = failed else { panic!() };
/// assert_eq!((range, message.as_str()), (3..4, "three"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClusterError {
    /// The variables, or what the caller asks for, make no cluster.
    Configuration {
        /// What is wrong.
        reason: String,
    },
    /// The engine does not begin: a worker process does not start, or the NATS server does not answer.
    Start {
        /// What the system says.
        reason: String,
    },
    /// The NATS server does not accept the key, or wants one; or the name in this program's certificate is none of its users.
    KeyRefused {
        /// The server: host and port.
        address: String,
        /// What it says.
        reason: String,
    },
    /// There is no encryption with the NATS server: its certificate is not trusted, is for another name, or is too old.
    NotEncrypted {
        /// The server: host and port.
        address: String,
        /// What is wrong.
        reason: String,
    },
    /// The NATS server wants a certificate of this program's own, or does not trust the one it was shown.
    CertificateRefused {
        /// The server: host and port.
        address: String,
        /// What it says.
        reason: String,
    },
    /// Two functions of the program have the same name: a macro of the program made both, so they stand at one place.
    DuplicateFunction {
        /// Module, line and column.
        id: String,
    },
    /// No worker of this build was there for too long.
    NoWorkers {
        /// The driver's build.
        build: String,
        /// How long it waited for one.
        waited: Duration,
        /// How many workers of other builds were refused.
        refused: u32,
    },
    /// A body panicked. It is not tried again.
    BodyPanicked {
        /// The index of the item; more than one where it is not known which.
        range: Range<u64>,
        /// What it panicked with.
        message: String,
        /// Where it ran: host and process.
        host: String,
    },
    /// Workers died again and again while they ran this chunk: see [`Options::deaths`](crate::Options::deaths).
    ChunkLost {
        /// The chunk's items.
        range: Range<u64>,
        /// How many workers died.
        deaths: u32,
    },
    /// The call was cancelled.
    Cancelled,
    /// The call took longer than it was allowed to.
    DeadlinePassed,
    /// Captured values or results cannot be written as bytes.
    Encode {
        /// What the format says, or what their own code panicked with.
        reason: String,
    },
    /// Captured values or results were not read as what they were written as.
    Decode {
        /// What the format says, or what their own code panicked with.
        reason: String,
        /// The other process.
        host: String,
    },
    /// Captured values, or the results of a chunk, are more than a message holds.
    TooLarge {
        /// Their bytes.
        bytes: u64,
    },
    /// The worker has no such function, although its build is the driver's.
    UnknownFunction {
        /// Module, line and column.
        id: String,
        /// The worker.
        host: String,
    },
    /// The cluster has ended.
    Ended,
}

impl ClusterError {
    /// What a worker said of a chunk, and where.
    pub(crate) fn of_failure(failure: Failure, host: &str) -> Self {
        let host = host.to_owned();
        match failure {
            Failure::Panicked { range, message } => Self::BodyPanicked {
                range,
                message,
                host,
            },
            Failure::UnknownFunction { id } => Self::UnknownFunction { id, host },
            Failure::Captures { reason } => Self::Decode { reason, host },
            Failure::Results { reason } => Self::Encode { reason },
            Failure::TooLarge { bytes } => Self::TooLarge { bytes },
        }
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configuration { reason } => formatter.write_str(reason),
            Self::Start { reason } => write!(formatter, "the cluster does not begin: {reason}"),
            Self::KeyRefused { address, reason } => {
                write!(
                    formatter,
                    "the server at {address} refuses the key: {reason}"
                )
            }
            Self::NotEncrypted { address, reason } => {
                write!(
                    formatter,
                    "no encryption with the server at {address}: {reason}"
                )
            }
            Self::CertificateRefused { address, reason } => {
                write!(
                    formatter,
                    "the server at {address} wants a certificate of this program's own that it trusts: {reason}"
                )
            }
            Self::DuplicateFunction { id } => {
                write!(formatter, "two remote functions, of one macro, are at {id}")
            }
            Self::NoWorkers {
                build,
                waited,
                refused,
            } => {
                write!(
                    formatter,
                    "no worker of build {build} was heard of for {waited:.1?}, and {refused} of other builds were refused: \
                     start workers of this program, or have more `patience`"
                )
            }
            Self::BodyPanicked {
                range,
                message,
                host,
            } => {
                let Range { start, end } = range;
                write!(
                    formatter,
                    "the body for {start}..{end} panicked on {host}: {message}"
                )
            }
            Self::ChunkLost { range, deaths } => {
                let Range { start, end } = range;
                write!(
                    formatter,
                    "{deaths} workers died while they ran {start}..{end}, which may be what ends them"
                )
            }
            Self::Cancelled => formatter.write_str("cancelled"),
            Self::DeadlinePassed => formatter.write_str("the deadline has passed"),
            Self::Encode { reason } => write!(formatter, "cannot write a value: {reason}"),
            Self::Decode { reason, host } => {
                write!(formatter, "cannot read a value, {host}: {reason}")
            }
            Self::TooLarge { bytes } => write!(
                formatter,
                "{bytes} bytes in one message, and {FRAME_BYTES_MAX} are the most: capture less, or return less of each chunk"
            ),
            Self::UnknownFunction { id, host } => {
                write!(formatter, "no remote function at {id} on {host}")
            }
            Self::Ended => formatter.write_str("the cluster has ended"),
        }
    }
}

impl Error for ClusterError {}
