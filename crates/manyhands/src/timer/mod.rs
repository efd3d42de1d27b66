//! Timers: entries that live where they are waited for, in wheels that whoever has the time turns.
//!
//! Not here: which wheel a timer goes to and who turns it (`runtime/sleep/timers.rs`), and futures (`time`).

mod entry;
mod moment;
mod timers;
mod wheel;

pub(crate) use entry::{Entry, Standing};
pub(crate) use moment::Moment;
pub(crate) use timers::{Closed, Earlier, NEVER, Timers};
