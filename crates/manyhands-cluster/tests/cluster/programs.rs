//! Programs that are started, and what is left of them.

use crate::children::{self, Ended, ends, output};
use manyhands::time;
use manyhands_cluster::{Cluster, remote};
use nix::{sys::signal::kill, unistd::Pid};
use std::{
    env,
    io::{BufRead, BufReader},
    process::{self, Command, Stdio},
    time::Duration,
};

/// What this program does when it is started by a test.
pub(crate) fn run(role: &str, cluster: &Cluster) {
    match role {
        SUM => {
            let sum = remote!([] |i| -> u64 { i * i }, |a, b| { a + b });
            let sum = cluster.map_reduce(0..1_000, sum).unwrap();
            let elsewhere = cluster
                .call(remote!([] || -> u32 { process::id() }))
                .unwrap();
            println!("{sum:?} {}", elsewhere != process::id());
        }
        PRINTS => {
            cluster
                .for_each(0..20, remote!([] |i| -> () { println!("body {i}"); }))
                .unwrap();
            println!("driver");
        }
        WAITS => {
            let pids = cluster.spawn(remote!([] || -> u32 { process::id() }));
            println!("{}", pids.join().unwrap());
            let minutes = Duration::from_secs(600);
            let wait = remote!([minutes: Duration] |_| -> () { time::sleep_blocking(*minutes); });
            cluster.for_each(0..10, wait).unwrap();
        }
        _ => panic!("'{role}' is no role"),
    }
}

pub(crate) fn the_variable_starts_workers() {
    let printed = |variable: &str| {
        let output = output(&mut program(SUM, variable));
        String::from_utf8(output.stdout).unwrap()
    };
    let sum: u64 = (0..1_000).map(|i| i * i).sum();
    assert_eq!(printed("local:3"), format!("Some({sum}) true\n"));
    assert_eq!(printed(""), format!("Some({sum}) false\n"));
}

pub(crate) fn a_wrong_variable_is_refused() {
    let output = output(&mut program(SUM, "local:many"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("error: MANYHANDS_CLUSTER: 'many'"),
        "{text}"
    );
    // Who shall be a worker does not do the driver's work.
    for variable in ["", "local:2"] {
        let output = children::output(program(SUM, variable).env("MANYHANDS_ROLE", "worker"));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with("error: MANYHANDS_ROLE"), "{text}");
    }
}

pub(crate) fn what_bodies_print_is_apart() {
    let output = output(&mut program(PRINTS, "local:2"));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "driver\n");
    let beside = String::from_utf8(output.stderr).unwrap();
    assert!(
        (0..20).all(|i| beside.contains(&format!("body {i}\n"))),
        "{beside}"
    );
}

pub(crate) fn a_body_may_begin_and_start_programs() {
    let cluster = Cluster::processes(2).unwrap();
    let begins = remote!([] || -> (bool, String) {
        let refused = Cluster::processes(2).unwrap_err();
        (manyhands_cluster::init().unwrap().is_local(), refused.to_string())
    });
    let (is_local, refused) = cluster.call(begins).unwrap();
    assert!(
        is_local && refused.contains("this process is a worker"),
        "{refused}"
    );
    let starts = remote!([] || -> (bool, Vec<u8>) {
        let output = Command::new(env::current_exe().unwrap()).arg(SUM).output().unwrap();
        (output.status.success(), output.stdout)
    });
    let (is_well, printed) = cluster.call(starts).unwrap();
    let sum: u64 = (0..1_000).map(|i| i * i).sum();
    let printed = String::from_utf8(printed).unwrap();
    assert!(
        is_well && printed == format!("Some({sum}) false\n"),
        "{printed}"
    );
}

pub(crate) fn workers_end_with_their_driver() {
    let mut driver = program(WAITS, "local:2");
    let mut driver = Ended::start(driver.stdout(Stdio::piped()));
    let mut line = String::new();
    let mut printed = BufReader::new(driver.child().stdout.take().unwrap());
    printed.read_line(&mut line).unwrap();
    let worker = Pid::from_raw(line.trim().parse().unwrap());
    kill(worker, None).unwrap();
    drop(driver);
    assert!(ends(worker), "the worker is there after half a minute");
}

/// What the program that adds numbers up prints where workers have done it.
#[cfg(feature = "nats")]
pub(crate) fn sum_elsewhere() -> String {
    let sum: u64 = (0..1_000).map(|i| i * i).sum();
    format!("Some({sum}) true\n")
}

pub(crate) fn program(role: &str, variable: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.arg(role).env("MANYHANDS_CLUSTER", variable);
    command
}

pub(crate) const SUM: &str = "as-sum";
const PRINTS: &str = "as-printer";
const WAITS: &str = "as-waiter";
