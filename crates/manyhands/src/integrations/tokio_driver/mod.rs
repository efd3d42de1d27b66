//! Tokio's sockets and timers in tasks of this library; only with the feature `tokio`.
//!
//! What tokio offers asks for a tokio runtime around it, which watches sockets and the clock for it. Two ways
//! to have one:
//!
//! - [`Builder::tokio`](crate::Builder::tokio): all tasks of a runtime have it around them.
//! - [`compat`]: one future has it around it, whichever thread polls it.
//!
//! Tasks are still polled by this library's workers; tokio only tells them when to go on. A worker of a runtime
//! built with `tokio` that has nothing to do waits for sockets itself. Where none does, one thread of the process
//! stands in, [`handle`]'s. It starts when it is first asked for, and sleeps while it is not needed; when all
//! workers compute, it may take a millisecond, at most about ten, until it is there.
//!
//! # Examples
//! ```
//! use manyhands::{Runtime, parallel, task};
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
//!         let sum: u64 = parallel::sum(&[20, 22]); // a loop beside the socket, on the same pool
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
//! # What goes elsewhere
//! - `tokio::spawn` spawns on tokio's one thread, not on the pool. Use [`task::spawn`](crate::task::spawn), and
//!   keep long work away from there: all sockets wait for it. While there are such tasks, that thread waits for
//!   sockets, and the workers do not.
//! - `tokio::task::spawn_blocking`, and what is built on it, such as `tokio::fs` and the lookup of names, uses
//!   tokio's own pool of threads. [`task::run`](crate::task::run) uses this one.
//! - `tokio::task::spawn_local` and `block_in_place` panic, because no task here is one of tokio's.
//! - A task that reads from a socket that always has more is not made to pause: tokio does that only for its
//!   own tasks. [`task::yield_now`](crate::task::yield_now) does.
//! - In a [simulation](crate::simulation) sockets and tokio's timers go by the real clock, and their wakes may
//!   come when the simulation has already ended for want of anything to do.

mod compat;
mod driver;

pub use compat::compat;
pub use driver::handle;
pub(crate) use driver::{Driver, driver};
