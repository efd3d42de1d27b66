//! Why a task has no result.
//!
//! Not here: the handle that gives it (`handle.rs`).

use crate::job::{PanicPayload, Payload};
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;

/// Why a task has no result.
///
/// # Examples
/// ```
/// use manyhands::task;
/// # std::panic::set_hook(Box::new(|_| ()));
/// let error = task::run(|| panic!("no more paper")).join().unwrap_err();
/// assert!(error.is_panic() && !error.is_cancelled());
/// assert_eq!(error.to_string(), "the task panicked: no more paper");
/// ```
pub struct JoinError(
    /// What the task panicked with; `None` of one that was cancelled.
    Option<PanicPayload>,
);

impl JoinError {
    /// Of a task that was cancelled.
    pub(super) const CANCELLED: Self = Self(None);

    /// Of a task that panicked.
    pub(super) fn panicked(payload: Payload) -> Self {
        Self(Some(PanicPayload::new(payload)))
    }

    /// What the task panicked with.
    pub(super) fn panic(&self) -> Option<&PanicPayload> {
        self.0.as_ref()
    }

    /// Whether the task panicked.
    ///
    /// Example: see [`JoinError`].
    #[doc(alias = "IsFaulted")]
    #[must_use]
    pub fn is_panic(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the task was cancelled, or dropped because its runtime was shut down.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task;
    /// let handle = task::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// let error = handle.join().unwrap_err();
    /// assert!(error.is_cancelled() && !error.is_panic());
    /// ```
    #[doc(alias = "IsCanceled")]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_none()
    }

    /// The payload of the panic, to be inspected or resumed.
    ///
    /// # Errors
    /// The error itself when the task did not panic.
    ///
    /// # Examples
    /// ```
    /// use manyhands::task;
    /// # std::panic::set_hook(Box::new(|_| ()));
    /// let error = task::run(|| panic!("no")).join().unwrap_err();
    /// let payload = error.try_into_panic().unwrap();
    /// assert_eq!(payload.downcast_ref(), Some(&"no"));
    /// ```
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, Self> {
        let payload = self.0.map(PanicPayload::into_inner);
        payload.ok_or(Self::CANCELLED)
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(payload) => write!(f, "the task panicked: {payload}"),
            None => f.write_str("the task was cancelled"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error for JoinError {}

/// Of the kind `Other`, as tokio's.
///
/// # Examples
/// ```
/// use manyhands::task;
/// use std::io;
/// async fn read() -> io::Result<usize> {
///     let length = task::spawn(async { 7 }).await?;
///     Ok(length)
/// }
/// assert_eq!(task::block_on(read()).unwrap(), 7);
/// ```
impl From<JoinError> for io::Error {
    fn from(error: JoinError) -> Self {
        Self::other(error)
    }
}
