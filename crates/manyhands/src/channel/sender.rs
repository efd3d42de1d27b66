//! The sending end.

use crate::channel::future::SendingMany;
use crate::channel::weak_sender::WeakSender;
use crate::channel::{ChannelFuture, ChannelInner, Seen, SendError, Sending, TrySendError};
use futures_core::future::FusedFuture;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Sends into a channel, from threads and from async code. All clones are equal; dropping the last one closes
/// the channel.
///
/// # Examples
/// ```
/// use manyhands::channel;
/// use std::thread;
///
/// let (sender, receiver) = channel::bounded(4);
/// let other = sender.clone();
/// let producers = [
///     thread::spawn(move || (0..50).try_for_each(|n| sender.send_blocking(n))),
///     thread::spawn(move || pollster::block_on(async {
///         for n in 50..100 {
///             other.send(n).await?;
///         }
///         Ok(())
///     })),
/// ];
/// assert_eq!(receiver.iter().sum::<u32>(), 4950);
/// for producer in producers {
///     producer.join().unwrap()?;
/// }
/// # Ok::<(), channel::SendError<u32>>(())
/// ```
#[doc(alias = "ChannelWriter")]
pub struct Sender<T> {
    pub(super) shared: Arc<ChannelInner<T>>,
}

impl<T> Sender<T> {
    pub(super) fn new(shared: Arc<ChannelInner<T>>) -> Self {
        Self { shared }
    }

