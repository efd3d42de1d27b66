//! What a send into a full channel does.

/// What a send does when the channel is full.
///
/// A rendezvous channel is full when no receiver waits. It has no item to drop but the one that is sent.
#[doc(alias = "BoundedChannelFullMode")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// It waits for room.
    #[default]
    Wait,
    /// It drops the item that would be received last, to make room.
    DropNewest,
    /// It drops the item that would be received next, to make room.
    DropOldest,
    /// It drops the item that it was given.
    #[doc(alias = "DropWrite")]
    DropThis,
}
