//! The receiving end.

use crate::channel::future::{Receiving, ReceivingMany};
use crate::channel::{
    ChannelFuture, ChannelInner, End, NextStream, Receives, RecvError, Seen, TryRecvError,
    WaiterKey,
};
use crate::task::budget::Permit;
use futures_core::future::FusedFuture;
use futures_core::stream::FusedStream;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// Receives from a channel, in threads and in async code. Clones share the items: each item is received
/// once. Dropping the last one closes the channel and drops the items inside.
///
/// # Examples
/// ```
/// use manyhands::channel;
/// use std::thread;
///
/// let (sender, receiver) = channel::unbounded();
/// let consumers = [receiver.clone(), receiver]
///     .map(|receiver| thread::spawn(move || receiver.iter().sum::<u32>()));
/// (1..=100).try_for_each(|n| sender.send_blocking(n))?;
/// drop(sender);
/// assert_eq!(consumers.map(|consumer| consumer.join().unwrap()).iter().sum::<u32>(), 5050);
/// # Ok::<(), channel::SendError<u32>>(())
/// ```
#[doc(alias = "ChannelReader")]
pub struct Receiver<T> {
    pub(super) shared: Arc<ChannelInner<T>>,
}

impl<T> Receiver<T> {
    pub(super) fn new(shared: Arc<ChannelInner<T>>) -> Self {
        Self { shared }
    }

