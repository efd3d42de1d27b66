//! The service on tokio, with the heavy request on its blocking threads, on as many of them as there are processors, or on
//! rayon.

use std::net::SocketAddr;
use std::thread;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task;

use crate::server::service::connection;
use crate::server::{Server, primes};

#[derive(Debug)]
pub(crate) struct Blocking;

/// As many blocking threads as processors, as a pool has workers: what more threads than these change.
#[derive(Debug)]
pub(crate) struct FewBlocking;

#[derive(Debug)]
pub(crate) struct OnRayon;

impl Server for Blocking {
    fn start() -> Result<SocketAddr, String> {
        start(MANY, blocking)
    }
}

impl Server for FewBlocking {
    fn start() -> Result<SocketAddr, String> {
        start(
            thread::available_parallelism().map_or(1, usize::from),
            blocking,
        )
    }
}

async fn blocking() -> u64 {
    let counted = task::spawn_blocking(primes::in_order).await;
    counted.expect("counting does not panic")
}

impl Server for OnRayon {
    fn start() -> Result<SocketAddr, String> {
        let heavy = || async {
            let (sender, receiver) = oneshot::channel();
            // A client that has gone wants no answer.
            rayon::spawn(|| {
                let _ = sender.send(primes::by_rayon());
            });
            receiver.await.expect("counting does not panic")
        };
        start(MANY, heavy)
    }
}

fn start<H, F>(blocking_threads: usize, heavy: H) -> Result<SocketAddr, String>
where
    H: Fn() -> F + Copy + Send + Sync + 'static,
    F: Future<Output = u64> + Send + 'static,
{
    let mut builder = Builder::new_multi_thread();
    builder.max_blocking_threads(blocking_threads);
    let runtime = builder.enable_io().build();
    let runtime: &'static Runtime =
        Box::leak(Box::new(runtime.map_err(|error| error.to_string())?));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
    let listener = listener.map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            task::spawn(connection(stream, heavy));
        }
    });
    Ok(address)
}

/// tokio's default.
const MANY: usize = 512;
