//! The receiving end.

use crate::channel::broadcast::state::State;
use crate::channel::broadcast::{RecvError, TryRecvError};
use crate::channel::{ChannelFuture, Next, NextStream, ReceiverCore};
use futures_core::future::FusedFuture;
use futures_core::stream::FusedStream;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Receives every item that is sent while it exists. A clone continues at this receiver's position.
///
/// # Cost
/// To clone or drop it takes a time that grows with how many of the items that are left it has not received, and sends
/// wait meanwhile.
///
/// # Examples
/// ```
/// let (sender, mut first) = manyhands::channel::broadcast(8);
/// (1..=3).try_for_each(|n| sender.send(n).map(drop))?;
/// assert_eq!(first.recv_blocking(), Ok(1));
/// let mut second = first.clone();
/// assert_eq!((first.recv_blocking(), second.recv_blocking()), (Ok(2), Ok(2)));
/// drop(sender);
/// assert!(second.is_closed());
/// assert_eq!(second.recv_blocking(), Ok(3)); // closed, but not empty
/// # Ok::<(), manyhands::channel::SendError<u32>>(())
/// ```
pub struct Receiver<T> {
    pub(super) core: ReceiverCore<State<T>>,
}

impl<T: Clone> Receiver<T> {
    /// As [`recv`](Self::recv), and waits on the calling thread.
    ///
    /// # Blocking
    /// While the channel is empty. The runtime lets another worker run while one waits here.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::broadcast(8);
    /// let speaker = std::thread::spawn(move || sender.send("hello"));
    /// assert_eq!(receiver.recv_blocking(), Ok("hello"));
    /// # speaker.join().unwrap()?;
    /// # Ok::<(), manyhands::channel::SendError<&str>>(())
    /// ```
    #[doc(alias = "blocking_recv")]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn recv_blocking(&mut self) -> Result<T, RecvError> {
        ChannelFuture::new(&mut self.core, Next::new(owned)).wait()
    }

    /// Receives the next item; the future waits for it if there is none. [`recv_blocking`](Self::recv_blocking) waits on
    /// the thread.
    ///
    /// # Cancellation
    /// Dropping the future before it is ready skips no item.
    ///
    /// # Errors
    /// [`RecvError`] when this receiver lost items, or the channel is closed and it has received every item.
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::broadcast(8);
    /// sender.send(1)?;
    /// assert_eq!(pollster::block_on(receiver.recv()), Ok(1));
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "recv_async")]
    #[must_use = "a future does nothing unless awaited; await it, or call `recv_blocking`"]
    pub fn recv(&mut self) -> impl FusedFuture<Output = Result<T, RecvError>> + Unpin + fmt::Debug {
        ChannelFuture::new(&mut self.core, Next::new(owned))
    }

    /// Receives the next item if there is one now.
    ///
    /// # Errors
    /// [`TryRecvError`]: no item now, no item any more, or this receiver lost items.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel::{self, broadcast::TryRecvError};
    /// let (_sender, mut receiver) = channel::broadcast::<u32>(8);
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        Ok(owned(self.core.try_next().ok_or(TryRecvError::Empty)?)?)
    }

    /// As [`recv_blocking`](Self::recv_blocking), and gives up when it has waited for about `limit`. In async code, await
    /// [`recv`](Self::recv) in a [`timeout`](crate::time::timeout).
    ///
    /// # Blocking
    /// As [`recv_blocking`](Self::recv_blocking), for as long as `limit`. A limit beyond the clock's range, such as
    /// `Duration::MAX`, is none.
    ///
    /// # Errors
    /// [`TryRecvError`]: as [`recv_blocking`](Self::recv_blocking), or the time is over.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel::{self, broadcast::TryRecvError};
    /// use std::time::Duration;
    /// let (_sender, mut receiver) = channel::broadcast::<u32>(8);
    /// let late = receiver.recv_timeout_blocking(Duration::from_millis(1));
    /// assert_eq!(late, Err(TryRecvError::Empty));
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn recv_timeout_blocking(&mut self, limit: Duration) -> Result<T, TryRecvError> {
        let received = ChannelFuture::new(&mut self.core, Next::new(owned)).wait_for(limit);
        Ok(received.ok_or(TryRecvError::Empty)??)
    }

    /// The items as a [`Stream`](futures_core::Stream), whose only error is [`RecvError::Lagged`], and which ends
    /// when the channel is closed and every item was received.
    ///
    /// # Examples
    /// ```
    /// use futures::StreamExt;
    /// use manyhands::channel::{self, broadcast::RecvError};
    /// let (sender, receiver) = channel::broadcast(2);
    /// (1..=3).try_for_each(|n| sender.send(n).map(drop))?;
    /// drop(sender);
    /// let items = receiver.into_stream().collect::<Vec<Result<u32, RecvError>>>();
    /// assert_eq!(pollster::block_on(items), [Err(RecvError::Lagged(1)), Ok(2), Ok(3)]);
    /// # Ok::<(), channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "BroadcastStream")]
    pub fn into_stream(self) -> impl FusedStream<Item = Result<T, RecvError>> + Unpin {
        NextStream::new(self.core, item)
    }
}

impl<T> Receiver<T> {
    /// Whether the channel is closed. There may still be items for this receiver.
    ///
    /// Example: see [`Receiver`].
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
            .field("next", &self.core.position)
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

/// What one receiver gets of an item for all.
fn owned<T: Clone>(received: Result<Arc<T>, RecvError>) -> Result<T, RecvError> {
    received.map(|item| {
        Arc::try_unwrap(item).unwrap_or_else(|item| {
            let copy = T::clone(&item);
            // First: the compiler leaks what is returned if a drop panics after that.
            drop(item);
            copy
        })
    })
}

/// As [`owned`], for the stream.
fn item<T: Clone>(received: Result<Arc<T>, RecvError>) -> Option<Result<T, RecvError>> {
    match received {
        Err(RecvError::Closed(_)) => None,
        received => Some(owned(received)),
    }
}
