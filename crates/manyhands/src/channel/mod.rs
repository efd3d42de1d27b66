//! Channels between threads and async code: each end has blocking and async operations.
//!
//! | | |
//! |---|---|
//! | [`unbounded`] | takes any number of items |
//! | [`bounded`] | takes `capacity` items, then senders wait |
//! | [`bounded(0)`](bounded) | takes none: a sender waits for a receiver |
//! | [`ChannelOptions::new().prioritized()`](ChannelOptions::prioritized) | gives the smallest item first |
//! | [`ChannelOptions`] | any of these, and what happens when full |
//! | [`broadcast()`] | gives every item to every receiver |
//! | [`watch()`] | has one value, and shows the latest |
//!
//! Both ends can be cloned. In all but the last two each item is received once. The items of one sender come in
//! the order in which it sent them, unless they are sorted. `send` and `recv` make futures for any executor; they can be
//! dropped at any time, and a dropped receive has taken no item. `send_blocking` and `recv_blocking` wait on the thread.
//!
//! # Closing
//! [`Sender::close`] and [`Receiver::close`] close a channel, with a reason or without; so does dropping the last end
//! of one kind. Items inside can still be received; then receivers get the reason. A [`WeakSender`] does not keep a
//! channel open.
//!
//! # Fairness
//! Waiting receivers and senders are notified in the order in which they began to wait, but a newcomer may
//! take the item or the room first. That keeps items moving while the notified thread wakes up, which takes
//! far longer. If a waiter came too late several times, the channel holds back futures that were not notified, on any
//! executor, so that no future waits for ever because others are always faster. A future that is held back is pending
//! although there is an item or room, and wakes its task at once; `try_recv` and `try_send` are never held back. A notified
//! future should be polled or dropped soon: until then it keeps one item, or room for one, from other waiters.
//!
//! # Examples
//! ```
//! use manyhands::channel;
//! use std::thread;
//!
//! let (sender, receiver) = channel::bounded(128);
//! let producer = thread::spawn(move || (0..1000_u64).try_for_each(|n| sender.send_blocking(n)));
//! assert_eq!(receiver.iter().sum::<u64>(), 499_500);
//! producer.join().unwrap()?;
//! # Ok::<(), channel::SendError<u64>>(())
//! ```
//!
//! A full channel that drops its oldest item; every item for every receiver; the latest value only:
//! ```
//! use manyhands::channel::{self, WhenFull};
//!
//! let (sender, newest) = channel::ChannelOptions::new().capacity(1).when_full(WhenFull::DropOldest).fifo();
//! (1..=3).try_for_each(|n| sender.send_blocking(n))?;
//! assert_eq!(newest.recv_blocking(), Ok(3));
//!
//! let (sender, mut listener) = channel::broadcast(16);
//! let (setting, mut watcher) = channel::watch("dark");
//! sender.send(1)?;
//! setting.send("light").unwrap();
//! assert_eq!((listener.recv_blocking(), watcher.changed_blocking().as_deref()), (Ok(1), Ok(&"light")));
//! # Ok::<(), channel::SendError<u32>>(())
//! ```

pub mod broadcast;
mod buffer;
mod ends;
mod error;
mod future;
mod inner;
mod next;
mod options;
mod receiver;
mod receiver_batch;
mod ring;
mod sender;
#[cfg(feature = "futures")]
mod sink;
mod state;
mod step;
mod stream;
mod subscribers;
mod thread;
pub mod watch;
mod weak_sender;
mod when_full;

pub use error::{CloseReason, RecvError, SendError, TryRecvError, TrySendError};
pub use options::ChannelOptions;
pub use receiver::Receiver;
pub use sender::Sender;
pub(crate) use stream::{IntoIter, RecvStream};
pub use weak_sender::WeakSender;
pub use when_full::WhenFull;

// What the files of this folder name of each other, and how they wait.
use crate::task::{PollWaker, WaitList, WaiterKey};
use buffer::ItemBuffer;
use future::{ChannelFuture, End, Operation, note_wait};
use inner::{ChannelInner, Seen};
use next::{Next, Receives};
use receiver_batch::ReceiverBatch;
use ring::Ring;
use step::{DeferredWakes, Offered, Sending, Taken, Until};
use stream::NextStream;
use subscribers::{HasSubscribers, ReceiverCore, SenderCore, Subscribers};

/// A channel that takes any number of items; sending never waits, so [`try_send`](Sender::try_send) fails only when it
/// is closed.
///
/// # Cost
/// The items lie in two rings, one for senders and one for receivers, which grow by doubling and are swapped. A ring of
/// more than 16 KiB gives memory back when as many items as it has room for have been received while it was less than
/// an eighth full; so a channel that is not used any more keeps its memory.
///
/// # Examples
/// ```
/// let (sender, receiver) = manyhands::channel::unbounded();
/// sender.send_blocking(1)?;
/// assert_eq!(receiver.recv_blocking(), Ok(1));
/// # Ok::<(), manyhands::channel::SendError<u32>>(())
/// ```
#[doc(alias("unbounded_channel", "ConcurrentQueue", "CreateUnbounded"))]
#[must_use]
#[cfg_attr(feature = "inspect", track_caller)]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    ChannelOptions::new().fifo()
}

/// A channel that holds at most `capacity` items; when it is full, sending waits. With a capacity of 0 it is a rendezvous,
/// which holds none: a send completes when a receiver takes the item.
///
/// # Examples
/// ```
/// use manyhands::channel::{self, TrySendError};
/// let (sender, receiver) = channel::bounded(2);
/// sender.send_blocking(1)?;
/// sender.send_blocking(2)?;
/// assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
/// assert_eq!(receiver.recv_blocking(), Ok(1));
/// assert_eq!(sender.try_send(3), Ok(()));
/// # Ok::<(), channel::SendError<u32>>(())
/// ```
#[doc(alias("mpsc", "BlockingCollection", "CreateBounded", "rendezvous"))]
#[must_use]
#[cfg_attr(feature = "inspect", track_caller)]
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    ChannelOptions::new().capacity(capacity).fifo()
}

/// A channel that gives every item to every receiver, and keeps the newest `capacity` items for receivers that lag. See
/// [`broadcast`](mod@broadcast).
///
/// # Panics
/// If `capacity` is 0.
///
/// # Examples
/// ```
/// let (sender, mut receiver) = manyhands::channel::broadcast(16);
/// let mut other = receiver.clone();
/// sender.send("news")?;
/// assert_eq!((receiver.recv_blocking(), other.recv_blocking()), (Ok("news"), Ok("news")));
/// # Ok::<(), manyhands::channel::SendError<&str>>(())
/// ```
#[must_use]
pub fn broadcast<T>(capacity: usize) -> (broadcast::Sender<T>, broadcast::Receiver<T>) {
    broadcast::channel(capacity)
}

/// A channel of one value, whose receivers see the latest. See [`watch`](mod@watch).
///
/// # Examples
/// ```
/// let (sender, mut receiver) = manyhands::channel::watch(0);
/// sender.send(1)?;
/// sender.send(2)?;
/// assert_eq!(*receiver.changed_blocking()?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "BroadcastBlock")]
#[must_use]
pub fn watch<T>(initial: T) -> (watch::Sender<T>, watch::Receiver<T>) {
    watch::channel(initial)
}
