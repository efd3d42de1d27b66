//! What receiving from a broadcast channel can fail with.

use crate::channel::RecvError as Closed;
use std::error::Error;
use std::fmt;

/// The next item was not received.
///
/// Example: see [the module](mod@crate::channel::broadcast).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecvError {
    /// This receiver lagged and lost this number of items. The next receive returns the oldest item that is left.
    Lagged(u64),
    /// The channel is closed, and this receiver has received every item.
    Closed(Closed),
}

/// The next item was not received without waiting, or within a time.
///
/// # Examples
/// ```
/// use manyhands::channel::{self, broadcast::TryRecvError};
/// let (sender, mut receiver) = channel::broadcast(1);
/// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
/// sender.send("first")?;
/// sender.send("second")?;
/// sender.close();
/// assert_eq!(receiver.try_recv(), Err(TryRecvError::Lagged(1)));
/// assert_eq!(receiver.try_recv(), Ok("second"));
/// assert!(matches!(receiver.try_recv(), Err(TryRecvError::Closed(_))));
/// # Ok::<(), channel::SendError<&str>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryRecvError {
    /// There is none now, or none came in time.
    Empty,
    /// As [`RecvError::Lagged`].
    Lagged(u64),
    /// As [`RecvError::Closed`].
    Closed(Closed),
}

impl From<RecvError> for TryRecvError {
    fn from(error: RecvError) -> Self {
        match error {
            RecvError::Lagged(lost) => Self::Lagged(lost),
            RecvError::Closed(closed) => Self::Closed(closed),
        }
    }
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lagged(lost) => {
                write!(f, "receiver was too far behind: {lost} items are lost")
            }
            Self::Closed(closed) => closed.fmt(f),
        }
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("receiving on an empty channel"),
            Self::Lagged(lost) => RecvError::Lagged(*lost).fmt(f),
            Self::Closed(closed) => closed.fmt(f),
        }
    }
}

impl Error for RecvError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Closed(closed) => closed.source(),
            Self::Lagged(_) => None,
        }
    }
}

impl Error for TryRecvError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Closed(closed) => closed.source(),
            Self::Empty | Self::Lagged(_) => None,
        }
    }
}
