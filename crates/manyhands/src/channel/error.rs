//! The errors of sending and receiving. Send errors return the item; receive errors have the reason of the close, if
//! one was given.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The reason given to `close_with`, shared by all ends of the channel.
///
/// # Examples
/// ```
/// use manyhands::channel::{self, CloseReason};
/// let (sender, receiver) = channel::unbounded::<u32>();
/// receiver.close_with("enough");
/// let reason: CloseReason = sender.wait_closed_blocking().unwrap_err();
/// assert_eq!(reason.to_string(), "enough");
/// ```
pub type CloseReason = Arc<dyn Error + Send + Sync>;

/// The channel is closed, and no item is left to receive.
///
/// [`Error::source`] is the reason given to `close_with`, if there was one. Two errors are equal if they have the same
/// reason, by address, or none.
///
/// # Examples
/// ```
/// use std::error::Error;
/// let (sender, receiver) = manyhands::channel::unbounded::<u32>();
/// sender.close_with("the disk is full");
/// let closed = receiver.recv_blocking().unwrap_err();
/// assert_eq!(closed.source().unwrap().to_string(), "the disk is full");
/// ```
#[doc(alias("ChannelClosedException", "Disconnected"))]
#[derive(Debug, Clone, Default)]
pub struct RecvError {
    /// Behind a thin pointer, so that what a receive returns fits into two registers.
    reason: Option<Arc<CloseReason>>,
}

impl RecvError {
    pub(super) fn new(reason: Option<CloseReason>) -> Self {
        let reason = reason.map(Arc::new);
        Self { reason }
    }

    /// The reason given to `close_with`, if there was one.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded::<u32>();
    /// sender.close_with("no more paper");
    /// let closed = receiver.recv_blocking().unwrap_err();
    /// assert_eq!(closed.reason().unwrap().to_string(), "no more paper");
    /// ```
    #[must_use]
    pub fn reason(&self) -> Option<&CloseReason> {
        self.reason.as_deref()
    }
}

impl PartialEq for RecvError {
    fn eq(&self, other: &Self) -> bool {
        let reason = |error: &Self| error.reason.as_ref().map(Arc::as_ptr);
        reason(self) == reason(other)
    }
}

impl Eq for RecvError {}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("receiving on a closed channel")
    }
}

impl Error for RecvError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.reason()
            .map(|reason| &**reason as &(dyn Error + 'static))
    }
}

/// Nothing could be received without waiting, or within a time.
///
/// # Examples
/// ```
/// use manyhands::channel::{self, TryRecvError};
/// let (sender, receiver) = channel::unbounded::<u32>();
/// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
/// drop(sender);
/// assert!(matches!(receiver.try_recv(), Err(TryRecvError::Closed(_))));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryRecvError {
    /// There is no item now, or none came in time.
    Empty,
    /// There is none, and none will come.
    Closed(RecvError),
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("receiving on an empty channel"),
            Self::Closed(closed) => closed.fmt(f),
        }
    }
}

impl Error for TryRecvError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Empty => None,
            Self::Closed(closed) => closed.source(),
        }
    }
}

impl From<RecvError> for TryRecvError {
    fn from(closed: RecvError) -> Self {
        Self::Closed(closed)
    }
}

/// The channel is closed; the error returns the item.
///
/// Example: see [`SendError::into_inner`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl<T> SendError<T> {
    /// The item that was not sent.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// drop(receiver);
    /// assert_eq!(sender.send_blocking("letter").unwrap_err().into_inner(), "letter");
    /// ```
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendError(..)")
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sending on a closed channel")
    }
}

impl<T> Error for SendError<T> {}

/// The item could not be sent without waiting, or within a time; the error returns it.
///
/// # Examples
/// ```
/// use manyhands::channel;
/// let (sender, receiver) = channel::bounded(1);
/// sender.try_send("first").unwrap();
/// let full = sender.try_send("second").unwrap_err();
/// assert!(full.is_full() && !full.is_closed());
/// drop(receiver);
/// let closed = sender.try_send(full.into_inner()).unwrap_err();
/// assert!(closed.is_closed());
/// assert_eq!(closed.into_inner(), "second");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There is no room now, or there was none in time.
    Full(T),
    /// The channel is closed.
    Closed(T),
}

impl<T> TrySendError<T> {
    /// The item that was not sent.
    ///
    /// Example: see [`TrySendError`].
    pub fn into_inner(self) -> T {
        match self {
            Self::Full(item) | Self::Closed(item) => item,
        }
    }

    /// Whether there was no room.
    ///
    /// Example: see [`TrySendError`].
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full(_))
    }

    /// Whether the channel is closed.
    ///
    /// Example: see [`TrySendError`].
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "Full(..)",
            Self::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full(_) => "sending on a full channel",
            Self::Closed(_) => "sending on a closed channel",
        })
    }
}

impl<T> Error for TrySendError<T> {}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(SendError(item): SendError<T>) -> Self {
        Self::Closed(item)
    }
}