    /// As [`recv`](Self::recv), and waits on the calling thread.
    ///
    /// # Cost
    /// One short lock, and one wake if a sender waits.
    ///
    /// # Blocking
    /// While the channel is empty. The runtime lets another worker run while one waits here.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// let producer = std::thread::spawn(move || sender.send_blocking(42));
    /// assert_eq!(receiver.recv_blocking(), Ok(42));
    /// assert!(receiver.recv_blocking().is_err());
    /// # producer.join().unwrap()?;
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "blocking_recv")]
    #[inline]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn recv_blocking(&self) -> Result<T, RecvError> {
        match self.shared.try_recv() {
            Ok(item) => Ok(item),
            Err(TryRecvError::Closed(closed)) => Err(closed),
            Err(TryRecvError::Empty) => self.recv_later(),
        }
    }

    #[cold]
    #[cfg_attr(feature = "inspect", track_caller)]
    fn recv_later(&self) -> Result<T, RecvError> {
        // In a rendezvous channel retrying does not help: the item passes only while one side waits.
        if !self.shared.is_rendezvous() {
            let shared = &self.shared;
            let mut seen = Seen::default();
            let received = shared.receive_retries.retry(|| {
                if !shared.may_have_changed(&seen) {
                    return None;
                }
                match shared.try_recv_and_note(&mut seen) {
                    Ok(item) => Some(Ok(item)),
                    Err(TryRecvError::Closed(closed)) => Some(Err(closed)),
                    Err(TryRecvError::Empty) => None,
                }
            });
            if let Some(result) = received {
                return result;
            }
        }
        ChannelFuture::new(&*self.shared, Receiving::default()).wait()
    }

    /// Receives the next item; the future waits for one if there is none. [`recv_blocking`](Self::recv_blocking) waits on
    /// the thread.
    ///
    /// # Cancellation
    /// Dropping the future before it is ready takes no item. One that is kept without being polled may hold up an item:
    /// another receiver gets what this one was woken for only when it is dropped.
    ///
    /// # Errors
    /// [`RecvError`] when the channel is closed and every item has been received.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// sender.send_blocking("hello")?;
    /// assert_eq!(pollster::block_on(receiver.recv()), Ok("hello"));
    /// # Ok::<(), manyhands::channel::SendError<&str>>(())
    /// ```
    #[doc(alias("ReadAsync", "recv_async"))]
    #[must_use = "a future does nothing unless awaited; await it, or call `recv_blocking`"]
    pub fn recv(&self) -> impl FusedFuture<Output = Result<T, RecvError>> + Unpin + fmt::Debug {
        ChannelFuture::new(&*self.shared, Receiving::default())
    }

    /// Receives the next item if there is one now.
    ///
    /// # Errors
    /// [`TryRecvError`] when the channel is empty; it says whether the channel is closed.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel::{self, TryRecvError};
    /// let (sender, receiver) = channel::unbounded();
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.send_blocking(1)?;
    /// assert_eq!(receiver.try_recv(), Ok(1));
    /// # Ok::<(), channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "TryRead")]
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.shared.try_recv()
    }

    /// As [`recv_blocking`](Self::recv_blocking), but gives up after about `limit`. In async code, await
    /// [`recv`](Self::recv) in a [`timeout`](crate::time::timeout).
    ///
    /// # Blocking
    /// As [`recv_blocking`](Self::recv_blocking), for as long as `limit`. A limit beyond the clock's range, such as
    /// `Duration::MAX`, is none.
    ///
    /// # Errors
    /// [`TryRecvError`] when the time is over, or the channel is closed and empty.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel::{self, TryRecvError};
    /// use std::time::Duration;
    /// let (_sender, receiver) = channel::unbounded::<u32>();
    /// let late = receiver.recv_timeout_blocking(Duration::from_millis(1));
    /// assert_eq!(late, Err(TryRecvError::Empty));
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn recv_timeout_blocking(&self, limit: Duration) -> Result<T, TryRecvError> {
        let received = ChannelFuture::new(&*self.shared, Receiving::default()).wait_for(limit);
        Ok(received.ok_or(TryRecvError::Empty)??)
    }

    /// As [`recv_many`](Self::recv_many), and waits on the calling thread.
    ///
    /// # Cost
    /// One short lock for all of them.
    ///
    /// # Blocking
    /// As [`recv_blocking`](Self::recv_blocking).
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// (0..5).try_for_each(|n| sender.send_blocking(n))?;
    /// let mut items = Vec::new();
    /// assert_eq!(receiver.recv_many_blocking(&mut items, 3), Ok(3));
    /// assert_eq!(items, [0, 1, 2]);
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "blocking_recv_many")]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn recv_many_blocking(&self, items: &mut Vec<T>, max: usize) -> Result<usize, RecvError> {
        ChannelFuture::new(&*self.shared, ReceivingMany::new(items, max)).wait()
    }

    /// Waits for at least one item, then appends the available items to `items`, at most `max`; gives how many.
    /// [`recv_many_blocking`](Self::recv_many_blocking) waits on the thread.
    ///
    /// With a `max` of 0 the future is ready at once.
    ///
    /// # Cancellation
    /// Dropping the future before it is ready takes no item.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// sender.send_blocking(1)?;
    /// let mut items = Vec::new();
    /// let count = pollster::block_on(receiver.recv_many(&mut items, 100));
    /// assert_eq!((count, items), (Ok(1), vec![1]));
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "BatchBlock")]
    #[must_use = "a future does nothing unless awaited; await it, or call `recv_many_blocking`"]
    pub fn recv_many<'a>(
        &'a self,
        items: &'a mut Vec<T>,
        max: usize,
    ) -> impl FusedFuture<Output = Result<usize, RecvError>> + Unpin + fmt::Debug {
        ChannelFuture::new(&*self.shared, ReceivingMany::new(items, max))
    }

    /// Appends the available items to `items`, at most `max`. Returns how many.
    ///
    /// # Errors
    /// [`TryRecvError`] when there is none, unless `max` is 0.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel::{self, TryRecvError};
    /// let (sender, receiver) = channel::unbounded();
    /// sender.send_blocking(1)?;
    /// let mut items = Vec::new();
    /// assert_eq!(receiver.try_recv_many(&mut items, 100), Ok(1));
    /// assert_eq!(receiver.try_recv_many(&mut items, 100), Err(TryRecvError::Empty));
    /// # Ok::<(), channel::SendError<u32>>(())
    /// ```
    pub fn try_recv_many(&self, items: &mut Vec<T>, max: usize) -> Result<usize, TryRecvError> {
        self.shared.try_recv_many(items, max)
    }

    /// Passes the next item to `look`, without taking it. `look` may be `T::clone`.
    ///
    /// `look` runs under the channel's lock. It must be short and must not use the channel, or it deadlocks.
    ///
    /// # Errors
    /// [`TryRecvError`] when there is no item.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// sender.send_blocking(7)?;
    /// assert_eq!(receiver.peek(u32::clone), Ok(7));
    /// assert_eq!(receiver.recv_blocking(), Ok(7));
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "TryPeek")]
    pub fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> Result<R, TryRecvError> {
        self.shared.peek(look)
    }

    /// The items as a stream, which ends when the channel is closed and drained.
    /// It is a receiver like any other: the channel stays open for it.
    ///
    /// # Examples
    /// ```
    /// use manyhands::{channel, parallel, task};
    /// let (sender, receiver) = channel::unbounded();
    /// (1..=3).try_for_each(|n| sender.send_blocking(n))?;
    /// drop(sender);
    /// let doubled = parallel::map_async(parallel::from_stream(receiver.into_stream()), |n| async move { n * 2 });
    /// assert_eq!(task::block_on(doubled), [2, 4, 6]);
    /// # Ok::<(), channel::SendError<u32>>(())
    /// ```
    #[doc(alias("ReceiverStream", "ReadAllAsync"))]
    pub fn into_stream(self) -> impl FusedStream<Item = T> + Unpin {
        NextStream::new(self, Result::ok)
    }

    /// The items as an iterator, which blocks while the channel is empty and ends when it is closed and
    /// drained.
    ///
    /// A loop over it pulls several items before it runs one, and waits for all of them: see
    /// [`from_iter`](crate::parallel::from_iter).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// (1..=3).try_for_each(|n| sender.send_blocking(n))?;
    /// drop(sender);
    /// assert_eq!(receiver.iter().collect::<Vec<u32>>(), [1, 2, 3]);
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "GetConsumingEnumerable")]
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.into_iter()
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.add_receiver();
        Self::new(Arc::clone(&self.shared))
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.remove_receiver();
    }
}

impl<T> End for Receiver<T> {
    fn channel(&self) -> *const () {
        self.shared.channel()
    }
}

impl<T> Receives for Receiver<T> {
    type Received = Result<T, RecvError>;

    #[inline]
    fn poll_next(
        &mut self,
        waiter: &mut Option<WaiterKey>,
        cx: &Context<'_>,
    ) -> Poll<Self::Received> {
        self.shared.poll_recv(waiter, cx)
    }

    fn charge(permit: Permit) {
        permit.charge_half();
    }

    fn leave(&self, waiter: &mut Option<WaiterKey>) {
        self.shared.cancel_recv(waiter);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(&self.shared).finish()
    }
}
