//! The service on tokio, with the heavy request on its blocking threads or on rayon.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task;

use crate::server::service::connection;
use crate::server::{Server, primes};

#[derive(Debug)]
pub(crate) struct Blocking;

#[derive(Debug)]
pub(crate) struct OnRayon;

impl Server for Blocking {
    fn start() -> Result<SocketAddr, String> {
        let heavy = || async {
            let counted = task::spawn_blocking(primes::in_order).await;
            counted.expect("counting does not panic")
        };
        start(heavy)
    }
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
        start(heavy)
    }
}

fn start<H, F>(heavy: H) -> Result<SocketAddr, String>
where
    H: Fn() -> F + Copy + Send + Sync + 'static,
    F: Future<Output = u64> + Send + 'static,
{
    let runtime = Builder::new_multi_thread().enable_io().build();
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
