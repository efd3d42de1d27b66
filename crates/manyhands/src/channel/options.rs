//! Options of a channel, before it is made.

use crate::channel::inner::OnDrop;
use crate::channel::{ChannelInner, ItemBuffer, Receiver, Sender, WhenFull};
use std::fmt;
use std::sync::Arc;

/// Options of a channel, before it is made. [`fifo`](Self::fifo) and [`prioritized`](Self::prioritized) make the
/// channel.
///
/// # Examples
/// ```
/// use manyhands::channel::{self, WhenFull};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// static LOST: AtomicU32 = AtomicU32::new(0);
/// let (sender, receiver) = channel::ChannelOptions::new()
///     .capacity(2)
///     .when_full(WhenFull::DropOldest)
///     .on_drop(|lost: u32| {
///         LOST.fetch_add(lost, Ordering::Relaxed);
///     })
///     .fifo();
/// for n in 1..=4 {
///     sender.send_blocking(n)?;
/// }
/// assert_eq!((receiver.recv_blocking(), receiver.recv_blocking()), (Ok(3), Ok(4)));
/// assert_eq!(LOST.load(Ordering::Relaxed), 1 + 2);
/// # Ok::<(), channel::SendError<u32>>(())
/// ```
#[doc(alias = "BoundedChannelOptions")]
#[must_use = "options do nothing until a channel is made of them"]
pub struct ChannelOptions<T> {
    capacity: usize,
    when_full: WhenFull,
    on_drop: Option<OnDrop<T>>,
    name: Option<Box<str>>,
}

impl<T> Default for ChannelOptions<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ChannelOptions<T> {
    /// Options to begin with: no limit, and sends wait when the channel is full.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel::{self, ChannelOptions, WhenFull};
    /// let (sender, receiver) = ChannelOptions::new().capacity(1).when_full(WhenFull::DropOldest).fifo();
    /// (1..=3).try_for_each(|n| sender.send_blocking(n))?;
    /// assert_eq!(receiver.recv_blocking(), Ok(3));
    /// # Ok::<(), channel::SendError<u32>>(())
    /// ```
    pub fn new() -> Self {
        Self {
            capacity: usize::MAX,
            when_full: WhenFull::Wait,
            on_drop: None,
            name: None,
        }
    }

    /// At most `count` items wait to be received. With 0 a sender passes its item to a waiting receiver, as in
    /// rendezvous.
    ///
    /// Example: see [`ChannelOptions`].
    #[doc(alias = "BoundedCapacity")]
    pub fn capacity(mut self, count: usize) -> Self {
        self.capacity = count;
        self
    }

    /// What a send does when the channel is full.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel::{self, WhenFull};
    /// let (sender, receiver) = channel::ChannelOptions::new().capacity(1).when_full(WhenFull::DropNewest).fifo();
    /// (1..=3).try_for_each(|n| sender.send_blocking(n))?;
    /// assert_eq!(receiver.recv_blocking(), Ok(3));
    /// # Ok::<(), channel::SendError<u32>>(())
    /// ```
    pub fn when_full(self, when_full: WhenFull) -> Self {
        Self { when_full, ..self }
    }

    /// Calls `callback` once with each item that a full channel drops, on the sending thread and outside any lock.
    /// Without a callback such items are dropped.
    ///
    /// Items that are left when the last receiver is dropped do not reach the callback. A panic of the callback
    /// propagates from the send, which has taken effect by then; the rest of a `send_many` stays unsent.
    ///
    /// Example: see [`ChannelOptions`].
    #[doc(alias = "itemDropped")]
    pub fn on_drop(mut self, callback: impl Fn(T) + Send + Sync + 'static) -> Self {
        self.on_drop = Some(Box::new(callback));
        self
    }

    /// A name, for a look at the running program with the feature `inspect`. Otherwise it is not kept.
    ///
    /// # Examples
    /// ```
    /// use manyhands::channel;
    /// # #[cfg(feature = "inspect")]
    /// manyhands::diagnostics::open();
    /// let (sender, receiver) = channel::ChannelOptions::new().name("orders").capacity(8).fifo();
    /// sender.send_blocking(7)?;
    /// # #[cfg(feature = "inspect")] {
    /// let channels = manyhands::inspect::snapshot().channels;
    /// let orders = channels.iter().find(|channel| channel.name.as_deref() == Some("orders")).unwrap();
    /// assert_eq!((orders.capacity, orders.load.map(|load| load.len)), (Some(8), Some(1)));
    /// # }
    /// assert_eq!(receiver.recv_blocking(), Ok(7));
    /// # Ok::<(), channel::SendError<i32>>(())
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        let name: String = name.into();
        self.name = Some(name.into_boxed_str());
        self
    }

    /// Makes a channel from which items are received in the order in which they were sent.
    ///
    /// Example: see [`ChannelOptions`].
    #[must_use]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn fifo(self) -> (Sender<T>, Receiver<T>) {
        self.make(ItemBuffer::fifo())
    }

    /// Makes a channel from which the smallest item is received first, and the older one of equals. Senders that wait get
    /// their items in one after the other, so nothing is sorted where the capacity is 0.
    ///
    /// For the greatest first, send [`std::cmp::Reverse`].
    ///
    /// A send compares items under the channel's lock, so that others may wait for its end: a comparison must not use
    /// the channel, nor wait for what does.
    ///
    /// # Cost
    /// The logarithm of the number of items, for each send and receive.
    ///
    /// # Panics
    /// Sends do where a comparison does. The panic hook then runs under the lock, and the item is dropped there. What the same
    /// call has sent before stays sent, items that it has not come to stay in its queue, and the channel goes on.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::ChannelOptions::new().capacity(8).prioritized();
    /// [3, 1, 2].into_iter().try_for_each(|n| sender.send_blocking(n))?;
    /// assert_eq!(receiver.recv_blocking(), Ok(1));
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[doc(alias("PriorityQueue", "CreateUnboundedPrioritized"))]
    #[must_use]
    #[cfg_attr(feature = "inspect", track_caller)]
    pub fn prioritized(self) -> (Sender<T>, Receiver<T>)
    where
        T: Ord + Send + 'static,
    {
        self.make(ItemBuffer::sorted())
    }

    #[cfg_attr(feature = "inspect", track_caller)]
    fn make(self, buffer: ItemBuffer<T>) -> (Sender<T>, Receiver<T>) {
        let shared = ChannelInner::new(buffer, self.capacity, self.when_full, self.on_drop);
        let shared = Arc::new(shared);
        shared
            .record
            .made::<T, _>(&*shared, self.name, shared.capacity());
        (Sender::new(Arc::clone(&shared)), Receiver::new(shared))
    }
}

impl<T> fmt::Debug for ChannelOptions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelOptions")
            .field("capacity", &self.capacity)
            .field("when_full", &self.when_full)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
