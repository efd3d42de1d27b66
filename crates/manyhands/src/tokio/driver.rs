//! The thread on which tokio waits for sockets and timers.
//!
//! One for the process, for ever: sockets outlive the runtimes that opened them, and a thread that sleeps costs
//! nothing.

use crate::sync::{Mutex, lock, thread};
use std::future::pending;
use std::io;
use tokio::runtime::{Builder, Handle};

static DRIVER: Mutex<Option<Handle>> = Mutex::new(None);

/// Tokio's runtime for this process; the first call starts its thread.
///
/// # Errors
/// What the system says when it refuses the thread, or what it takes to wait for sockets. A later call tries
/// again.
///
/// # Examples
/// ```
/// let tokio = manyhands::tokio::handle()?;
/// let entered = tokio.enter();                       // for this thread, while the guard lives
/// let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
/// socket.set_nonblocking(true)?;
/// assert!(tokio::net::UdpSocket::from_std(socket).is_ok());
/// # drop(entered);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn handle() -> io::Result<Handle> {
    let mut driver = lock(&DRIVER);
    if let Some(handle) = &*driver {
        return Ok(handle.clone());
    }
    let handle = start()?;
    *driver = Some(handle.clone());
    Ok(handle)
}

fn start() -> io::Result<Handle> {
    let runtime = Builder::new_current_thread()
        .thread_name("manyhands-tokio-blocking")
        .enable_all()
        .build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("manyhands-tokio".to_owned())
        .spawn(move || runtime.block_on(pending::<()>()))?;
    Ok(handle)
}
