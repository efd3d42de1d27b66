//! A hyper server and its clients, all on the pool.

use crate::support::as_task;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use manyhands::{Handle, cancel, channel, parallel, task};
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Anything = Box<dyn Error + Send + Sync>;

const CLIENTS: usize = 8;
const REQUESTS_OF_EACH: usize = 50;

/// Answers `/n` with the sum of all numbers below `n`, by a parallel loop; `/wait` when it is released.
#[derive(Debug, Default)]
struct Sums {
    served: AtomicUsize,
    waiting: AtomicUsize,
    let_go: cancel::TokenSource,
}

impl Sums {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let text = match request.uri().path().trim_start_matches('/') {
            "wait" => {
                self.waiting.fetch_add(1, Ordering::SeqCst);
                self.let_go.token().cancelled().await;
                "at last".to_owned()
            }
            number => sum_below(number.parse().unwrap()).to_string(),
        };
        self.served.fetch_add(1, Ordering::SeqCst);
        Response::new(Full::from(text))
    }

    /// Serves until `stop`, then until every request that was taken has been answered.
    async fn serve(self: Arc<Self>, listener: TcpListener, stop: cancel::Token) -> io::Result<()> {
        let connections = GracefulShutdown::new();
        while let Ok(accepted) = stop.run_until_cancelled(listener.accept()).await {
            let sums = Arc::clone(&self);
            let service = service_fn(move |request| {
                let sums = Arc::clone(&sums);
                async move { Ok::<_, Infallible>(sums.answer(request).await) }
            });
            let connection = http1::Builder::new()
                .timer(Handle::current())
                .header_read_timeout(Duration::from_secs(30))
                .serve_connection(TokioIo::new(accepted?.0), service);
            task::spawn(connections.watch(connection));
        }
        drop(listener);
        connections.shutdown().await;
        Ok(())
    }
}

fn sum_below(end: u64) -> u64 {
    parallel::map_reduce(0..end, |n| n, |a, b| a + b).unwrap_or_default()
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn new_client() -> Client<hyper_util::client::legacy::connect::HttpConnector, Full<Bytes>> {
    Client::builder(Handle::current())
        .pool_timer(Handle::current())
        .build_http()
}

async fn text_of(response: Response<Incoming>) -> Result<String, Anything> {
    let body = response.into_body().collect().await?;
    Ok(String::from_utf8(body.to_bytes().to_vec())?)
}

#[test]
fn every_request_of_many_clients_is_answered() {
    let sums = Arc::new(Sums::default());
    let server = Arc::clone(&sums);
    as_task(async move {
        let (listener, address) = listen().await;
        let stop = cancel::TokenSource::new();
        let serving = task::spawn(server.serve(listener, stop.token()));
        let client = new_client();
        let clients = (0..CLIENTS).map(|number| {
            let client = client.clone();
            task::spawn(async move {
                for request in 0..REQUESTS_OF_EACH {
                    let end = (number * REQUESTS_OF_EACH + request) as u64 * 100;
                    let uri = format!("http://{address}/{end}").parse()?;
                    let sum = text_of(client.get(uri).await?).await?;
                    assert_eq!(sum, (0..end).sum::<u64>().to_string());
                }
                Ok::<_, Anything>(())
            })
        });
        for ended in task::when_all(clients).await {
            ended.unwrap().unwrap();
        }
        stop.cancel();
        serving.await.unwrap().unwrap();
    });
    assert_eq!(
        sums.served.load(Ordering::SeqCst),
        CLIENTS * REQUESTS_OF_EACH
    );
}

#[test]
fn a_graceful_shutdown_answers_the_requests_it_has() {
    let sums = Arc::new(Sums::default());
    as_task(async move {
        let (listener, address) = listen().await;
        let stop = cancel::TokenSource::new();
        let serving = task::spawn(Arc::clone(&sums).serve(listener, stop.token()));
        let client = new_client();
        let requests: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let uri = format!("http://{address}/wait").parse().unwrap();
                let response = client.get(uri);
                task::spawn(async move { text_of(response.await?).await })
            })
            .collect();
        while sums.waiting.load(Ordering::SeqCst) < CLIENTS {
            task::yield_now().await;
        }
        stop.cancel();
        // New requests are refused, but those in progress are answered.
        while TcpStream::connect(address).await.is_ok() {
            task::yield_now().await;
        }
        assert!(!serving.is_finished());
        sums.let_go.cancel();
        for ended in task::when_all(requests).await {
            assert_eq!(ended.unwrap().unwrap(), "at last");
        }
        serving.await.unwrap().unwrap();
    });
}

#[test]
fn a_client_that_is_too_slow_with_its_head_is_sent_away() {
    let (failed, rest) = as_task(async {
        let (listener, address) = listen().await;
        let (failures, failure) = channel::bounded(1);
        task::spawn(async move {
            let (stream, _from) = listener.accept().await.unwrap();
            let service = service_fn(|_| async {
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            });
            let connection = http1::Builder::new()
                .timer(Handle::current())
                .header_read_timeout(Duration::from_millis(20))
                .serve_connection(TokioIo::new(stream), service);
            failures.send(connection.await.unwrap_err()).await
        });
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        (failure.recv().await.unwrap(), rest)
    });
    assert!(failed.is_timeout(), "{failed}");
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}
