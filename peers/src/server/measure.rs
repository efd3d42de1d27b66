//! The child's side: clients that ask seldom, or eight at once.

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use manyhands_lab::clock::Stopwatch;
use manyhands_lab::contest::{self, Request, Sample};
use manyhands_lab::stats;

use crate::server::client::Client;
use crate::server::primes::EXPECTED;

/// Answers with nanoseconds: `seldom` the median time of a heavy request; `saturated` the time for each
/// heavy request of eight clients, the median time of a cheap one beside them, and the processor time of the whole
/// process for each heavy one.
pub(crate) fn answer(address: SocketAddr, request: &Request) -> Result<Sample, String> {
    let until = Instant::now() + request.window;
    let values = match request.case.as_str() {
        "seldom" => vec![median(&ask_seldom(address, "/heavy", until)?)?],
        "saturated" => saturate(address, until)?,
        case => return Err(format!("no case '{case}'")),
    };
    Ok(Sample {
        checksum: EXPECTED,
        values,
    })
}

/// Asks with a pause after each answer; returns how long each took.
fn ask_seldom(address: SocketAddr, path: &str, until: Instant) -> Result<Vec<f64>, String> {
    let mut client = Client::connect(address)?;
    let mut nanos = Vec::new();
    while Instant::now() < until {
        let start = Stopwatch::start();
        let text = client.ask(path)?;
        nanos.push(start.nanos());
        if path == HEAVY {
            check(&text)?;
        }
        thread::sleep(PAUSE);
    }
    Ok(nanos)
}

fn saturate(address: SocketAddr, until: Instant) -> Result<Vec<f64>, String> {
    let (before, start) = (contest::cpu_time()?, Stopwatch::start());
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| scope.spawn(move || ask_on_and_on(address, until)))
            .collect();
        let cheap = ask_seldom(address, "/", until)?;
        let mut answers = 0;
        for client in clients {
            answers += client.join().map_err(|_| "a client panicked")??;
        }
        let (nanos, worked) = (start.nanos(), contest::cpu_time()? - before);
        let each = |nanos: f64| nanos / f64::from(answers);
        let worked = worked.as_secs_f64() * 1e9;
        Ok(vec![each(nanos), median(&cheap)?, each(worked)])
    })
}

/// Asks for what is heavy without a pause; returns how many answers there were.
fn ask_on_and_on(address: SocketAddr, until: Instant) -> Result<u32, String> {
    let mut client = Client::connect(address)?;
    let mut answers = 0;
    while Instant::now() < until {
        check(&client.ask(HEAVY)?)?;
        answers += 1;
    }
    Ok(answers)
}

fn check(text: &str) -> Result<(), String> {
    if text.parse() == Ok(EXPECTED) {
        Ok(())
    } else {
        Err(format!("{EXPECTED} primes expected, not {text}"))
    }
}

fn median(nanos: &[f64]) -> Result<f64, String> {
    stats::median(nanos).ok_or_else(|| "the window is too short for one answer".to_owned())
}

const HEAVY: &str = "/heavy";
const CLIENTS: usize = 8;
const PAUSE: Duration = Duration::from_millis(5);
