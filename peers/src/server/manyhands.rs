//! The service on manyhands, with the heavy request in order or in parallel.

use std::net::SocketAddr;

use manyhands::Runtime;
use manyhands::task::{self, Priority};
use tokio::net::TcpListener;

use crate::server::service::connection;
use crate::server::{Server, primes};

#[derive(Debug)]
pub(crate) struct InOrder;

#[derive(Debug)]
pub(crate) struct Parallel;

impl Server for InOrder {
    fn start() -> Result<SocketAddr, String> {
        start(primes::in_order)
    }
}

impl Server for Parallel {
    fn start() -> Result<SocketAddr, String> {
        start(primes::by_manyhands)
    }
}

fn start(heavy: fn() -> u64) -> Result<SocketAddr, String> {
    let runtime = Runtime::builder().tokio().build();
    let runtime: &'static Runtime =
        Box::leak(Box::new(runtime.map_err(|error| error.to_string())?));
    let _entered = runtime.enter();
    let listen = task::spawn(TcpListener::bind("127.0.0.1:0"));
    let listener = task::block_on(listen).map_err(|error| error.to_string())?;
    let listener = listener.map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    drop(task::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let heavy = move || async move {
                // So that what is cheap goes first.
                let background = task::Builder::new().priority(Priority::Background);
                background
                    .run(heavy)
                    .await
                    .expect("counting does not panic")
            };
            drop(task::spawn(connection(stream, heavy)));
        }
    }));
    Ok(address)
}
