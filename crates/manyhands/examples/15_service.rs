//! How to run: `cargo run --release --example 15_service --features hyper,tokio`, and with
//! `-- --load` at the end what the heavy request gains and costs, or with `-- --serve 127.0.0.1:8080` for as
//! long as you like.
//!
//! A web service whose heavy request parallelises itself on the pool that serves all the others. Its callers
//! say how many workers a request may use: that is theirs to decide, because they know how many requests
//! come at once.
//!
//! | request | answer |
//! |---|---|
//! | `/` | hello |
//! | `/compute?cycles=N` | how long two loops of N cycles take, in order and as two tasks |
//! | `/sleep?ms=N` | the same of two sleeps |
//! | `/primes?below=N` | how many primes there are, counted in a parallel loop; `&degree=N` limits its workers |

#![expect(clippy::print_stdout, reason = "it shows what it measured")]

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioIo;
use manyhands::task::Priority;
use manyhands::{Handle, Runtime, cancel, parallel, task, time};
use std::convert::Infallible;
use std::error::Error;
use std::hint::black_box;
use std::time::Duration;
use std::{env, io, thread};
use tokio::net::TcpListener;

type Anything = Box<dyn Error + Send + Sync>;

const CYCLES_MAX: u64 = 100_000_000;
const MILLIS_MAX: u64 = 1_000;
const BELOW_MAX: u64 = 2_000_000;
const DEGREE_MAX: u64 = 1_024;

fn main() -> Result<(), Anything> {
    let runtime = Runtime::builder().tokio().build()?;
    let _entered = runtime.enter();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => task::block_on(task::spawn(with_server(check)))?,
        ["--load"] => task::block_on(task::spawn(with_server(load)))?,
        ["--serve", address] => {
            let address = address.to_owned();
            task::block_on(task::spawn(async move {
                let listener = TcpListener::bind(address).await?;
                serve(listener, cancel::Token::never()).await?;
                Ok(())
            }))?
        }
        _ => Err("no arguments, --load, or --serve ADDRESS".into()),
    }
}

/// Starts the service on a free port for as long as `visit` takes.
async fn with_server<F>(visit: impl FnOnce(Service) -> F) -> Result<(), Anything>
where
    F: Future<Output = Result<(), Anything>>,
{
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}", listener.local_addr()?);
    let stop = cancel::TokenSource::new();
    let server = task::spawn(serve(listener, stop.token()));
    let client = Client::builder(Handle::current())
        .pool_timer(Handle::current())
        .build_http();
    visit(Service { client, base }).await?;
    stop.cancel();
    server.await??;
    Ok(())
}

// ---- The service ----

