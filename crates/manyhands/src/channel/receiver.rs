//! The receiving end.

use crate::channel::error::{CloseReason, RecvError, TryRecvError};
use crate::channel::future::{EndFuture, ReadyFuture, RecvFuture, RecvManyFuture};
use crate::channel::inner::{ChannelInner, Seen};
use crate::channel::step::Until;
use crate::channel::stream::RecvStream;
use crate::channel::thread;
use futures_core::future::FusedFuture;
use futures_core::stream::FusedStream;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
#[cfg(not(loom))]
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
            let seen = Seen::default();
            let received = shared.receive_retries.retry(|| {
                if !shared.may_have_changed(&seen) {
                    return None;
                }
                match shared.try_recv_and_note(&seen) {
                    Ok(item) => Some(Ok(item)),
                    Err(TryRecvError::Closed(closed)) => Some(Err(closed)),
                    Err(TryRecvError::Empty) => None,
                }
            });
            if let Some(result) = received {
                return result;
            }
        }
        let mut future = self.recv();
        thread::wait(|cx| Pin::new(&mut future).poll(cx))
    }

    /// Receives the next item; the future waits for one if there is none. [`recv_blocking`](Self::recv_blocking) waits on
    /// the thread.
    ///
    /// # Cancellation
    /// Dropping the future before it is ready takes no item.
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
    #[doc(alias = "ReadAsync")]
    #[doc(alias = "recv_async")]
    #[must_use = "a future does nothing unless awaited; await it, or call `recv_blocking`"]
    pub fn recv(&self) -> impl FusedFuture<Output = Result<T, RecvError>> + Unpin + fmt::Debug {
        RecvFuture::new(&self.shared)
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
    /// As [`recv_blocking`](Self::recv_blocking), for as long as `limit`.
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
    #[cfg(not(loom))]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn recv_timeout_blocking(&self, limit: Duration) -> Result<T, TryRecvError> {
        let mut future = self.recv();
        match thread::wait_for(limit, |cx| Pin::new(&mut future).poll(cx)) {
            Some(result) => Ok(result?),
            None => Err(TryRecvError::Empty),
        }
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
        let mut future = self.recv_many(items, max);
        thread::wait(|cx| Pin::new(&mut future).poll(cx))
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
    #[must_use = "a future does nothing unless awaited; await it, or call `recv_many_blocking`"]
    pub fn recv_many<'a>(
        &'a self,
        items: &'a mut Vec<T>,
        max: usize,
    ) -> impl FusedFuture<Output = Result<usize, RecvError>> + Unpin + fmt::Debug {
        RecvManyFuture::new(&self.shared, items, max)
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
    /// It is a receiver of its own: the channel stays open for it.
    ///
    /// # Examples
    /// ```
    /// use futures::StreamExt;
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// (1..=3).try_for_each(|n| sender.send_blocking(n))?;
    /// drop(sender);
    /// let doubled = receiver.stream().map(|n| n * 2).collect::<Vec<u32>>();
    /// assert_eq!(pollster::block_on(doubled), [2, 4, 6]);
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "ReceiverStream")]
    #[doc(alias = "ReadAllAsync")]
    pub fn stream(&self) -> impl FusedStream<Item = T> + Unpin + use<T> {
        RecvStream::new(self.clone())
    }

    /// As [`stream`](Self::stream), made of this receiver.
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
    #[doc(alias = "ReceiverStream")]
    pub fn into_stream(self) -> impl FusedStream<Item = T> + Unpin {
        RecvStream::new(self)
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

    /// Closes the channel from this end: no more items go in, those inside can still be received. Returns
    /// whether the channel was open.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// sender.send_blocking(1)?;
    /// assert!(receiver.close());
    /// assert!(sender.send_blocking(2).is_err());
    /// assert_eq!(receiver.recv_blocking(), Ok(1));
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    pub fn close(&self) -> bool {
        self.shared.close()
    }

    /// As [`close`](Self::close), with a reason, which every later operation gets that finds the channel closed and
    /// drained. The first reason stays.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded::<u32>();
    /// receiver.close_with("enough");
    /// assert_eq!(sender.wait_closed_blocking().unwrap_err().to_string(), "enough");
    /// ```
    pub fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.shared.close_with(reason.into())
    }

    /// Whether the channel is closed. Items may still be left.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// sender.send_blocking(1)?;
    /// drop(sender);
    /// assert!(receiver.is_closed());
    /// assert_eq!(receiver.recv_blocking(), Ok(1));
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// How many items wait to be received; see [`Sender::len`](super::Sender::len).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::bounded(8);
    /// assert!(receiver.is_empty());
    /// sender.send_blocking("letter")?;
    /// assert_eq!((receiver.len(), receiver.capacity()), (1, Some(8)));
    /// # Ok::<(), manyhands::channel::SendError<&str>>(())
    /// ```
    #[doc(alias = "Count")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.buffered()
    }

    /// Whether no item waits to be received.
    ///
    /// Example: see [`len`](Self::len).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items the channel holds at most; `None` if there is no limit.
    ///
    /// Example: see [`len`](Self::len).
    #[must_use]
    pub fn capacity(&self) -> Option<usize> {
        self.shared.capacity()
    }

    /// Waits until an item can be received, takes none, and gives true; false when the channel is closed and every item has
    /// been received. [`wait_ready_blocking`](Self::wait_ready_blocking) waits on the thread.
    ///
    /// No item is reserved: another receiver may be faster, so what follows is [`try_recv`](Self::try_recv), which may find
    /// nothing. All that wait are woken together. To take an item, [`recv`](Self::recv) is better: each item wakes one. In
    /// a rendezvous channel an item can be received while a sender waits in a [`send`](super::Sender::send).
    ///
    /// # Cancellation
    /// Dropping the future takes no item, and no notification of one from another receiver.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel;
    /// let (sender, receiver) = channel::bounded(8);
    /// let producer = std::thread::spawn(move || (1..=3).try_for_each(|n| sender.send_blocking(n)));
    /// let sum = pollster::block_on(async {
    ///     let mut sum = 0;
    ///     while receiver.wait_ready().await {
    ///         while let Ok(item) = receiver.try_recv() {
    ///             sum += item;
    ///         }
    ///     }
    ///     sum
    /// });
    /// assert_eq!(sum, 6);
    /// # producer.join().unwrap()?;
    /// # Ok::<(), channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "WaitToReadAsync")]
    #[doc(alias = "readable")]
    #[must_use = "a future does nothing unless awaited; await it, or call `wait_ready_blocking`"]
    pub fn wait_ready(&self) -> impl FusedFuture<Output = bool> + Unpin + fmt::Debug {
        ReadyFuture::new(&self.shared, Until::Readable)
    }

    /// As [`wait_ready`](Self::wait_ready), and waits on the calling thread.
    ///
    /// # Blocking
    /// While the channel is empty. The runtime lets another worker run while one waits here.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// sender.send_blocking(1)?;
    /// drop(sender);
    /// assert!(receiver.wait_ready_blocking());
    /// assert_eq!(receiver.try_recv(), Ok(1));
    /// assert!(!receiver.wait_ready_blocking());
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[must_use = "whether an item can be received"]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn wait_ready_blocking(&self) -> bool {
        ReadyFuture::new(&self.shared, Until::Readable).wait()
    }

    /// Whether both receive from one channel.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel;
    /// let (_, first) = channel::unbounded::<u32>();
    /// let (_, second) = channel::unbounded::<u32>();
    /// assert!(first.same_channel(&first.clone()) && !first.same_channel(&second));
    /// ```
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Waits until the channel is closed and every item has been received, by this receiver or others. See
    /// [`Sender::wait_drained`](super::Sender::wait_drained). [`wait_drained_blocking`](Self::wait_drained_blocking) waits
    /// on the thread.
    ///
    /// # Errors
    /// The reason given to [`close_with`](Self::close_with).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded::<u32>();
    /// drop(sender);
    /// assert!(pollster::block_on(receiver.wait_drained()).is_ok());
    /// ```
    #[doc(alias = "Completion")]
    #[must_use = "a future does nothing unless awaited; await it, or call `wait_drained_blocking`"]
    pub fn wait_drained(
        &self,
    ) -> impl FusedFuture<Output = Result<(), CloseReason>> + Unpin + fmt::Debug {
        EndFuture::new(&self.shared, Until::Drained)
    }

    /// As [`wait_drained`](Self::wait_drained), and waits on the calling thread.
    ///
    /// # Blocking
    /// Until then. The runtime lets another worker run while one waits here.
    ///
    /// # Errors
    /// The reason given to [`close_with`](Self::close_with).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded::<u32>();
    /// drop(sender);
    /// assert!(receiver.wait_drained_blocking().is_ok());
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn wait_drained_blocking(&self) -> Result<(), CloseReason> {
        EndFuture::new(&self.shared, Until::Drained).wait()
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

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receiver").field(&self.shared).finish()
    }
}
