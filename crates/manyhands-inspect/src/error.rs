//! What can go wrong between this program and the one that is looked at.

use std::path::PathBuf;
use std::{fmt, io};

/// Why there is no view.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Nobody listens there.
    NotListening {
        /// The path of the socket.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// None was named, and there is not exactly one program: the numbers of their processes.
    NotOne(Vec<u32>),
    /// Another user could have put a false program there: why.
    NotTrusted(String),
    /// The connection broke, or nothing came in time.
    Connection(io::Error),
    /// The page cannot be served: the port is taken, for instance.
    Page {
        /// The port of this machine; 0 for any that is free.
        port: u16,
        /// What the system says.
        cause: io::Error,
    },
    /// The terminal cannot be used.
    Terminal(io::Error),
    /// The program refuses, with its reason.
    Refused(String),
    /// What came is not this protocol, or a version that this crate does not know.
    Protocol(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListening { path, cause } => write!(
                f,
                "no program listens at {} ({cause}): start it with MANYHANDS_INSPECT=1, with the feature `inspect` \
                 compiled in, or let it call `diagnostics::serve`",
                path.display()
            ),
            Self::NotOne(none) if none.is_empty() => f.write_str(
                "no program of this user listens: start it with MANYHANDS_INSPECT=1, with the feature `inspect` \
                 compiled in, or let it call `diagnostics::serve`",
            ),
            Self::NotOne(processes) => {
                let numbers: Vec<String> = processes.iter().map(u32::to_string).collect();
                write!(f, "several programs listen; name one of the processes {}", numbers.join(", "))
            }
            Self::NotTrusted(reason) => write!(f, "it may be a false program: {reason}"),
            Self::Connection(cause) => write!(f, "the connection to the program broke: {cause}"),
            Self::Page { port, cause } => write!(
                f,
                "the page cannot be served on port {port}: {cause}; port 0 is any that is free"
            ),
            Self::Terminal(cause) => write!(f, "the terminal cannot be used: {cause}"),
            Self::Refused(reason) => write!(f, "the program refuses: {reason}"),
            Self::Protocol(reason) => {
                write!(f, "the program does not speak this protocol: {reason}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotListening { cause, .. }
            | Self::Connection(cause)
            | Self::Page { cause, .. }
            | Self::Terminal(cause) => Some(cause),
            Self::NotOne(_) | Self::NotTrusted(_) | Self::Refused(_) | Self::Protocol(_) => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(cause: io::Error) -> Self {
        Self::Connection(cause)
    }
}