    /// As [`send`](Self::send), and waits on the calling thread.
    ///
    /// # Cost
    /// One short lock, and one wake if a receiver waits.
    ///
    /// # Blocking
    /// While the channel is full. The runtime lets another worker run while one waits here.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// sender.send_blocking("hello")?;
    /// assert_eq!(receiver.recv_blocking(), Ok("hello"));
    /// drop(receiver);
    /// assert_eq!(sender.send_blocking("again").unwrap_err().into_inner(), "again");
    /// # Ok::<(), manyhands::channel::SendError<&str>>(())
    /// ```
    #[doc(alias = "blocking_send")]
    #[inline]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn send_blocking(&self, item: T) -> Result<(), SendError<T>> {
        match self.shared.try_send_to_known_room(item) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(item)) => Err(SendError(item)),
            Err(TrySendError::Full(item)) => self.send_later(item),
        }
    }

    #[cold]
    #[cfg_attr(feature = "inspect", track_caller)]
    fn send_later(&self, item: T) -> Result<(), SendError<T>> {
        let mut item = Some(item);
        // In a rendezvous channel retrying does not help: the item passes only while one side waits.
        if !self.shared.is_rendezvous() {
            let shared = &self.shared;
            let mut seen = Seen::default();
            let sent = shared.send_retries.retry(|| {
                if !shared.may_have_room(&seen) {
                    return None;
                }
                match shared.try_send_and_note(item.take()?, &mut seen) {
                    Ok(()) => Some(Ok(())),
                    Err(TrySendError::Closed(item)) => Some(Err(SendError(item))),
                    Err(TrySendError::Full(back)) => {
                        item = Some(back);
                        None
                    }
                }
            });
            if let Some(result) = sent {
                return result;
            }
        }
        ChannelFuture::new(&*self.shared, Sending::new(item)).wait()
    }

    /// Sends; the future waits for room if there is none. [`send_blocking`](Self::send_blocking) waits on the thread.
    ///
    /// # Cancellation
    /// Dropping the future before it is ready drops the item. In a rendezvous channel a receiver may have taken it by
    /// then. One that is kept without being polled may hold up the place that it was woken for.
    ///
    /// # Errors
    /// [`SendError`] with the item when the channel is closed, before or while this waits.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel;
    /// let (sender, receiver) = channel::bounded(1);
    /// pollster::block_on(async {
    ///     sender.send(1).await?;
    ///     assert_eq!(receiver.recv().await, Ok(1));
    ///     Ok::<(), channel::SendError<u32>>(())
    /// })?;
    /// # Ok::<(), channel::SendError<u32>>(())
    /// ```
    #[doc(alias("WriteAsync", "send_async"))]
    #[must_use = "a future does nothing unless awaited; await it, or call `send_blocking`"]
    pub fn send(
        &self,
        item: T,
    ) -> impl FusedFuture<Output = Result<(), SendError<T>>> + Unpin + fmt::Debug {
        ChannelFuture::new(&*self.shared, Sending::new(Some(item)))
    }

    /// Sends if there is room now.
    ///
    /// A rendezvous channel has room while more receivers wait than items are on their way to them. If such
    /// a receiver gives up before it has taken its item, the item waits for the next one.
    ///
    /// # Errors
    /// The item, when the channel is full or closed.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel::{self, TrySendError};
    /// let (sender, _receiver) = channel::bounded(1);
    /// assert_eq!(sender.try_send(1), Ok(()));
    /// assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    /// ```
    #[doc(alias = "TryWrite")]
    #[inline]
    pub fn try_send(&self, item: T) -> Result<(), TrySendError<T>> {
        self.shared.try_send(item)
    }

    /// As [`send_blocking`](Self::send_blocking), but gives up after about `limit`. In async code, await
    /// [`send`](Self::send) in a [`timeout`](crate::time::timeout).
    ///
    /// # Blocking
    /// As [`send_blocking`](Self::send_blocking), for as long as `limit`. A limit beyond the clock's range, such as
    /// `Duration::MAX`, is none.
    ///
    /// # Errors
    /// The item, when the time is over or the channel is closed.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel::{self, TrySendError};
    /// use std::time::Duration;
    /// let (sender, _receiver) = channel::bounded(0);
    /// let late = sender.send_timeout_blocking("hello", Duration::from_millis(1));
    /// assert_eq!(late, Err(TrySendError::Full("hello")));
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn send_timeout_blocking(&self, item: T, limit: Duration) -> Result<(), TrySendError<T>> {
        let mut future = ChannelFuture::new(&*self.shared, Sending::new(Some(item)));
        match future.wait_for(limit) {
            Some(result) => Ok(result?),
            // `None`: a receiver took the item at the last moment.
            None => match future.cancel() {
                Some(item) => Err(TrySendError::Full(item)),
                None => Ok(()),
            },
        }
    }

    /// As [`send_many`](Self::send_many), and waits on the calling thread.
    ///
    /// # Cost
    /// One short lock for as many items as there is room for.
    ///
    /// # Blocking
    /// As [`send_blocking`](Self::send_blocking).
    ///
    /// # Errors
    /// As [`send_many`](Self::send_many).
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel;
    /// use std::collections::VecDeque;
    /// let (sender, receiver) = channel::unbounded();
    /// let mut items = VecDeque::from([1, 2, 3]);
    /// sender.send_many_blocking(&mut items)?;
    /// assert!(items.is_empty());
    /// let mut received = Vec::new();
    /// assert_eq!(receiver.recv_many_blocking(&mut received, 10), Ok(3));
    /// assert_eq!(received, [1, 2, 3]);
    /// # Ok::<(), channel::SendError<()>>(())
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn send_many_blocking(&self, items: &mut VecDeque<T>) -> Result<(), SendError<()>> {
        ChannelFuture::new(&*self.shared, SendingMany::new(items)).wait()
    }

    /// Sends all `items` from the front; the future waits for room as often as needed. Sent items leave the queue.
    /// [`send_many_blocking`](Self::send_many_blocking) waits on the thread.
    ///
    /// # Cancellation
    /// Dropping the future leaves unsent items in `items`.
    ///
    /// # Errors
    /// [`SendError`] when the channel is closed; unsent items stay in `items`.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel;
    /// use std::collections::VecDeque;
    /// let (sender, receiver) = channel::unbounded();
    /// pollster::block_on(sender.send_many(&mut VecDeque::from([1, 2])))?;
    /// assert_eq!((receiver.recv_blocking(), receiver.recv_blocking()), (Ok(1), Ok(2)));
    /// # Ok::<(), channel::SendError<()>>(())
    /// ```
    #[must_use = "a future does nothing unless awaited; await it, or call `send_many_blocking`"]
    pub fn send_many<'a>(
        &'a self,
        items: &'a mut VecDeque<T>,
    ) -> impl FusedFuture<Output = Result<(), SendError<()>>> + Unpin + fmt::Debug {
        ChannelFuture::new(&*self.shared, SendingMany::new(items))
    }

    /// The channel as a [`Sink`](futures_sink::Sink), which is a sender of its own. Needs the feature `futures`.
    ///
    /// It holds at most one item, which waits for room. Closing it sends that item, and then drops this sender: the
    /// channel stays open as long as there are others.
    ///
    /// # Panics
    /// The sink does when an item is passed to it before it is ready, as the rules of `Sink` forbid.
    ///
    /// # Examples
    /// ```
    /// use futures::{SinkExt, StreamExt};
    /// let (sender, receiver) = manyhands::channel::bounded(1);
    /// let mut sink = sender.into_sink();
    /// pollster::block_on(async {
    ///     futures::join!(
    ///         async {
    ///             (sink.send(1).await, sink.send(2).await, sink.close().await)
    ///         },
    ///         async { assert_eq!(receiver.into_stream().collect::<Vec<u32>>().await, [1, 2]) },
    ///     )
    /// });
    /// ```
    #[doc(alias = "PollSender")]
    #[cfg(feature = "futures")]
    pub fn into_sink(
        self,
    ) -> impl futures_sink::Sink<T, Error = SendError<T>> + Unpin + fmt::Debug {
        super::sink::SendSink::new(self)
    }

    /// A reference to the channel that does not keep it open.
    ///
    /// Example: see [`WeakSender`].
    #[must_use]
    pub fn downgrade(&self) -> WeakSender<T> {
        let shared = Arc::downgrade(&self.shared);
        WeakSender { shared }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // There is one: this.
        self.shared.add_sender();
        Self::new(Arc::clone(&self.shared))
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.shared.remove_sender();
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sender").field(&self.shared).finish()
    }
}
