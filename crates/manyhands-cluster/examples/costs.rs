//! What it costs to hand out work: bodies that do nothing, and bodies of 20 ms, in two workers through NATS, in two
//! worker processes, and in two threads of this process. The three take turns.
//!
//! ```text
//! cargo xtask cluster-costs
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use manyhands::Runtime;
use manyhands_cluster::{Cluster, ClusterError, Spawned, remote};
use std::{
    env,
    error::Error,
    hint::black_box,
    io,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

fn main() -> Result<(), Box<dyn Error>> {
    manyhands_cluster::init()?;
    // As many threads as the others have workers.
    Runtime::builder().workers(WORKERS).build_default()?;

    let server = Server::start()?;
    let _workers: Vec<Ended> = (0..WORKERS)
        .map(|_| server.worker())
        .collect::<Result<_, _>>()?;
    let clusters = [
        Cluster::nats(&server.address)?,
        Cluster::processes(WORKERS)?,
        Cluster::local(),
    ];
    // The first call waits for workers; it takes as many bodies as there are ways to be slow at first.
    for cluster in &clusters {
        empty(cluster, 200)?;
    }

    println!("{ROUNDS} rounds by turns; medians, and in brackets what holds them with 96 %\n");
    println!(
        "{:44} {:>24} {:>24} {:>24}",
        "", "NATS", "processes", "threads here"
    );
    let measured = |name: &str, round: Round<'_>| {
        let times = measure(&clusters, round)?;
        row(name, &times);
        Ok::<_, ClusterError>(times)
    };
    let micros = |took: Duration, count: u32| took.as_secs_f64() * 1e6 / f64::from(count);
    measured("a call that waits for an empty body, µs", &|cluster| {
        Ok(micros(one_by_one(cluster, ONE_BY_ONE)?, ONE_BY_ONE))
    })?;
    measured(
        &format!("each of {AT_ONCE} empty bodies at once, µs"),
        &|cluster| Ok(micros(empty(cluster, AT_ONCE)?, AT_ONCE)),
    )?;
    let turns = turns_in_20_ms();
    let long = measured(&format!("{BODIES} bodies of 20 ms, ms"), &|cluster| {
        Ok(bodies(cluster, turns)?.as_secs_f64() * 1e3)
    })?;
    let over_local = long.iter().map(|times| {
        times
            .iter()
            .zip(&long[2])
            .map(|(time, local)| time / local)
            .collect()
    });
    let over_local: Vec<Vec<f64>> = over_local.collect();
    row("the same over threads here", &over_local);
    Ok(())
}

/// Measures a cluster once.
type Round<'a> = &'a dyn Fn(&Cluster) -> Result<f64, ClusterError>;

/// What each cluster took in each round; they begin in another order each time.
fn measure(clusters: &[Cluster; 3], round: Round<'_>) -> Result<Vec<Vec<f64>>, ClusterError> {
    let mut times = vec![Vec::new(); clusters.len()];
    for first in 0..ROUNDS {
        for turn in 0..clusters.len() {
            let which = (first + turn) % clusters.len();
            times[which].push(round(&clusters[which])?);
        }
    }
    Ok(times)
}

/// One empty body after the other.
fn one_by_one(cluster: &Cluster, count: u32) -> Result<Duration, ClusterError> {
    let begun = now();
    for n in 0..count {
        let result = cluster.call(remote!([n: u32] || -> u32 { *n }))?;
        assert_eq!(result, n);
    }
    Ok(begun.elapsed())
}

/// Empty bodies that are all begun before the first is waited for. Each is a chunk.
fn empty(cluster: &Cluster, count: u32) -> Result<Duration, ClusterError> {
    let begun = now();
    let spawned: Vec<Spawned<u32>> = (0..count)
        .map(|n| cluster.spawn(remote!([n: u32] || -> u32 { *n })))
        .collect();
    for (n, spawned) in (0..).zip(spawned) {
        assert_eq!(spawned.join()?, n);
    }
    Ok(begun.elapsed())
}

