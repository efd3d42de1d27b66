//! What a send into a full channel does.

/// What a send does when the channel is full.
///
/// A rendezvous channel is full when no receiver waits. It has no item to drop but the one that is sent.
///
/// # Examples
/// Three sends into a channel of one item, and what is received:
/// ```
/// use manyhands::channel::{self, WhenFull};
/// let received = |when_full| {
///     let (sender, receiver) = channel::ChannelOptions::new().capacity(1).when_full(when_full).fifo();
///     (1..=3).for_each(|n| drop(sender.try_send(n)));
///     receiver.recv_blocking().unwrap()
/// };
/// assert_eq!(received(WhenFull::Wait), 1); // `try_send` does not wait, and fails
/// assert_eq!(received(WhenFull::DropNewest), 3);
/// assert_eq!(received(WhenFull::DropOldest), 3);
/// assert_eq!(received(WhenFull::DropThis), 1);
/// ```
#[doc(alias = "BoundedChannelFullMode")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// It waits for room.
    #[default]
    Wait,
    /// It drops the item that would be received last, to make room.
    DropNewest,
    /// It drops the item that would be received next, to make room: the oldest of a channel that is first in, first out.
    DropOldest,
    /// It drops the item that it was given.
    #[doc(alias = "DropWrite")]
    DropThis,
}
