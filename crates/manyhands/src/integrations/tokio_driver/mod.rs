//! Tokio's sockets and timers in tasks of this library; only with the feature `tokio`.
//!
//! Tokio's types need a tokio runtime around them, which polls sockets and timers. Two ways
//! to have one:
//!
//! - [`RuntimeBuilder::tokio`](crate::RuntimeBuilder::tokio): all tasks of a runtime run in the tokio context.
//! - [`compat`]: one future runs in it, on whichever thread polls it.
//!
//! This library's workers poll the tasks; tokio only wakes them. An idle worker of a runtime
//! built with `tokio` polls the sockets itself. While no worker polls, one thread of the process does,
//! [`handle`]'s. It starts when it is first needed, and sleeps while it is not; when all
//! workers compute, it takes over after a millisecond, at most about ten.
//!
//! # Examples
//! ```
//! use manyhands::{Runtime, query::prelude::*, task};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! use tokio::net::{TcpListener, TcpStream};
//!
//! let runtime = Runtime::builder().tokio().build()?;
//! let _entered = runtime.enter();
//! let sum = task::block_on(async {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let mut client = TcpStream::connect(listener.local_addr()?).await?;
//!     task::spawn(async move {
//!         let (mut stream, _from) = listener.accept().await?;
//!         let sum: u64 = [20, 22].into_par_query().sum(); // a loop beside the socket, on the same pool
//!         stream.write_u64(sum).await
//!     });
//!     client.read_u64().await
//! })?;
//! assert_eq!(sum, 42);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Which parts of tokio there are, such as `net` and `time`, is up to the program's own dependency on it.
//!
//! # What differs
//! - `tokio::spawn` spawns on tokio's one thread, not on the workers, though a worker that is just falling asleep may run
//!   the task until it first waits. Use [`task::spawn`](crate::task::spawn), and run no long work there, nor block: it delays all
//!   sockets, and keeps that worker's place. While there are such tasks, that thread polls the sockets, and the workers do
//!   not. Which runtime is the current one in such a task depends on the thread: name it by its [`Handle`](crate::Handle).
//! - `tokio::task::spawn_blocking`, and what is built on it, such as `tokio::fs` and the lookup of names, uses
//!   tokio's own pool of threads. [`task::run`](crate::task::run) uses this one.
//! - `tokio::task::spawn_local` panics, because no task here is one of tokio's. `block_in_place` calls its closure and nothing
//!   more: [`task::blocking`](crate::task::blocking) lets another thread run meanwhile.
//! - A closure that has not begun may run on a thread of another runtime that [joins](crate::task::JoinHandle::join) it, and
//!   then in that one's context.
//! - Tokio's cooperative budget covers its own tasks only: a task of this library that reads from a socket which always
//!   has data does not yield by itself. Call [`task::yield_now`](crate::task::yield_now).
//! - A thread that ends destroys its thread-local values, tokio's context among them, and a process that exits those of the
//!   thread that exits. In destructors and exit handlers that run later, what needs the context panics on that thread, and so
//!   does the drop of a guard of the context. Tasks have it as ever.
//! - In a [simulation](crate::simulation) sockets and tokio's timers use the real clock, and their wakes may
//!   come when the simulation has already ended because it had nothing to do.

mod compat;
mod driver;

pub use compat::compat;
pub use driver::handle;
pub(crate) use driver::{Driver, driver, enter};
