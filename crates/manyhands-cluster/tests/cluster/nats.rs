//! Workers that hear of their driver through a NATS server, which may be killed.

use crate::children::Ended;
use manyhands::time;
use manyhands_cluster::{Cluster, ClusterError, remote};
use nix::sys::signal::{Signal, raise};
use std::{
    env,
    fs::{self, File},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{self, Command, Stdio},
    time::Duration,
};

/// The program, if there is one here.
pub(crate) fn server() -> Option<PathBuf> {
    if let Some(named) = env::var_os("NATS_SERVER") {
        return Some(named.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into()]);
    let mut programs = folders.map(|folder| folder.join("nats-server"));
    programs.find(|program| program.is_file())
}

pub(crate) fn calls_are_as_local_ones() {
    let machines = Machines::start(2);
    let cluster = machines.driver();
    let all = |cluster: &Cluster| {
        let bytes: Vec<u64> = (0..400_000).map(|i| i * i).collect();
        let parts = remote!([bytes: Vec<u64>] |i| -> Vec<u64> {
            let from = usize::try_from(i).unwrap() * 10_000;
            bytes[from..from + 10_000].to_vec()
        });
        let parts = cluster.map(0..40, parts).unwrap();
        let sum = remote!([] |i| -> u64 { i * i }, |a, b| { a + b });
        (parts, cluster.map_reduce(0..5_000, sum).unwrap())
    };
    assert!(all(&cluster) == all(&Cluster::local()), "results differ");
    let body = remote!([] |i| -> u64 { if i == 77 { panic!("no {i}") } else { i } });
    let failed = cluster.map(0..1_000, body).unwrap_err();
    assert!(matches!(failed, ClusterError::BodyPanicked { range, .. } if range == (77..78)));
}

pub(crate) fn a_worker_that_dies_and_one_that_comes_late() {
    let mut machines = Machines::start(2);
    let cluster = machines.driver();
    let mark = env::temp_dir().join(format!("manyhands-cluster-nats-{}", process::id()));
    drop(fs::remove_file(&mark));
    let made = mark.clone();
    let results = cluster.map(
        0..600,
        remote!([mark: PathBuf] |i| -> u64 {
            time::sleep_blocking(Duration::from_millis(2));
            if i >= 20 && File::create_new(mark).is_ok() {
                raise(Signal::SIGKILL).unwrap();
            }
            i
        }),
    );
    assert!(results.unwrap().into_iter().eq(0..600));
    assert!(fs::remove_file(made).is_ok(), "a worker has died");
    machines.add();
    let late = machines.workers[2].child().id();
    // It ends as soon as the late one has run something, in whichever call that is.
    let is_used = || {
        let ids = remote!([] |_| -> u32 {
            time::sleep_blocking(Duration::from_millis(5));
            process::id()
        });
        cluster.map(0..100, ids).unwrap().contains(&late)
    };
    while !is_used() {}
}

pub(crate) fn a_server_that_is_killed_costs_time_only() {
    let mut machines = Machines::start(2);
    let cluster = machines.driver();
    let first = remote!([] || -> u64 { 1 });
    assert_eq!(cluster.call(first), Ok(1), "the workers are there");
    let results = std::thread::scope(|scope| {
        let results = scope.spawn(|| {
            let slow = remote!([] |i| -> u64 { time::sleep_blocking(Duration::from_millis(5)); i });
            cluster.map(0..400, slow)
        });
        time::sleep_blocking(Duration::from_millis(100));
        machines.restart_server();
        results.join().unwrap()
    });
    assert!(results.unwrap().into_iter().eq(0..400));
}

/// A server and workers, which end with this value.
struct Machines {
    server: Ended,
    port: u16,
    workers: Vec<Ended>,
}

impl Machines {
    fn start(workers: usize) -> Self {
        let port = free_port();
        let mut machines = Self {
            server: serve(port, &[]),
            port,
            workers: Vec::new(),
        };
        for _ in 0..workers {
            machines.add();
        }
        machines
    }

    fn driver(&self) -> Cluster {
        Cluster::nats(&self.address()).unwrap()
    }

    fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    fn add(&mut self) {
        let worker = Ended::start(&mut worker(&self.address()));
        self.workers.push(worker);
    }

    fn restart_server(&mut self) {
        self.server.child().kill().unwrap();
        self.server.child().wait().unwrap();
        self.server = serve(self.port, &[]);
    }
}

/// This program as a worker.
pub(crate) fn worker(address: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.env("MANYHANDS_CLUSTER", address);
    command.env("MANYHANDS_ROLE", "worker");
    command
}

pub(crate) fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}

/// A server that answers.
pub(crate) fn serve(port: u16, arguments: &[&str]) -> Ended {
    let mut command = Command::new(server().unwrap());
    let command = command
        .args(["--addr", "127.0.0.1", "--port", &port.to_string()])
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let server = Ended::start(command);
    for _ in 0..400 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return server;
        }
        time::sleep_blocking(Duration::from_millis(50));
    }
    panic!("nats-server does not answer");
}
