//! The receiving end.

use crate::channel::broadcast::state::State;
use crate::channel::broadcast::{RecvError, TryRecvError};
use crate::channel::future::{ChannelFuture, End};
use crate::channel::next::{Next, NextStream, Subscriber};
use crate::channel::wait_list::WaiterKey;
use crate::sync::ShortLock;
use futures_core::future::FusedFuture;
use futures_core::stream::FusedStream;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::task::{Poll, Waker};
#[cfg(not(loom))]
use std::time::Duration;

/// Receives every item that is sent while it exists. A clone continues at this receiver's position.
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
    pub(super) shared: Arc<ShortLock<State<T>>>,
    /// The number of the next item to receive.
    next: u64,
}

impl<T> Receiver<T> {
    pub(super) fn new(shared: Arc<ShortLock<State<T>>>, next: u64) -> Self {
        Self { shared, next }
    }

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
    pub fn recv_blocking(&mut self) -> Result<T, RecvError>
    where
        T: Clone,
    {
        ChannelFuture::new(self, Next::default()).wait()
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
    pub fn recv(&mut self) -> impl FusedFuture<Output = Result<T, RecvError>> + Unpin + fmt::Debug
    where
        T: Clone,
    {
        ChannelFuture::new(self, Next::default())
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
    pub fn try_recv(&mut self) -> Result<T, TryRecvError>
    where
        T: Clone,
    {
        match self.poll_recv(&mut None, None) {
            Poll::Ready(result) => Ok(result?),
            Poll::Pending => Err(TryRecvError::Empty),
        }
    }

    /// As [`recv_blocking`](Self::recv_blocking), and gives up when it has waited for about `limit`. In async code, await
    /// [`recv`](Self::recv) in a [`timeout`](crate::time::timeout).
    ///
    /// # Blocking
    /// As [`recv_blocking`](Self::recv_blocking), for as long as `limit`.
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
    #[cfg(not(loom))]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn recv_timeout_blocking(&mut self, limit: Duration) -> Result<T, TryRecvError>
    where
        T: Clone,
    {
        match ChannelFuture::new(self, Next::default()).wait_for(limit) {
            Some(result) => Ok(result?),
            None => Err(TryRecvError::Empty),
        }
    }

    /// The items as a [`Stream`](futures_core::Stream), whose only error is [`RecvError::Lagged`], and which ends
    /// when the channel is closed and every item was received. It is a receiver of its own, and starts at this one's
    /// position.
    ///
    /// # Examples
    /// ```
    /// use futures::StreamExt;
    /// use manyhands::channel::{self, broadcast::RecvError};
    /// let (sender, receiver) = channel::broadcast(2);
    /// (1..=3).try_for_each(|n| sender.send(n).map(drop))?;
    /// drop(sender);
    /// let items = receiver.stream().collect::<Vec<Result<u32, RecvError>>>();
    /// assert_eq!(pollster::block_on(items), [Err(RecvError::Lagged(1)), Ok(2), Ok(3)]);
    /// # Ok::<(), channel::SendError<u32>>(())
    /// ```
    pub fn stream(&self) -> impl FusedStream<Item = Result<T, RecvError>> + Unpin + use<T>
    where
        T: Clone,
    {
        NextStream::new(self.clone())
    }

    /// As [`stream`](Self::stream), made of this receiver.
    ///
    /// # Examples
    /// ```
    /// use futures::StreamExt;
    /// use manyhands::channel;
    /// let (sender, receiver) = channel::broadcast(8);
    /// sender.send(1)?;
    /// sender.send(2)?;
    /// drop(sender);
    /// let items = receiver.into_stream().filter_map(async |item| item.ok()).collect::<Vec<u32>>();
    /// assert_eq!(pollster::block_on(items), [1, 2]);
    /// # Ok::<(), channel::SendError<u32>>(())
    /// ```
    pub fn into_stream(self) -> impl FusedStream<Item = Result<T, RecvError>> + Unpin
    where
        T: Clone,
    {
        NextStream::new(self)
    }

    /// Whether the channel is closed. There may still be items for this receiver.
    ///
    /// Example: see [`Receiver`].
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.lock().subscribers.closed().is_some()
    }

    fn poll_recv(
        &mut self,
        waiter: &mut Option<WaiterKey>,
        waker: Option<&Waker>,
    ) -> Poll<Result<T, RecvError>>
    where
        T: Clone,
    {
        let (polled, wakers) = self.shared.lock().poll(&mut self.next, waiter, waker);
        wakers.wake();
        polled.map(|result| result.map(Arc::unwrap_or_clone))
    }
}

impl<T> End for Receiver<T> {
    fn channel(&self) -> *const () {
        ptr::from_ref(&*self.shared).cast()
    }
}

impl<T: Clone> Subscriber for Receiver<T> {
    type State = State<T>;
    type Received = Result<T, RecvError>;
    type Item = Result<T, RecvError>;

    fn shared(&self) -> &ShortLock<State<T>> {
        &self.shared
    }

    fn poll_next(&mut self, waiter: &mut Option<WaiterKey>, waker: &Waker) -> Poll<Self::Received> {
        self.poll_recv(waiter, Some(waker))
    }

    fn item(received: Self::Received) -> Option<Self::Item> {
        match received {
            Err(RecvError::Closed(_)) => None,
            received => Some(received),
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.lock().add_receiver(self.next);
        Self::new(Arc::clone(&self.shared), self.next)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Items that no receiver wants any more are dropped here, where no lock is held.
        let unwanted = self.shared.lock().remove_receiver(self.next);
        drop(unwanted);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("next", &self.next)
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
