//! A channel, as plain values.

use std::panic::Location;
use std::time::Duration;

/// A channel that was made while recording was open and has ends. Not those of `broadcast` and `watch`.
///
/// Example: see [`channel::ChannelOptions::name`](crate::channel::ChannelOptions::name).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelSnapshot {
    /// Its number in this process.
    pub number: u64,
    /// The name from [`channel::ChannelOptions::name`](crate::channel::ChannelOptions::name).
    pub name: Option<String>,
    /// The type of its items.
    pub item_type: &'static str,
    /// Where it was made.
    pub made_at: &'static Location<'static>,
    /// How many items wait in it before senders do; `None` if there is no limit.
    pub capacity: Option<usize>,
    /// The `resource` of the waits for this channel.
    pub resource: usize,
    /// How long ago it was made.
    pub age: Duration,
    /// What is in it and what waits; `None` if it was in use and could not be looked at.
    pub load: Option<ChannelLoad>,
}

/// What is in a channel, and what waits at it.
///
/// Example: see [`channel::ChannelOptions::name`](crate::channel::ChannelOptions::name).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelLoad {
    /// How many items are in it.
    pub len: usize,
    /// How many senders exist.
    pub senders: usize,
    /// How many receivers exist.
    pub receivers: usize,
    /// How many sends wait for room.
    pub senders_waiting: usize,
    /// How many receives wait for an item.
    pub receivers_waiting: usize,
    /// It takes no more items.
    pub is_closed: bool,
}
