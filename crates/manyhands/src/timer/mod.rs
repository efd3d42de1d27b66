//! Timers: entries inside the futures that wait for them, linked into timing wheels. See the README of this folder.
//!
//! Not here: which wheel a timer goes to and which thread advances it (`runtime/sleep/timers.rs`), and futures
//! (`time`).

mod entry;
mod moment;
mod timers;
mod wheel;

pub(crate) use entry::{Entry, EntryState};
pub(crate) use moment::Moment;
pub(crate) use timers::{NEVER, Timers};
