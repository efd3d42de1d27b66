//! The sending end.

use crate::channel::broadcast::Receiver;
use crate::channel::broadcast::state::State;
use crate::channel::subscribers::{not_sent, notify};
use crate::channel::{SendError, SenderCore};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Sends to every receiver. Clones are equal; dropping the last one closes the channel.
///
/// None of its calls waits for receivers: each takes a short lock.
///
/// # Examples
/// ```
/// let (sender, mut quick) = manyhands::channel::broadcast(8);
/// let slow = sender.subscribe();
/// sender.send("news")?;
/// assert_eq!(quick.recv_blocking(), Ok("news"));
/// assert_eq!(sender.len(), 1); // `slow` has not received it
/// drop(slow);
/// assert!(sender.is_empty() && !sender.is_closed());
/// assert!(sender.close_with("the end of the day"));
/// assert!(sender.is_closed());
/// assert_eq!(sender.send("late").unwrap_err().into_inner(), "late");
/// # Ok::<(), manyhands::channel::SendError<&str>>(())
/// ```
pub struct Sender<T> {
    pub(super) core: SenderCore<State<T>>,
}

impl<T> Sender<T> {
    /// Sends to all current receivers, and returns how many there are. Without any the item is dropped.
    ///
    /// # Cost
    /// One allocation, one short lock, and a wake for each receiver that waits.
    ///
    /// # Errors
    /// [`SendError`] with the item when the channel was closed by [`close`](Self::close).
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::broadcast(8);
    /// let mut other = receiver.clone();
    /// assert_eq!(sender.send(5), Ok(2));
    /// assert_eq!((receiver.recv_blocking(), other.recv_blocking()), (Ok(5), Ok(5)));
    /// ```
    pub fn send(&self, item: T) -> Result<usize, SendError<T>> {
        let item = Arc::new(item);
        let mut state = self.core.lock();
        if state.subscribers.closed.is_some() {
            drop(state);
            return Err(not_sent(item));
        }
        let unwanted = state.push(item);
        let count = state.subscribers.receiver_count;
        notify(state);
        drop(unwanted);
        Ok(count)
    }

    /// A receiver of all items sent from now on.
    ///
    /// # Examples
    /// ```
    /// let (sender, _) = manyhands::channel::broadcast(8);
    /// sender.send(1)?;
    /// let mut late = sender.subscribe();
    /// sender.send(2)?;
    /// assert_eq!(late.recv_blocking(), Ok(2));
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    #[must_use]
    pub fn subscribe(&self) -> Receiver<T> {
        let core = self.core.subscribe();
        Receiver { core }
    }

    /// How many receivers there are.
    ///
    /// # Examples
    /// ```
    /// let (sender, receiver) = manyhands::channel::broadcast::<u32>(16);
    /// let other = sender.subscribe();
    /// assert_eq!(sender.receiver_count(), 2);
    /// # drop((receiver, other));
    /// ```
    #[must_use]
    pub fn receiver_count(&self) -> usize {
        self.core.receiver_count()
    }

    /// How many items have not been received by every receiver.
    ///
    /// Example: see [`Sender`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.core.lock().len()
    }

    /// Whether every receiver has received every item.
    ///
    /// Example: see [`Sender`].
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Closes the channel: receivers get the remaining items, then the end. Returns whether the channel was open.
    ///
    /// # Examples
    /// ```
    /// let (sender, mut receiver) = manyhands::channel::broadcast(8);
    /// sender.send(1)?;
    /// assert!(sender.close());
    /// assert_eq!(receiver.recv_blocking(), Ok(1));
    /// assert!(receiver.recv_blocking().is_err());
    /// # Ok::<(), manyhands::channel::SendError<u32>>(())
    /// ```
    pub fn close(&self) -> bool {
        self.core.close(None)
    }

    /// As [`close`](Self::close), with a reason that every receiver gets. The first reason stays.
    ///
    /// Example: see [`Sender`].
    pub fn close_with(&self, reason: impl Into<Box<dyn Error + Send + Sync>>) -> bool {
        self.core.close(Some(Arc::from(reason.into())))
    }

    /// Whether the channel is closed.
    ///
    /// Example: see [`Sender`].
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.core.is_closed()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        let core = self.core.clone();
        Self { core }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("len", &self.len())
            .field("is_closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
