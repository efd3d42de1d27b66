//! A channel each of whose receivers gets every item.
//!
//! [`broadcast`](super::broadcast()) makes it. The channel keeps the newest items, as many as its capacity. A receiver
//! that lags further behind loses items: its next receive reports how many, and the one after that returns the oldest
//! item that is left. Senders never wait.
//!
//! An item is dropped when every receiver has received it, or when a newer one pushes it out.
//!
//! # Examples
//! ```
//! use manyhands::channel::{self, broadcast::RecvError};
//!
//! let (sender, mut first) = channel::broadcast(2);
//! let mut second = sender.subscribe();
//! sender.send("a")?;
//! assert_eq!((first.recv_blocking(), second.recv_blocking()), (Ok("a"), Ok("a")));
//!
//! for item in ["b", "c", "d"] {
//!     sender.send(item)?;
//! }
//! assert_eq!(first.recv_blocking(), Err(RecvError::Lagged(1)));
//! assert_eq!(first.recv_blocking(), Ok("c"));
//! # Ok::<(), channel::SendError<&str>>(())
//! ```

mod error;
mod receiver;
mod sender;
mod state;

pub use error::{RecvError, TryRecvError};
pub use receiver::Receiver;
pub use sender::Sender;

use crate::channel::subscribers::ends;
use state::State;

/// See [`channel::broadcast`](crate::channel::broadcast()).
pub(super) fn channel<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "broadcast channel capacity must be non-zero");
    let (core, receiver) = ends(State::new(capacity));
    (Sender { core }, Receiver { core: receiver })
}
