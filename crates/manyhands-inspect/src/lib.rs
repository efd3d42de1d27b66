//! What a running program of `manyhands` does, seen from outside: a [`Client`] for its socket, and [tables](text) of
//! what the client receives.
//!
//! The types here are those of the protocol, described in `docs/inspect-protocol.md` of the repository. Fields that a
//! newer program sends and this crate does not know are ignored.
//!
//! # Examples
//! ```no_run
//! let path = manyhands_inspect::default_path(1234); // of the process 1234
//! let mut client = manyhands_inspect::Client::connect(&path)?;
//! println!("{}", manyhands_inspect::text(&client.view(1_000)?));
//! # Ok::<(), manyhands_inspect::Error>(())
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(unix)]
mod client;
mod error;
mod groups;
#[cfg(unix)]
mod place;
pub mod stacks;
mod text;
mod wire;

#[cfg(unix)]
pub use client::Client;
pub use error::Error;
pub use groups::{Group, Groups};
#[cfg(unix)]
pub use place::{default_path, only_path};
pub use text::text;
pub use wire::{Channel, Deadlock, Hello, Load, Loop, Runtime, Task, View, Wait, Worker};
