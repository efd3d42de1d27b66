//! The public surface of async-task, on the task cells of [manyhands](../manyhands/index.html).
//!
//! With this crate in place of the original, by one line in a program's manifest, the tasks of smol, and of every other
//! executor that is made with async-task, are such cells:
//!
//! ```toml
//! [patch.crates-io]
//! async-task = { path = "…/compat/async-task" }
//! ```
//!
//! [`spawn`] makes a future a [`Runnable`], which an executor runs, and a [`Task`], with which others wait for it.
//! Whenever the future is woken, the schedule function gets the runnable again. [`Builder`] adds metadata.
//!
//! What is the same as in the original, and what is not, is in this crate's README.
//!
//! # Examples
//! ```
//! use std::future::ready;
//! use std::sync::mpsc;
//! let (sender, queue) = mpsc::channel();
//! let schedule = move |runnable| sender.send(runnable).unwrap();
//! let (runnable, task) = async_task::spawn(ready(6 * 7), schedule);
//! runnable.schedule();
//! queue.recv().unwrap().run();
//! assert_eq!(smol::block_on(task), 42);
//! ```

#![deny(unsafe_code)]

#[expect(
    unsafe_code,
    reason = "a future that need not be sent or may borrow; see the file's header"
)]
mod builder;
#[expect(
    unsafe_code,
    reason = "a future stays on its thread; see the file's header"
)]
mod local;
#[expect(unsafe_code, reason = "a task as a pointer; see the file's header")]
mod runnable;
mod schedule;
mod task;

pub use builder::{Builder, spawn, spawn_local, spawn_unchecked};
pub use runnable::Runnable;
pub use schedule::{Schedule, ScheduleInfo, WithInfo};
pub use task::{FallibleTask, Task};
