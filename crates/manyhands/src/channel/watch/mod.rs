//! A channel of one value, whose receivers see the latest.
//!
//! [`watch`](super::watch()) makes it. Sending replaces the value and never waits. A receiver that waits for a change
//! sees the newest value, not each one in between. Values are in an `Arc`: no lock is held while a value is read.
//!
//! # Protocol
//! The value has a version, which rises with each send. Each receiver knows the version that it has seen, and updates
//! it in the very step that returns the value: a wait that is given up has missed nothing.
//!
//! No closure of the user runs under the lock. [`Sender::send_if_modified`] changes a copy of the value, and begins again
//! if the version has changed meanwhile; [`Receiver::wait_for`] looks at a value that it shares with the channel. A
//! closure that panics has changed nothing, and may read the channel. One that sends into it while it modifies its value
//! would make each attempt come too late: that is a panic.
//!
//! # Examples
//! ```
//! use manyhands::channel;
//!
//! let (sender, mut receiver) = channel::watch("starting");
//! assert_eq!(*receiver.latest(), "starting");
//! sender.send("loading")?;
//! sender.send("ready")?;
//! assert_eq!(*receiver.changed_blocking()?, "ready");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod receiver;
mod sender;
mod state;
mod wait_for;

pub use receiver::Receiver;
pub use sender::Sender;

use crate::channel::subscribers::ends;
use state::State;

/// See [`channel::watch`](crate::channel::watch()).
pub(super) fn channel<T>(initial: T) -> (Sender<T>, Receiver<T>) {
    let (core, receiver) = ends(State::new(initial));
    (Sender { core }, Receiver { core: receiver })
}
