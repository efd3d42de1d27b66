//! How to run: `cargo run --release --example 12_hyper_server --features hyper,tokio`
//!
//! A hyper server whose connections are tasks of the pool and whose dearer answers are parallel loops on the
//! same pool; and 32 clients, on it too, that send 10,000 requests over connections they keep. None may fail.

#![expect(clippy::print_stdout, reason = "it shows what it measured")]

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use manyhands::{Handle, Runtime, cancel, parallel, task, time};
use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::time::Duration;
use tokio::net::TcpListener;

type Anything = Box<dyn Error + Send + Sync>;
type HttpClient = Client<HttpConnector, Full<Bytes>>;

const CLIENTS: usize = 32;
const REQUESTS: usize = 10_000;
/// One request in this many is a dear one.
const DEAR_EVERY: usize = 25;
const PRIMES_BELOW: u32 = 30_000;
const PRIMES: &str = "3245";

fn main() -> Result<(), Anything> {
    let runtime = Runtime::builder().tokio().build()?;
    let _entered = runtime.enter();
    let report = task::block_on(task::spawn(serve_and_ask()))??;
    report.print();
    assert_eq!(report.answered(), REQUESTS);
    assert_eq!(report.failures, 0);
    Ok(())
}

/// Starts the server, asks it everything, and stops it.
async fn serve_and_ask() -> Result<Report, Anything> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let stop = cancel::TokenSource::new();
    let server = task::spawn(serve(listener, stop.token()));

    let client = Client::builder(Handle::current())
        .pool_timer(Handle::current())
        .build_http();
    let start = time::now();
    let clients = (0..CLIENTS).map(|number| {
        let client: HttpClient = client.clone();
        let base = format!("http://{address}");
        task::spawn(async move { ask(&client, &base, number).await })
    });
    let mut report = Report::default();
    for part in task::when_all(clients).await {
        report.add(part??);
    }
    report.took = time::now() - start;
    drop(client);
    stop.cancel();
    server.await??;
    Ok(report)
}

/// Accepts until it is stopped, then lets the connections end what they are about.
async fn serve(listener: TcpListener, stop: cancel::Token) -> io::Result<()> {
    let connections = GracefulShutdown::new();
    while let Ok(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let (stream, _from) = accepted?;
        stream.set_nodelay(true)?;
        let connection = http1::Builder::new()
            .timer(Handle::current())
            .header_read_timeout(Duration::from_secs(10))
            .serve_connection(TokioIo::new(stream), service_fn(answer));
        task::spawn(connections.watch(connection));
    }
    connections.shutdown().await;
    Ok(())
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = match request.uri().path() {
        "/primes" => count_primes().to_string(),
        _ => "hello".to_owned(),
    };
    Ok(Response::new(Full::from(text)))
}

/// About a millisecond of work, shared out if that pays.
fn count_primes() -> usize {
    let is_prime = |n: u32| {
        (2..)
            .take_while(|d| d * d <= n)
            .all(|d| !n.is_multiple_of(d))
    };
    let one_if_prime = |n| usize::from(is_prime(n));
    parallel::map_reduce(2..PRIMES_BELOW, one_if_prime, |a, b| a + b).unwrap_or_default()
}

/// One client's share of the requests, one after the other.
async fn ask(client: &HttpClient, base: &str, number: usize) -> Result<Report, Anything> {
    let cheap: Uri = format!("{base}/").parse()?;
    let dear: Uri = format!("{base}/primes").parse()?;
    let mut report = Report::default();
    for request in (number..REQUESTS).step_by(CLIENTS) {
        let is_dear = request % DEAR_EVERY == 0;
        let (uri, expected, times) = if is_dear {
            (&dear, PRIMES, &mut report.dear)
        } else {
            (&cheap, "hello", &mut report.cheap)
        };
        let start = time::now();
        match text_of(client, uri.clone()).await {
            Ok(text) if text == expected => times.push(time::now() - start),
            _ => report.failures += 1,
        }
    }
    Ok(report)
}

async fn text_of(client: &HttpClient, uri: Uri) -> Result<String, Anything> {
    let body = client.get(uri).await?.into_body().collect().await?;
    Ok(String::from_utf8(body.to_bytes().to_vec())?)
}

/// How long the good answers took, and how many were none.
#[derive(Debug, Default)]
struct Report {
    cheap: Vec<Duration>,
    dear: Vec<Duration>,
    failures: usize,
    took: Duration,
}

impl Report {
    fn answered(&self) -> usize {
        self.cheap.len() + self.dear.len()
    }

    fn add(&mut self, mut part: Self) {
        self.cheap.append(&mut part.cheap);
        self.dear.append(&mut part.dear);
        self.failures += part.failures;
    }

    fn print(&self) {
        let (answered, seconds) = (self.answered(), self.took.as_secs_f64());
        println!(
            "{answered} answers and {} failures in {seconds:.2} s, to {CLIENTS} clients at once",
            self.failures
        );
        print_percentiles("/", &self.cheap);
        print_percentiles("/primes", &self.dear);
    }
}

fn print_percentiles(route: &str, times: &[Duration]) {
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!(
        "{route:8} {:5} answers: half within {:.1?}, 99 % within {:.1?}, all within {:.1?}",
        times.len(),
        at(50),
        at(99),
        at(100)
    );
}
