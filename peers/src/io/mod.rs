//! Sockets: what a round trip over a loopback TCP connection costs in time and CPU time.
//!
//! Server and clients are tasks of one pool, one of each for a connection; a client sends 64 bytes and waits
//! until they come back, again and again. manyhands uses tokio's sockets, which an
//! idle worker watches; tokio's workers watch them themselves as well, and so do those of smol's parts. Every
//! measurement has a fresh process.

mod compare;
mod manyhands;
mod measure;
mod smol;
mod tokio;

use manyhands_lab::contest::{self, Arm};
use std::io;
use std::net::SocketAddr;

pub(crate) use compare::compare;

/// A pool whose tasks use sockets.
pub(crate) trait Net: Clone + Send + 'static {
    type Sockets: Sockets;

    /// Makes the pool; the error says why there is none.
    fn new() -> Result<Self, String>;

    /// Runs a future as a task.
    fn spawn<F>(&self, future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send> + Send + 'static;

    /// Runs a future on the calling thread, which is none of the pool.
    fn block_on<F: Future>(&self, future: F) -> F::Output;
}

/// Sockets, used inside tasks.
pub(crate) trait Sockets: 'static {
    type Listener: Send + Sync;
    type Stream: Send;

    /// On any free port of this machine.
    fn listen() -> io::Result<(Self::Listener, SocketAddr)>;

    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    fn connect(to: SocketAddr) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Reads until the buffer is full; an error at the end of the stream.
    fn read(
        stream: &mut Self::Stream,
        buffer: &mut [u8],
    ) -> impl Future<Output = io::Result<()>> + Send;

    fn write(
        stream: &mut Self::Stream,
        buffer: &[u8],
    ) -> impl Future<Output = io::Result<()>> + Send;
}

/// The rows of the tables; the first is the base of the ratios, the second its control.
pub(crate) const ARMS: [Arm; 4] = [
    Arm::base("tokio", "tokio"),
    Arm::base("tokio again", "tokio"),
    Arm::contender("manyhands"),
    Arm::contender("smol"),
];

/// Serves one contender; `false` if there is none of this name.
pub(crate) fn serve(contender: &str) -> bool {
    match contender {
        "tokio" => serve_as::<tokio::Tokio>(),
        "manyhands" => serve_as::<manyhands::Manyhands>(),
        "smol" => serve_as::<smol::Smol>(),
        _ => return false,
    }
    true
}

fn serve_as<N: Net>() {
    match N::new() {
        Ok(net) => contest::serve(|request| measure::answer(&net, &request.case)),
        Err(reason) => contest::say_absent(&reason),
    }
}
