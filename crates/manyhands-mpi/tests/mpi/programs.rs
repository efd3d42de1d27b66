//! What this program does under `mpirun`, by the name of its role.

use crate::calls;
use manyhands::time;
use manyhands_cluster::{Cluster, ClusterError, Options, remote};
use nix::{
    sys::signal::{Signal, kill, raise},
    unistd::Pid,
};
use std::{
    collections::BTreeSet,
    env,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process,
    time::Duration,
};

pub(crate) fn run(role: &str, cluster: &Cluster) {
    match role {
        CALLS => {
            for (name, body) in calls::ALL {
                body(cluster);
                println!("{name}");
            }
        }
        PRINTS => {
            cluster
                .for_each(0..20, remote!([] |i| -> () { println!("body {i}"); }))
                .unwrap();
            println!("driver");
        }
        STOPS => println!("{}", sum_with_a_stopped_rank(cluster)),
        FLOODS => println!("{:?}", flood_beside_a_stopped_rank(cluster)),
        BUILDS => {
            let builds = remote!([] |_| -> String {
                time::sleep_blocking(Duration::from_millis(2));
                env::var("MANYHANDS_BUILD").unwrap()
            });
            let builds = cluster.map(0..100, builds).unwrap();
            println!("{:?}", BTreeSet::from_iter(builds));
        }
        WAITS => {
            print_ids(cluster);
            wait(&cluster.options()).unwrap();
        }
        LEAVES => {
            let options = cluster.options().deadline(Duration::from_millis(300));
            println!("{:?}", wait(&options));
        }
        DIES => {
            print_ids(cluster);
            let body = remote!([] || -> () { raise(Signal::SIGKILL).unwrap(); });
            let outcome = cluster.call(body);
            println!("it goes on: {outcome:?}");
        }
        PANICS => {
            print_ids(cluster);
            panic!("after a call");
        }
        _ => panic!("'{role}' is no role"),
    }
}

/// Prints who the driver is, and some worker.
fn print_ids(cluster: &Cluster) {
    let worker = cluster.call(remote!([] || -> u32 { process::id() }));
    println!("{} {}", process::id(), worker.unwrap());
}

/// Runs bodies of ten minutes.
fn wait(options: &Options<'_>) -> Result<(), ClusterError> {
    let minutes = Duration::from_secs(600);
    let body = remote!([minutes: Duration] |_| -> () { time::sleep_blocking(*minutes); });
    options.for_each(0..10, body)
}

/// The first worker that comes to it says who it is, in a file, and stops; it goes on when the call has ended. The file stays,
/// because others may still run the same chunk.
fn sum_with_a_stopped_rank(cluster: &Cluster) -> u64 {
    let mark = PathBuf::from(env::args().nth(2).unwrap());
    let made = mark.clone();
    let body = remote!([mark: PathBuf] |i| -> u64 {
        if i >= 40 && let Ok(mut file) = File::create_new(mark) {
            write!(file, "{}", process::id()).unwrap();
            drop(file);
            raise(Signal::SIGSTOP).unwrap();
        }
        i * 3
    });
    let results = cluster.map(0..3_000, body).unwrap();
    kill(stopped(&made), Signal::SIGCONT).unwrap();
    results.iter().sum()
}

/// Which process has stopped. The others may have done its chunk before it has written, and before it has stopped.
fn stopped(made: &Path) -> Pid {
    let stopped: i32 = loop {
        match fs::read_to_string(made).unwrap_or_default().parse() {
            Ok(id) => break id,
            Err(_) => time::sleep_blocking(Duration::from_millis(5)),
        }
    };
    let status = format!("/proc/{stopped}/stat");
    while !fs::read_to_string(&status).unwrap().contains(") T ") {
        time::sleep_blocking(Duration::from_millis(5));
    }
    Pid::from_raw(stopped)
}

/// A rank stops, is sent what it does not take, and the others are sent far more messages than are kept at a time.
fn flood_beside_a_stopped_rank(cluster: &Cluster) -> Result<usize, ClusterError> {
    let mark = PathBuf::from(env::args().nth(2).unwrap());
    let made = mark.clone();
    let _stops = cluster.spawn(remote!([mark: PathBuf] || -> () {
        if let Ok(mut file) = File::create_new(mark) {
            write!(file, "{}", process::id()).unwrap();
            drop(file);
            raise(Signal::SIGSTOP).unwrap();
        }
    }));
    let stopped = stopped(&made);
    let bytes = vec![1_u8; 8 << 20];
    let hasty = cluster.options().deadline(Duration::from_secs(60));
    let long = remote!([&bytes: Vec<u8>] |_| -> usize {
        time::sleep_blocking(Duration::from_millis(50));
        bytes.len()
    });
    let mut sum = hasty.map(0..9, long)?.iter().sum();
    for _ in 0..4 {
        let one = |_| hasty.spawn(remote!([] || -> usize { 1 }));
        let all: Vec<_> = (0..5_000).map(one).collect();
        for one in all {
            sum += one.join()?;
        }
    }
    kill(stopped, Signal::SIGCONT).unwrap();
    Ok(sum)
}

pub(crate) const CALLS: &str = "as-calls";
pub(crate) const PRINTS: &str = "as-printer";
pub(crate) const STOPS: &str = "as-stopping";
pub(crate) const FLOODS: &str = "as-flooding";
pub(crate) const BUILDS: &str = "as-builds";
pub(crate) const WAITS: &str = "as-waiter";
pub(crate) const LEAVES: &str = "as-leaving";
pub(crate) const DIES: &str = "as-dying";
pub(crate) const PANICS: &str = "as-panicking";
