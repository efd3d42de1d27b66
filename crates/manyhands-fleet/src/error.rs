//! What can go wrong in the fleet.

use manyhands_lab::LabError;
use std::{error::Error, fmt, io, path::PathBuf};

/// Why a command of the fleet ends, or why one of its steps has to be tried again.
#[derive(Debug)]
#[non_exhaustive]
pub enum FleetError {
    /// The engine does not answer, or refuses.
    Engine {
        /// What was tried, as a verb with its object: "take a job".
        operation: &'static str,
        /// What it said.
        reason: String,
    },
    /// No program `nats-server` was found.
    NoNatsServer,
    /// `nats-server` did not come up.
    NatsServer {
        /// Why not, as a clause.
        reason: String,
    },
    /// The address is outside this machine, and credentials or encryption are missing.
    Unprotected {
        /// The address.
        address: String,
    },
    /// A plan makes no sense.
    Plan {
        /// Why, in one line.
        reason: String,
    },
    /// This agent cannot do a job; another may.
    Unable {
        /// Why, in one line.
        reason: String,
    },
    /// Another agent of this machine is at work.
    Waits {
        /// The file that it holds.
        lock: PathBuf,
    },
    /// A folder holds something that this program would not replace.
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// All plans are over, and not all of their jobs are done.
    NotDone {
        /// Jobs that failed.
        jobs: u64,
    },
    /// A table of prices makes no sense, or lacks a machine.
    Prices {
        /// Why, in one line.
        reason: String,
    },
    /// A plan may cost more than is allowed.
    TooDear {
        /// Dollars that it may cost.
        usd: f64,
        /// Dollars that are allowed.
        usd_max: f64,
    },
    /// This machine is not fit to measure.
    Unfit {
        /// The number of things that are wrong.
        wrong: usize,
    },
    /// This program's own mistake ended a part of it.
    Panicked {
        /// The part.
        part: &'static str,
        /// What it said.
        message: String,
    },
    /// The machine could not be switched off.
    PowerOff {
        /// Why not, in one line.
        reason: String,
    },
    /// The page cannot be served.
    Page {
        /// Where it should be.
        address: std::net::SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// There is no such plan, or there are several to choose from.
    UnknownPlan {
        /// What was asked for.
        plan: String,
    },
    /// Arguments make no sense.
    Arguments {
        /// Which, in one line.
        reason: String,
    },
    /// Another process uses the folder.
    FolderInUse {
        /// The folder.
        path: PathBuf,
    },
    /// A file could not be used.
    File {
        /// What was tried, as a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A message or file is not what this version writes.
    Format {
        /// What it is.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The database failed.
    Database(rusqlite::Error),
    /// The laboratory failed.
    Lab(LabError),
    /// The terminal or pipe that reads what is printed is gone or broken.
    Output(io::Error),
}

impl FleetError {
    /// Wraps whatever an engine reports; meant for `map_err`.
    pub(crate) fn engine<E: fmt::Display>(operation: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Engine {
            operation,
            reason: error.to_string(),
        }
    }

    /// Wraps a failed file operation; meant for `map_err`.
    pub(crate) fn file(
        operation: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            operation,
            path,
            source,
        }
    }

    /// Wraps what a parser reports; meant for `map_err`.
    pub(crate) fn format<E: fmt::Display>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Format {
            what,
            reason: error.to_string(),
        }
    }
}

impl fmt::Display for FleetError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine { operation, reason } => write!(formatter, "cannot {operation}: {reason}"),
            Self::NoNatsServer => formatter.write_str(
                "no program 'nats-server' was found: install Debian's package nats-server or run 'go install \
                 github.com/nats-io/nats-server/v2@latest', or name the program with --nats-server",
            ),
            Self::NatsServer { reason } => write!(formatter, "nats-server cannot be used: {reason}"),
            Self::Unprotected { address } => write!(
                formatter,
                "'{address}' is not on this machine: it needs an address that begins with tls:// and a key (--nkey, --credentials or --client-certificate)"
            ),
            Self::Plan { reason } => write!(formatter, "the plan makes no sense: {reason}"),
            Self::Waits { lock } => write!(
                formatter,
                "this agent waits for another one of this machine, which holds '{}'",
                lock.display()
            ),
            Self::Occupied { path } => write!(
                formatter,
                "'{}' is neither empty nor an earlier export of this user's; choose another folder with --out",
                path.display()
            ),
            Self::NotDone { jobs } => write!(formatter, "{jobs} jobs failed; see above"),
            Self::Prices { reason } => write!(formatter, "the table of prices: {reason}"),
            Self::TooDear { usd, usd_max } => write!(
                formatter,
                "the plan may cost {usd:.2} USD, and {usd_max:.2} USD are allowed"
            ),
            Self::Unfit { wrong } => write!(
                formatter,
                "this machine should not be paid for as it is: {wrong} of the above must be mended first"
            ),
            Self::Panicked { part, message } => write!(
                formatter,
                "{part} came upon a mistake of this program, and all of it ends: {message}"
            ),
            Self::PowerOff { reason } => {
                write!(formatter, "the machine cannot be switched off: {reason}")
            }
            Self::Page { address, error } => {
                write!(formatter, "the page cannot be served at {address}: {error}")
            }
            Self::UnknownPlan { plan } => write!(
                formatter,
                "there is no plan '{plan}'; 'manyhands fleet watch --once' lists them"
            ),
            Self::Arguments { reason } | Self::Unable { reason } => formatter.write_str(reason),
            Self::FolderInUse { path } => write!(
                formatter,
                "another process uses '{}': end it, or give this one another name or folder",
                path.display()
            ),
            Self::File {
                operation,
                path,
                source,
            } => write!(formatter, "cannot {operation} '{}': {source}", path.display()),
            Self::Format { what, reason } => write!(formatter, "{what} cannot be read: {reason}"),
            Self::Database(error) => write!(formatter, "the database failed: {error}"),
            Self::Lab(error) => error.fmt(formatter),
            Self::Output(error) => write!(formatter, "cannot write the output: {error}"),
        }
    }
}

impl Error for FleetError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File { source, .. } | Self::Output(source) => Some(source),
            Self::Database(error) => Some(error),
            Self::Lab(error) => error.source(),
            _ => None,
        }
    }
}

impl From<rusqlite::Error> for FleetError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<LabError> for FleetError {
    fn from(error: LabError) -> Self {
        Self::Lab(error)
    }
}
