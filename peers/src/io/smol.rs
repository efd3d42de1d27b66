//! What smol is made of: async-io's sockets on async-executor, whose threads, as many as there are CPUs, each
//! drive async-io's reactor while they have nothing to run.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use async_executor::Executor;
use async_io::Async;
use futures::{AsyncReadExt, AsyncWriteExt};

use crate::io::{Net, Sockets};

#[derive(Clone, Debug)]
pub(crate) struct Smol(&'static Executor<'static>);

impl Net for Smol {
    type Sockets = AsyncIo;

    fn new() -> Result<Self, String> {
        let executor: &'static Executor<'static> = Box::leak(Box::default());
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cpus {
            thread::spawn(|| async_io::block_on(executor.run(futures::future::pending::<()>())));
        }
        Ok(Self(executor))
    }

    fn spawn<F>(&self, future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.0.spawn(future)
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        async_io::block_on(future)
    }
}

/// async-io's sockets.
#[derive(Debug)]
pub(crate) struct AsyncIo;

impl Sockets for AsyncIo {
    type Listener = Async<TcpListener>;
    type Stream = Async<TcpStream>;

    fn listen() -> io::Result<(Async<TcpListener>, SocketAddr)> {
        let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0))?;
        let address = listener.get_ref().local_addr()?;
        Ok((listener, address))
    }

    async fn accept(listener: &Async<TcpListener>) -> io::Result<Async<TcpStream>> {
        let (stream, _) = listener.accept().await?;
        stream.get_ref().set_nodelay(true)?;
        Ok(stream)
    }

    async fn connect(to: SocketAddr) -> io::Result<Async<TcpStream>> {
        let stream = Async::<TcpStream>::connect(to).await?;
        stream.get_ref().set_nodelay(true)?;
        Ok(stream)
    }

    async fn read(stream: &mut Async<TcpStream>, buffer: &mut [u8]) -> io::Result<()> {
        stream.read_exact(buffer).await
    }

    async fn write(stream: &mut Async<TcpStream>, buffer: &[u8]) -> io::Result<()> {
        stream.write_all(buffer).await
    }
}
