//! With the feature: which task or thread has woken a task last, as far as that is known.
//!
//! Only a thread that waits in tokio's driver is known as such, by a mark.
//!
//! Not here: when a wake is recorded (`hooks.rs`), and the wait (`integrations::tokio_driver`).

use std::cell::Cell;
use std::fmt;

/// What has woken a task.
///
/// # Examples
/// ```
/// # #[cfg(feature = "inspect-unstable")] {
/// use manyhands::{channel, inspect, task};
/// use std::time::{Duration, Instant};
/// manyhands::diagnostics::open();
/// let (sender, receiver) = channel::bounded::<u32>(1);
/// let reader = task::Builder::new().name("twice").spawn(async move {
///     receiver.recv().await?;
///     receiver.recv().await
/// });
/// sender.send_blocking(1)?;
/// let deadline = Instant::now() + Duration::from_secs(10);
/// let twice = loop {
///     let mut tasks = inspect::snapshot().tasks.into_iter();
///     match tasks.find(|task| task.name.as_deref() == Some("twice") && !task.waits.is_empty()) {
///         Some(twice) => break twice,
///         None => assert!(Instant::now() < deadline),
///     }
/// };
/// // The channel has woken it, unless the first item was there before it was polled.
/// assert_eq!(twice.last_waker, (twice.wakes > 0).then_some(inspect::LastWaker::Other));
/// sender.send_blocking(2)?;
/// assert_eq!(reader.join().unwrap(), Ok(2));
/// # }
/// # Ok::<(), manyhands::channel::SendError<u32>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LastWaker {
    /// A thread that waited in tokio's driver: for a socket or a timer of tokio, or as
    /// a task of `tokio::spawn`.
    Tokio,
    /// Somebody else, or the wake came while the task was polled.
    Other,
}

impl LastWaker {
    /// What it is if the calling thread wakes a task now.
    pub(crate) fn current() -> Self {
        if IS_IN_TOKIO.get() {
            Self::Tokio
        } else {
            Self::Other
        }
    }
}

impl fmt::Display for LastWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tokio => "tokio's driver (a socket or timer of tokio)",
            Self::Other => "another waker",
        })
    }
}

/// Runs `wait`, in which the calling thread waits in tokio's driver.
#[cfg(feature = "tokio")]
#[inline]
pub(crate) fn in_tokio<R>(wait: impl FnOnce() -> R) -> R {
    // A panic inside ends the process.
    IS_IN_TOKIO.set(true);
    let waited = wait();
    IS_IN_TOKIO.set(false);
    waited
}

crate::sync::thread_local! {
    static IS_IN_TOKIO: Cell<bool> = const { Cell::new(false) };
}