/// Bodies that compute; each is a chunk.
fn bodies(cluster: &Cluster, turns: u64) -> Result<Duration, ClusterError> {
    let begun = now();
    let spawned: Vec<Spawned<u64>> = (0..BODIES)
        .map(|n| cluster.spawn(remote!([n: u64, turns: u64] || -> u64 { compute(*n, *turns) })))
        .collect();
    let results: Result<Vec<u64>, _> = spawned.into_iter().map(Spawned::join).collect();
    let took = begun.elapsed();
    assert_eq!(results?[0], compute(0, turns));
    Ok(took)
}

/// Arithmetic that no two threads share anything in.
fn compute(seed: u64, turns: u64) -> u64 {
    (0..turns).fold(seed, |state, turn| {
        black_box(state)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(turn)
    })
}

/// How many turns take 20 ms here: by the fastest of some tries, because what disturbs only slows.
fn turns_in_20_ms() -> u64 {
    const TURNS: u64 = 2_000_000;
    let tries = (0..20).map(|seed| {
        let begun = now();
        black_box(compute(seed, TURNS));
        begun.elapsed()
    });
    let fastest = tries.min().unwrap_or_default().as_nanos().max(1);
    let turns = u128::from(TURNS) * BODY.as_nanos() / fastest;
    u64::try_from(turns).unwrap_or(u64::MAX)
}

fn row(name: &str, columns: &[Vec<f64>]) {
    let columns: Vec<String> = columns.iter().map(|times| median(times)).collect();
    println!(
        "{name:44} {:>24} {:>24} {:>24}",
        columns[0], columns[1], columns[2]
    );
}

/// The median and the ranks that hold it with 95 % whatever the distribution.
fn median(times: &[f64]) -> String {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    let low = RANK_LOW.min(last);
    let [low, median, high] = [low, last / 2, last - low].map(|rank| sorted[rank]);
    let places = if median < 10.0 { 2 } else { 1 };
    format!("{median:.places$} ({low:.places$} … {high:.places$})")
}

#[expect(clippy::disallowed_methods, reason = "this program measures")]
fn now() -> Instant {
    Instant::now()
}

/// A NATS server on this machine.
struct Server {
    address: String,
    _process: Ended,
}

impl Server {
    fn start() -> Result<Self, Box<dyn Error>> {
        let program =
            nats_server().ok_or("no program nats-server: install Debian's package of that name")?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new(program);
        command.args(["--addr", "127.0.0.1", "--port", &port.to_string()]);
        let process = Ended(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?,
        );
        let begun = now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if begun.elapsed() > Duration::from_secs(10) {
                return Err("nats-server does not answer".into());
            }
            manyhands::time::sleep_blocking(Duration::from_millis(10));
        }
        Ok(Self {
            address: format!("nats://127.0.0.1:{port}"),
            _process: process,
        })
    }

    /// This program as a worker.
    fn worker(&self) -> io::Result<Ended> {
        let mut command = Command::new(env::current_exe()?);
        let named = command.env("MANYHANDS_CLUSTER", &self.address);
        Ok(Ended(named.env("MANYHANDS_ROLE", "worker").spawn()?))
    }
}

fn nats_server() -> Option<PathBuf> {
    if let Some(named) = env::var_os("NATS_SERVER") {
        return Some(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
    let mut programs = folders.map(|folder| folder.join("nats-server"));
    programs.find(|program| program.is_file())
}

/// A process that does not outlive this value.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

const WORKERS: usize = 2;
const ONE_BY_ONE: u32 = 100;
const AT_ONCE: u32 = 1_000;
const BODIES: u64 = 20;
const BODY: Duration = Duration::from_millis(20);
const ROUNDS: usize = 9;
/// Of nine rounds, the second from either end: the median is between them with 96 %.
const RANK_LOW: usize = 1;
