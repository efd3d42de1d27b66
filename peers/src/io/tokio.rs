//! tokio's sockets on tokio's multi-thread runtime, with as many workers as there are CPUs.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

use crate::io::{Net, Sockets};

#[derive(Clone, Debug)]
pub(crate) struct Tokio(Arc<Runtime>);

impl Net for Tokio {
    type Sockets = TokioSockets;

    fn new() -> Result<Self, String> {
        let runtime = Builder::new_multi_thread().enable_io().build();
        runtime
            .map(|runtime| Self(Arc::new(runtime)))
            .map_err(|error| format!("the runtime could not be made: {error}"))
    }

    fn spawn<F>(&self, future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let task = self.0.spawn(future);
        async { task.await.expect("no task here panics") }
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

/// tokio's sockets, on whatever pool they are used.
#[derive(Debug)]
pub(crate) struct TokioSockets;

impl Sockets for TokioSockets {
    type Listener = TcpListener;
    type Stream = TcpStream;

    fn listen() -> io::Result<(TcpListener, SocketAddr)> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((TcpListener::from_std(listener)?, address))
    }

    async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn connect(to: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn read(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<()> {
        stream.read_exact(buffer).await.map(drop)
    }

    async fn write(stream: &mut TcpStream, buffer: &[u8]) -> io::Result<()> {
        stream.write_all(buffer).await
    }
}
