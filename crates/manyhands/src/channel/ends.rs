//! What both ends ask of a channel beside items: to close, how much is inside, when it is ready, closed or drained.
//!
//! Not here: sending (`sender.rs`) and receiving (`receiver.rs`).

use crate::channel::state::State;
use crate::channel::{CloseReason, Receiver, Sender, Until};
use futures_core::future::FusedFuture;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

impl<T> Sender<T> {
    /// Closes the channel: no more items go in, those inside can still be received. Waiting senders get
    /// their items back. Returns whether the channel was open.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// sender.send_blocking(1)?;
    /// assert!(sender.close());
    /// assert!(!sender.close());
    /// assert_eq!(receiver.recv_blocking(), Ok(1));
    /// assert!(receiver.recv_blocking().is_err());
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "TryComplete")]
    pub fn close(&self) -> bool {
        self.shared.close(None)
    }

    /// As [`close`](Self::close), with a reason, which every receive gets that finds the channel closed and drained, and
    /// every wait for either. Sends get their items back, and no reason. The first reason stays.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded::<u32>();
    /// assert!(sender.close_with("no more paper"));
    /// let closed = receiver.recv_blocking().unwrap_err();
    /// assert_eq!(closed.reason().unwrap().to_string(), "no more paper");
    /// ```
    #[doc(alias = "Complete")]
    pub fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.shared.close(Some(Arc::from(reason.into())))
    }

    /// Whether the channel is closed.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded::<u32>();
    /// assert!(!sender.is_closed());
    /// drop(receiver);
    /// assert!(sender.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// How many items wait to be received. In a rendezvous channel it counts the items on their way to a waiting
    /// receiver.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// sender.send_blocking(1)?;
    /// assert_eq!((sender.len(), receiver.len()), (1, 1));
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias = "Count")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.buffered()
    }

    /// Whether no item waits to be received.
    ///
    /// # Examples
    /// ```
    /// let (sender, _receiver) = manyhands::channel::unbounded::<u32>();
    /// assert!(sender.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many items the channel holds at most; `None` if there is no limit.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel;
    /// assert_eq!(channel::bounded::<u32>(8).0.capacity(), Some(8));
    /// assert_eq!(channel::unbounded::<u32>().0.capacity(), None);
    /// ```
    #[must_use]
    pub fn capacity(&self) -> Option<usize> {
        self.shared.capacity()
    }

    /// Waits until an item can be sent without waiting, and gives true; false when the channel is closed. So an item need
    /// not be made before there is room. [`wait_ready_blocking`](Self::wait_ready_blocking) waits on the thread.
    ///
    /// No room is reserved: another sender may be faster, so what follows is [`try_send`](Self::try_send), which may find
    /// the channel full. All that wait are woken together. In a rendezvous channel there is room while more receivers wait
    /// than items are on their way to them: if a sender and a receiver both only wait until it is ready, they never meet.
    ///
    /// # Cancellation
    /// Dropping the future takes no room, and no notification of it from another sender.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel::{self, TrySendError};
    /// let (sender, receiver) = channel::bounded(1);
    /// let producer = std::thread::spawn(move || pollster::block_on(async {
    ///     let mut made = 0;
    ///     while made < 3 && sender.wait_ready().await {
    ///         match sender.try_send(made) {
    ///             Ok(()) => made += 1,
    ///             Err(TrySendError::Full(_)) => {} // another sender was faster
    ///             Err(TrySendError::Closed(_)) => break,
    ///         }
    ///     }
    /// }));
    /// assert_eq!(receiver.iter().collect::<Vec<u32>>(), [0, 1, 2]);
    /// producer.join().unwrap();
    /// ```
    #[doc(alias("WaitToWriteAsync", "writable", "poll_ready", "reserve", "Permit"))]
    #[must_use = "a future does nothing unless awaited; await it, or call `wait_ready_blocking`"]
    pub fn wait_ready(&self) -> impl FusedFuture<Output = bool> + Unpin + fmt::Debug {
        self.shared.until(Until::Writable, State::is_open)
    }

    /// As [`wait_ready`](Self::wait_ready), and waits on the calling thread.
    ///
    /// # Blocking
    /// While the channel is full. The runtime lets another worker run while one waits here.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::bounded::<u32>(1);
    /// assert!(sender.wait_ready_blocking());
    /// receiver.close();
    /// assert!(!sender.wait_ready_blocking());
    /// ```
    #[must_use = "whether an item can be sent"]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn wait_ready_blocking(&self) -> bool {
        self.shared.until(Until::Writable, State::is_open).wait()
    }

    /// Whether both send into one channel.
    ///
    /// Example: see [`WeakSender`](super::WeakSender).
    #[must_use]
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Waits until the channel is closed, and returns the reason as an error if there is one. So a producer
    /// learns that its items are not wanted any more. [`wait_closed_blocking`](Self::wait_closed_blocking) waits on the
    /// thread.
    ///
    /// # Errors
    /// The reason given to [`close_with`](Self::close_with).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded::<u32>();
    /// drop(receiver);
    /// assert!(pollster::block_on(sender.wait_closed()).is_ok());
    /// ```
    #[doc(alias = "closed")]
    #[must_use = "a future does nothing unless awaited; await it, or call `wait_closed_blocking`"]
    pub fn wait_closed(
        &self,
    ) -> impl FusedFuture<Output = Result<(), CloseReason>> + Unpin + fmt::Debug {
        self.shared.until(Until::Closed, State::end)
    }

    /// As [`wait_closed`](Self::wait_closed), and waits on the calling thread.
    ///
    /// # Blocking
    /// While the channel is open. The runtime lets another worker run while one waits here.
    ///
    /// # Errors
    /// The reason given to [`close_with`](Self::close_with).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded::<u32>();
    /// receiver.close();
    /// assert!(sender.wait_closed_blocking().is_ok());
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn wait_closed_blocking(&self) -> Result<(), CloseReason> {
        self.shared.until(Until::Closed, State::end).wait()
    }

    /// Waits until the channel is closed and every item has been received. Returns the reason of the close as an error
    /// if there is one. [`wait_drained_blocking`](Self::wait_drained_blocking) waits on the thread.
    ///
    /// # Errors
    /// The reason given to [`close_with`](Self::close_with).
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded();
    /// let consumer = std::thread::spawn(move || receiver.iter().sum::<u32>());
    /// sender.send_blocking(7).unwrap();
    /// sender.close();
    /// assert!(pollster::block_on(sender.wait_drained()).is_ok());
    /// assert_eq!(consumer.join().unwrap(), 7);
    /// ```
    #[doc(alias = "Completion")]
    #[must_use = "a future does nothing unless awaited; await it, or call `wait_drained_blocking`"]
    pub fn wait_drained(
        &self,
    ) -> impl FusedFuture<Output = Result<(), CloseReason>> + Unpin + fmt::Debug {
        self.shared.until(Until::Drained, State::end)
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
    /// let (sender, _receiver) = manyhands::channel::unbounded::<u32>();
    /// sender.close_with("enough");
    /// assert_eq!(sender.wait_drained_blocking().unwrap_err().to_string(), "enough");
    /// ```
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn wait_drained_blocking(&self) -> Result<(), CloseReason> {
        self.shared.until(Until::Drained, State::end).wait()
    }
}

impl<T> Receiver<T> {
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
        self.shared.close(None)
    }

    /// As [`close`](Self::close), with a reason, which every receive gets that finds the channel closed and drained, and
    /// every wait for either. Sends get their items back, and no reason. The first reason stays.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::unbounded::<u32>();
    /// receiver.close_with("enough");
    /// assert_eq!(sender.wait_closed_blocking().unwrap_err().to_string(), "enough");
    /// ```
    pub fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.shared.close(Some(Arc::from(reason.into())))
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
    #[doc(alias("WaitToReadAsync", "readable"))]
    #[must_use = "a future does nothing unless awaited; await it, or call `wait_ready_blocking`"]
    pub fn wait_ready(&self) -> impl FusedFuture<Output = bool> + Unpin + fmt::Debug {
        self.shared.until(Until::Readable, State::may_give)
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
        self.shared.until(Until::Readable, State::may_give).wait()
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
        self.shared.until(Until::Drained, State::end)
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
        self.shared.until(Until::Drained, State::end).wait()
    }
}
