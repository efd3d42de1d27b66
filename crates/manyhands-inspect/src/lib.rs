//! What a running program of `manyhands` does, seen from outside: a [`Client`] for its socket, and [tables](text) of
//! what the client receives.
//!
//! With the feature `page`, `serve_page` serves a page in the browser that shows the same while the program runs; with
//! the feature `top`, `top` does so in the terminal.
//!
//! The types of what is received are those of `manyhands-wire`, whose lines are described in `docs/inspect-protocol.md` of
//! the repository. Fields that a newer program sends and this crate does not know are ignored.
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
mod answer;
#[cfg(unix)]
mod client;
mod error;
#[cfg(all(any(feature = "page", feature = "top"), unix))]
mod graph;
mod groups;
#[cfg(unix)]
mod looker;
#[cfg(all(feature = "page", unix))]
mod method_graph;
#[cfg(all(feature = "page", unix))]
mod page;
#[cfg(unix)]
mod place;
mod printable;
#[cfg(unix)]
mod record;
mod reports;
#[cfg(all(feature = "page", unix))]
mod sparing;
pub mod stacks;
#[cfg(all(feature = "page", unix))]
mod svg;
#[cfg(all(feature = "page", unix))]
mod task_walks;
mod text;
#[cfg(all(feature = "page", unix))]
mod thread_graph;
mod timeline;
#[cfg(all(feature = "top", unix))]
mod top;
#[cfg(unix)]
mod tracked;
mod view;
mod words;
mod workers;

#[cfg(unix)]
pub use client::Client;
pub use error::Error;
pub use groups::Groups;
pub use manyhands_wire::{
    Channel, Deadlock, Frame, Group, GroupFrame, Hello, InFlight, Load, Loop, LoopReport, Runtime,
    Starvation, Task, Wait, Worker,
};
#[cfg(all(feature = "page", unix))]
pub use page::{PageSettings, serve_page};
#[cfg(unix)]
pub use place::{default_path, only_path};
#[cfg(unix)]
pub use record::record_timeline;
pub use text::text;
pub use timeline::Timeline;
#[cfg(all(feature = "top", unix))]
pub use top::{TopSettings, top};
pub use view::View;

/// Its code is checked as documentation, where there are stacks.
#[cfg(all(
    doctest,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[doc = include_str!("../README.md")]
struct Readme;
