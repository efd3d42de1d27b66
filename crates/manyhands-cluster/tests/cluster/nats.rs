//! Workers that hear of their driver through a NATS server, which may be killed.

use crate::{
    children::{Ended, ends, output},
    programs::{SUM, program, sum_elsewhere},
};
use manyhands::time;
use manyhands_cluster::{Broadcast, Cluster, ClusterError, remote};
use nix::{
    sys::signal::{Signal, kill, raise},
    unistd::Pid,
};
use std::{
    collections::BTreeSet,
    env,
    fs::{self, File},
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::process::parent_id,
    path::PathBuf,
    process::{self, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
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
            parent_id()
        });
        cluster.map(0..100, ids).unwrap().contains(&late)
    };
    while !is_used() {}
}

pub(crate) fn a_worker_that_dies_is_replaced() {
    let machines = Machines::start(1);
    let cluster = machines.driver();
    let id = || cluster.call(remote!([] || -> u32 { process::id() }));
    let first = id().unwrap();
    kill(Pid::from_raw(first.try_into().unwrap()), Signal::SIGKILL).unwrap();
    assert_ne!(id().unwrap(), first);
    let failed = cluster.map(
        0..300,
        remote!([] |i| -> u64 {
            if i == 250 {
                raise(Signal::SIGKILL).unwrap();
            }
            i
        }),
    );
    let Err(ClusterError::ChunkLost { range, deaths }) = failed else {
        panic!("{failed:?}");
    };
    assert!(range.contains(&250) && deaths == 4, "{range:?} {deaths}");
    let last = id().unwrap();
    drop(machines);
    let last = Pid::from_raw(last.try_into().unwrap());
    assert!(
        ends(last),
        "the worker is there half a minute after its keeper"
    );
}

pub(crate) fn a_body_may_begin_and_reads_nothing() {
    let machines = Machines::start(1);
    let cluster = machines.driver();
    let hasty = cluster.options().deadline(Duration::from_secs(60));
    let begins = remote!([] || -> bool { manyhands_cluster::init().unwrap().is_local() });
    assert_eq!(hasty.call(begins), Ok(true));
    let reads = remote!([] || -> usize { io::stdin().read_to_string(&mut String::new()).unwrap() });
    assert_eq!(hasty.call(reads), Ok(0));
}

pub(crate) fn a_build_may_have_a_long_name() {
    let machines = Machines::start(0);
    let name = "long ".repeat(2_000);
    let _worker = Ended::start(worker(&machines.address()).env("MANYHANDS_BUILD", &name));
    let mut driver = program(SUM, &machines.address());
    let printed = output(driver.env("MANYHANDS_BUILD", &name)).stdout;
    assert_eq!(String::from_utf8(printed).unwrap(), sum_elsewhere());
}

pub(crate) fn programs_of_tokio_may_begin() {
    let mut machines = Machines::start(0);
    let mut worker = worker(&machines.address());
    machines
        .workers
        .push(Ended::start(worker.env(IN_TOKIO, "1")));
    in_tokio(|| {
        let cluster = machines.driver();
        assert_eq!(cluster.call(remote!([] || -> u8 { 7 })), Ok(7));
        let nobody = Cluster::nats("nats://127.0.0.1:1").map(drop);
        assert!(matches!(nobody, Err(ClusterError::Start { .. })));
    });
}

pub(crate) fn in_tokio<R>(work: impl FnOnce() -> R) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(async { work() })
}

pub(crate) fn a_server_that_takes_short_messages_only_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nats.conf");
    fs::write(&file, "max_payload: 65536").unwrap();
    let port = free_port();
    let _server = serve(port, &["--config", file.to_str().unwrap()]);
    let refused = Cluster::nats(&format!("nats://127.0.0.1:{port}")).unwrap_err();
    let words = refused.to_string();
    assert!(
        words.contains("65536") && words.contains("max_payload"),
        "{words}"
    );
}

pub(crate) fn a_long_message_is_no_silence() {
    let mut machines = Machines::start(0);
    let cluster = machines.driver();
    let mut slow = Ended::start(&mut worker(&slow_cable(machines.port)));
    let id = remote!([] || -> u32 { parent_id() });
    assert_eq!(cluster.call(id), Ok(slow.child().id()));
    machines.add();
    let both = || {
        let ids =
            remote!([] |_| -> u32 { time::sleep_blocking(Duration::from_millis(5)); parent_id() });
        BTreeSet::from_iter(cluster.map(0..50, ids).unwrap()).len() == 2
    };
    while !both() {}
    // It goes to the one that came first; its answer takes five seconds.
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().to_owned();
    let long = cluster.call(remote!([runs: PathBuf] || -> Vec<u64> {
        fs::write(runs.join(process::id().to_string()), "").unwrap();
        (0..).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).take(20 << 17).collect()
    }));
    assert_eq!(long.unwrap().len(), 20 << 17);
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        1,
        "it ran once"
    );
}

pub(crate) fn a_broadcast_value_is_sent_once_for_all_workers() {
    let value = |len: usize| Broadcast::new(vec![7_u8; len]);
    let of_workers = |count: usize| {
        let machines = Machines::start(count);
        let carried = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&carried);
        let cable = cable(machines.port, move |len| {
            seen.fetch_add(len, Ordering::Relaxed);
        });
        let cluster = Cluster::nats(&cable).unwrap();
        let workers = |table: Broadcast<Vec<u8>>| {
            let ids = remote!([&table: Broadcast<Vec<u8>>] |_| -> (u32, usize) {
                time::sleep_blocking(Duration::from_millis(5));
                (process::id(), table.len())
            });
            let all = cluster.map(0..50, ids).unwrap();
            assert!(all.iter().all(|(_, len)| *len == table.len()));
            all.into_iter().collect::<BTreeSet<_>>().len()
        };
        while workers(value(1)) < count {}
        let before = carried.load(Ordering::Relaxed);
        workers(value(VALUE_BYTES));
        carried.load(Ordering::Relaxed) - before
    };
    for count in [1, 4] {
        let sent = of_workers(count);
        assert!(
            (VALUE_BYTES..2 * VALUE_BYTES).contains(&sent),
            "{sent} bytes were sent to {count} workers"
        );
    }
}

const VALUE_BYTES: usize = 4 << 20;

/// Set for a worker that begins in a runtime of tokio's.
pub(crate) const IN_TOKIO: &str = "MANYHANDS_TEST_IN_TOKIO";

/// The address of a relay that carries 4 MB a second to this port, and back what comes.
fn slow_cable(port: u16) -> String {
    cable(port, |len| {
        time::sleep_blocking(Duration::from_micros(len as u64 / 4));
    })
}

/// The address of a relay to this port, which does this with the length of all that goes there.
fn cable(port: u16, with: impl Fn(usize) + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("nats://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let far = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut to_near, mut from_far) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut from_far, &mut to_near));
            let with = with.clone();
            thread::spawn(move || carry(near, far, with));
        }
    });
    address
}

fn carry(mut from: TcpStream, mut to: TcpStream, with: impl Fn(usize)) {
    let mut block = vec![0; 64 << 10];
    while let Ok(len @ 1..) = from.read(&mut block) {
        with(len);
        if to.write_all(&block[..len]).is_err() {
            return;
        }
    }
}

pub(crate) fn a_server_that_is_killed_costs_time_only() {
    let mut machines = Machines::start(2);
    let cluster = machines.driver();
    let first = remote!([] || -> u64 { 1 });
    assert_eq!(cluster.call(first), Ok(1), "the workers are there");
    let results = thread::scope(|scope| {
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