async fn serve(listener: TcpListener, stop: cancel::Token) -> io::Result<()> {
    while let Ok(accepted) = stop.run_until_cancelled(listener.accept()).await {
        let (stream, _from) = accepted?;
        stream.set_nodelay(true)?;
        let connection = http1::Builder::new()
            .timer(Handle::current())
            .header_read_timeout(Duration::from_secs(10))
            .serve_connection(TokioIo::new(stream), service_fn(answer));
        drop(task::spawn(connection));
    }
    Ok(())
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let uri = request.uri();
    let query = Query(uri.query().unwrap_or(""));
    let answered = match uri.path() {
        "/" => Ok("hello".to_owned()),
        "/compute" => compute(query).await,
        "/sleep" => sleep(query).await,
        "/primes" => primes(query).await,
        _ => Err(Refusal(StatusCode::NOT_FOUND, "no such page".to_owned())),
    };
    let (status, text) = match answered {
        Ok(text) => (StatusCode::OK, text),
        Err(Refusal(status, text)) => (status, text),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    Ok(response)
}

async fn compute(query: Query<'_>) -> Result<String, Refusal> {
    let cycles = query.number("cycles", 1, CYCLES_MAX)?;
    let start = time::now();
    let in_order = spin(cycles) + spin(cycles);
    let halfway = time::now();
    let (one, other) = (
        task::run(move || spin(cycles)),
        task::run(move || spin(cycles)),
    );
    let parallel = ended(one.await) + ended(other.await);
    assert_eq!(in_order, parallel);
    Ok(report(
        "cycles",
        cycles,
        [halfway - start, halfway.elapsed()],
    ))
}

async fn sleep(query: Query<'_>) -> Result<String, Refusal> {
    let millis = query.number("ms", 0, MILLIS_MAX)?;
    let length = Duration::from_millis(millis);
    let start = time::now();
    time::sleep(length).await;
    time::sleep(length).await;
    let halfway = time::now();
    let other = task::spawn(time::sleep(length));
    time::sleep(length).await;
    ended(other.await);
    Ok(report("ms", millis, [halfway - start, halfway.elapsed()]))
}

async fn primes(query: Query<'_>) -> Result<String, Refusal> {
    let below = query.number("below", 0, BELOW_MAX)?;
    let degree = query.optional("degree", 1, DEGREE_MAX)?;
    let mut options = parallel::Options::new();
    if let Some(degree) = degree {
        let degree = usize::try_from(degree).unwrap_or(usize::MAX);
        let refused =
            |error: parallel::ConcurrencyError| Refusal(StatusCode::BAD_REQUEST, error.to_string());
        options = options.degree_of_parallelism(degree).map_err(refused)?;
    }
    // In the background, so that everything cheap goes first.
    let background = task::Builder::new().priority(Priority::Background);
    let counting = background.run(move || {
        let one_if_prime = |n| u64::from(is_prime(n));
        options.map_reduce(2..below.max(2), one_if_prime, |a, b| a + b)
    });
    let count = ended(counting.await).unwrap_or(0);
    Ok(format!(r#"{{"below":{below},"primes":{count}}}"#))
}

/// Half of the answer, after that many cycles.
fn spin(cycles: u64) -> u64 {
    for cycle in 0..cycles {
        black_box(cycle);
    }
    21
}

fn is_prime(n: u64) -> bool {
    (2..)
        .take_while(|d| d * d <= n)
        .all(|d| !n.is_multiple_of(d))
}

fn report(unit: &str, value: u64, [in_order, parallel]: [Duration; 2]) -> String {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    format!(
        r#"{{"processors":{processors},"{unit}":{value},"inOrderSeconds":{:.7},"parallelSeconds":{:.7}}}"#,
        in_order.as_secs_f64(),
        parallel.as_secs_f64()
    )
}

fn ended<T>(result: Result<T, task::JoinError>) -> T {
    result.expect("it neither panics nor is cancelled")
}

/// Why there is no answer.
struct Refusal(StatusCode, String);

/// What stands behind the question mark.
#[derive(Clone, Copy)]
struct Query<'a>(&'a str);

impl Query<'_> {
    fn number(self, name: &str, min: u64, max: u64) -> Result<u64, Refusal> {
        let missing = || Refusal(StatusCode::BAD_REQUEST, format!("{name} is missing"));
        self.optional(name, min, max)?.ok_or_else(missing)
    }

    fn optional(self, name: &str, min: u64, max: u64) -> Result<Option<u64>, Refusal> {
        let mut pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        let Some((_, value)) = pairs.find(|(key, _)| *key == name) else {
            return Ok(None);
        };
        let number = value
            .parse()
            .ok()
            .filter(|number| (min..=max).contains(number));
        let refusal = || {
            let text = format!("{name} must be a number from {min} to {max}");
            Refusal(StatusCode::BAD_REQUEST, text)
        };
        number.map(Some).ok_or_else(refusal)
    }
}

// ---- Its visitors ----

/// The running service, as a client sees it.
#[derive(Clone)]
struct Service {
    client: Client<HttpConnector, Full<Bytes>>,
    base: String,
}

impl Service {
    async fn ask(&self, path: &str) -> Result<(StatusCode, String), Anything> {
        let response = self
            .client
            .get(format!("{}{path}", self.base).parse()?)
            .await?;
        let status = response.status();
        let body = response.into_body().collect().await?;
        Ok((status, String::from_utf8(body.to_bytes().to_vec())?))
    }

    /// Asks for what must succeed; returns the answer and how long it took.
    async fn timed(&self, path: &str) -> Result<(String, Duration), Anything> {
        let start = time::now();
        let (status, text) = self.ask(path).await?;
        assert_eq!(status, StatusCode::OK, "{path}: {text}");
        Ok((text, start.elapsed()))
    }
}

/// One of everything.
async fn check(service: Service) -> Result<(), Anything> {
    assert_eq!(service.timed("/").await?.0, "hello");
    for path in ["/compute?cycles=3000000", "/sleep?ms=10"] {
        let (text, took) = service.timed(path).await?;
        println!("{path} → {text} in {took:.1?}");
        for field in ["processors", "inOrderSeconds", "parallelSeconds"] {
            assert!(text.contains(&format!(r#""{field}":"#)), "{text}");
        }
    }
    for degree in ["", "&degree=1", "&degree=2"] {
        let (text, took) = service
            .timed(&format!("/primes?below=200000{degree}"))
            .await?;
        println!("/primes?below=200000{degree} → {text} in {took:.1?}");
        assert_eq!(text, r#"{"below":200000,"primes":17984}"#);
    }
    let bad = [
        "/compute",
        "/compute?cycles=0",
        "/compute?cycles=many",
        "/compute?cycles=100000001",
        "/sleep?ms=-1",
        "/primes?below=2000001",
        "/primes?below=10&degree=0",
    ];
    for path in bad {
        let (status, text) = service.ask(path).await?;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {text}");
    }
    assert_eq!(service.ask("/elsewhere").await?.0, StatusCode::NOT_FOUND);
    println!("{} bad requests were refused", bad.len() + 1);
    Ok(())
}

const HEAVY: [&str; 2] = ["/primes?below=200000&degree=1", "/primes?below=200000"];
const VISITORS: usize = 8;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(1);

/// The heavy request in order and in parallel: one visitor with pauses, then as many as it takes, in turns.
async fn load(service: Service) -> Result<(), Anything> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..50 {
        for (path, times) in HEAVY.iter().zip(&mut times) {
            times.push(service.timed(path).await?.1);
            time::sleep(Duration::from_millis(5)).await;
        }
    }
    let [in_order, parallel] = times.map(median);
    println!(
        "few requests: the heavy one takes {in_order:.1?} in order, {parallel:.1?} in parallel"
    );
    println!(
        "              {:.2} times as fast",
        in_order.as_secs_f64() / parallel.as_secs_f64()
    );

    let mut crowds = [Crowd::default(), Crowd::default()];
    for _ in 0..ROUNDS {
        for (path, crowd) in HEAVY.iter().zip(&mut crowds) {
            crowd.add(visit_together(&service, path).await?);
        }
    }
    for (crowd, name) in crowds.iter().zip(["in order", "in parallel"]) {
        let per_second = crowd.heavy as f64 / (ROUND * 5).as_secs_f64();
        let cheap = median(crowd.cheap.clone());
        println!(
            "{VISITORS} at once: {per_second:.0} heavy ones a second {name}, a cheap one takes {cheap:.1?}"
        );
    }
    println!(
        "           {:.2} times the throughput",
        crowds[1].heavy as f64 / crowds[0].heavy as f64
    );
    Ok(())
}

/// What a crowd was answered.
#[derive(Debug, Default)]
struct Crowd {
    heavy: usize,
    cheap: Vec<Duration>,
}

impl Crowd {
    fn add(&mut self, other: Self) {
        self.heavy += other.heavy;
        self.cheap.extend(other.cheap);
    }
}

/// Many visitors who ask for `heavy` again and again, and one who asks for something cheap.
async fn visit_together(service: &Service, heavy: &'static str) -> Result<Crowd, Anything> {
    let until = time::now() + ROUND;
    let visitors = (0..=VISITORS).map(|visitor| {
        let service = service.clone();
        task::spawn(async move {
            let mut crowd = Crowd::default();
            while time::now() < until {
                if visitor == 0 {
                    crowd.cheap.push(service.timed("/").await?.1);
                    time::sleep(Duration::from_millis(5)).await;
                } else {
                    service.timed(heavy).await?;
                    crowd.heavy += 1;
                }
            }
            Ok::<Crowd, Anything>(crowd)
        })
    });
    let mut all = Crowd::default();
    for crowd in task::when_all(visitors).await {
        all.add(crowd??);
    }
    Ok(all)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
