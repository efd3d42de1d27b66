//! The receiving end.

use crate::channel::watch::state::State;
use crate::channel::watch::wait_for::WaitFor;
use crate::channel::{ChannelFuture, Next, NextStream, ReceiverCore, RecvError, TryRecvError};
use futures_core::future::FusedFuture;
use futures_core::stream::FusedStream;
use std::convert::identity;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Sees the value. A clone has seen what this one has seen.
///
/// Example: see [the module](mod@crate::channel::watch).
pub struct Receiver<T> {
    pub(super) core: ReceiverCore<State<T>>,
}

impl<T> Receiver<T> {
    /// The current value. It does not count as seen.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::watch("dark");
    /// sender.send("light").unwrap();
    /// assert_eq!(*receiver.latest(), "light");
    /// assert!(receiver.has_changed());                             // read, but not counted as seen
    /// ```
    #[doc(alias = "borrow")]
    #[must_use]
    pub fn latest(&self) -> Arc<T> {
        Arc::clone(&self.core.shared.lock().value)
    }

    /// The current value, which counts as seen.
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::watch("dark");
    /// sender.send("light").unwrap();
    /// assert_eq!(*receiver.latest_and_update(), "light");
    /// assert!(!receiver.has_changed());
    /// ```
    #[doc(alias = "borrow_and_update")]
    #[must_use = "the value; it counts as seen from now on"]
    pub fn latest_and_update(&mut self) -> Arc<T> {
        self.core.shared.lock().see(&mut self.core.position)
    }

    /// Whether there is a value that this receiver has not seen.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::watch(1);
    /// assert!(!receiver.has_changed());
    /// sender.send(2)?;
    /// assert!(receiver.has_changed());
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[must_use]
    pub fn has_changed(&self) -> bool {
        self.core.shared.lock().version != self.core.position
    }

    /// As [`changed`](Self::changed), and waits on the calling thread.
    ///
    /// # Blocking
    /// While there is no new value. The runtime lets another worker run while one waits here.
    ///
    /// # Errors
    /// As [`changed`](Self::changed).
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::watch(1);
    /// let writer = std::thread::spawn(move || sender.send(2));
    /// assert_eq!(receiver.changed_blocking().as_deref(), Ok(&2));
    /// # writer.join().unwrap()?;
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn changed_blocking(&mut self) -> Result<Arc<T>, RecvError> {
        ChannelFuture::new(&mut self.core, Next::new(identity)).wait()
    }

    /// Waits for a value that this receiver has not seen, and gives the newest. [`changed_blocking`](Self::changed_blocking)
    /// waits on the thread.
    ///
    /// # Cancellation
    /// Dropping the future before it is ready marks no value as seen.
    ///
    /// # Errors
    /// [`RecvError`] when the channel is closed and its last value has been seen.
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::watch(1);
    /// sender.send(2)?;
    /// assert_eq!(pollster::block_on(receiver.changed()).as_deref(), Ok(&2));
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[must_use = "a future does nothing unless awaited; await it, or call `changed_blocking`"]
    pub fn changed(
        &mut self,
    ) -> impl FusedFuture<Output = Result<Arc<T>, RecvError>> + Unpin + fmt::Debug {
        ChannelFuture::new(&mut self.core, Next::new(identity))
    }

    /// As [`changed_blocking`](Self::changed_blocking), and gives up when it has waited for about `limit`. In async code,
    /// await [`changed`](Self::changed) in a [`timeout`](crate::time::timeout).
    ///
    /// # Blocking
    /// As [`changed_blocking`](Self::changed_blocking), for as long as `limit`. A limit beyond the clock's range, such as
    /// `Duration::MAX`, is none.
    ///
    /// # Errors
    /// [`TryRecvError`] when the time is over, or the channel is closed and its last value was seen.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let (_sender, mut receiver) = manyhands::channel::watch(1);
    /// assert!(receiver.changed_timeout_blocking(Duration::from_millis(1)).is_err());
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn changed_timeout_blocking(&mut self, limit: Duration) -> Result<Arc<T>, TryRecvError> {
        let changed = ChannelFuture::new(&mut self.core, Next::new(identity)).wait_for(limit);
        Ok(changed.ok_or(TryRecvError::Empty)??)
    }

    /// Waits for a value for which `is_wanted` returns true, and gives it. The first value that it looks at is the current
    /// one, even if this receiver has seen it; from then on it may miss one that is replaced at once.
    /// [`wait_for_blocking`](Self::wait_for_blocking) waits on the thread.
    ///
    /// Each value that `is_wanted` gets counts as seen. No lock is held meanwhile: it may use this channel.
    ///
    /// # Cancellation
    /// Dropping the future before it is ready loses no value for which `is_wanted` would have returned true: what counts
    /// as seen is not wanted.
    ///
    /// # Errors
    /// [`RecvError`] when the channel is closed and its last value is not wanted.
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::watch("starting");
    /// let waiting = std::thread::spawn(move || {
    ///     pollster::block_on(receiver.wait_for(|state| *state == "ready")).map(|state| *state)
    /// });
    /// sender.send("loading")?;
    /// sender.send("ready")?;
    /// assert_eq!(waiting.join().unwrap(), Ok("ready"));
    /// # Ok::<(), manyhands::channel::SendError<&str>>(())
    /// ```
    #[must_use = "a future does nothing unless awaited; await it, or call `wait_for_blocking`"]
    pub fn wait_for(
        &mut self,
        is_wanted: impl FnMut(&T) -> bool,
    ) -> impl FusedFuture<Output = Result<Arc<T>, RecvError>> + Unpin + fmt::Debug {
        ChannelFuture::new(&mut self.core, WaitFor::new(is_wanted))
    }

    /// As [`wait_for`](Self::wait_for), and waits on the calling thread.
    ///
    /// # Blocking
    /// Until there is such a value. The runtime lets another worker run while one waits here.
    ///
    /// # Errors
    /// As [`wait_for`](Self::wait_for).
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::watch(3);
    /// let countdown = std::thread::spawn(move || (0..3).rev().try_for_each(|n| sender.send(n)));
    /// assert_eq!(receiver.wait_for_blocking(|n| *n == 0).as_deref(), Ok(&0));
    /// # countdown.join().unwrap()?;
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn wait_for_blocking(
        &mut self,
        is_wanted: impl FnMut(&T) -> bool,
    ) -> Result<Arc<T>, RecvError> {
        ChannelFuture::new(&mut self.core, WaitFor::new(is_wanted)).wait()
    }

    /// The values that this receiver has not seen, each time the newest, as a [`Stream`](futures_core::Stream). It ends when the channel is
    /// closed and the last value has been seen.
    ///
    /// # Examples
    /// ```
    /// use futures::StreamExt;
    /// let (sender, receiver) = manyhands::channel::watch(0);
    /// (1..=3).try_for_each(|n| sender.send(n))?;
    /// drop(sender);
    /// let seen = receiver.into_stream().map(|value| *value).collect::<Vec<u32>>();
    /// assert_eq!(pollster::block_on(seen), [3]);
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "WatchStream")]
    pub fn into_stream(self) -> impl FusedStream<Item = Arc<T>> + Unpin {
        NextStream::new(self.core, Result::ok)
    }

    /// Whether the channel is closed.
    ///
    /// Example: see [`Sender`](super::Sender).
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.core.is_closed()
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        let core = self.core.clone();
        Self { core }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("seen", &self.core.position)
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
