//! Processes on a real `nats-server`: agents, server and `nats-server` are killed, and agents are stopped for longer
//! than a lease lasts.

use crate::{PLAN, PLAN_JOBS, results};
use manyhands_fleet::server::Database;
use manyhands_lab::clock::Stopwatch;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

pub(crate) fn results_come_back_once_each() {
    let faults = number("MANYHANDS_FLEET_FAULTS", 6);
    let agents = number("MANYHANDS_FLEET_AGENTS", 2);
    let plans = if faults > 6 { 3 } else { 1 };
    let seed = number("MANYHANDS_FLEET_SEED", 1);
    println!("  {faults} faults, {agents} agents, {plans} plans, seed {seed}");
    let folder = tempfile::tempdir().unwrap();
    let mut machines = Machines::start(folder.path(), agents);
    for _ in 0..plans {
        machines.submit();
    }
    let mut rng = StdRng::seed_from_u64(seed as u64);
    for _ in 0..faults {
        rest(Duration::from_millis(rng.random_range(300..2_000)));
        machines.harm(&mut rng);
    }
    machines.mend();
    machines.wait_until_done(plans as u64 * PLAN_JOBS);
    machines.wait_until_sent();
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.path().join("out"), plans, PLAN_JOBS);
}

fn number(variable: &str, default: usize) -> usize {
    let set = env::var(variable).ok();
    set.map_or(default, |text| text.parse().unwrap())
}

/// All programs of a fleet.
struct Machines {
    folder: PathBuf,
    port: u16,
    server: Child,
    agents: Vec<Child>,
    /// Agents that are stopped.
    stopped: Vec<usize>,
}

impl Machines {
    fn start(folder: &Path, agents: usize) -> Self {
        // Free now, and hardly taken by another before the server does.
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let server = start(folder, &serve(port));
        let mut machines = Self {
            folder: folder.to_owned(),
            port,
            server,
            agents: Vec::new(),
            stopped: Vec::new(),
        };
        for number in 0..agents {
            let agent = machines.start_agent(number);
            machines.agents.push(agent);
        }
        machines
    }

    fn start_agent(&self, number: usize) -> Child {
        let words = format!(
            "agent --server nats://127.0.0.1:{} --name a{number} --host-lock a{number}.lock",
            self.port
        );
        start(&self.folder, &words)
    }

    fn submit(&self) {
        fs::write(self.folder.join("plan.toml"), PLAN).unwrap();
        let watch = Stopwatch::start();
        let words = format!("submit plan.toml --server nats://127.0.0.1:{}", self.port);
        // The streams are there when the server has made them.
        while !start(&self.folder, &words).wait().unwrap().success() {
            assert!(watch.elapsed() < DEADLINE, "no plan can be submitted");
        }
    }

    fn database(&self) -> PathBuf {
        self.folder.join("fleet").join("fleet.sqlite")
    }

    /// One fault.
    fn harm(&mut self, rng: &mut StdRng) {
        let agent = rng.random_range(0..self.agents.len());
        match rng.random_range(0..5) {
            0 | 1 => {
                println!("  kill agent {agent}");
                end(&mut self.agents[agent]);
                self.stopped.retain(|one| *one != agent);
                self.agents[agent] = self.start_agent(agent);
            }
            2 => {
                println!("  kill the server");
                end(&mut self.server);
                self.server = start(&self.folder, &serve(self.port));
            }
            3 => {
                println!("  kill nats-server");
                self.kill_nats_server();
            }
            _ => {
                println!("  stop agent {agent}, go on with those that were stopped");
                self.mend();
                signal(&self.agents[agent], Signal::SIGSTOP);
                self.stopped.push(agent);
                rest(LEASE);
            }
        }
    }

    /// Lets the agents go on that were stopped.
    fn mend(&mut self) {
        for agent in self.stopped.drain(..) {
            signal(&self.agents[agent], Signal::SIGCONT);
        }
    }

    fn kill_nats_server(&self) {
        let path = self
            .folder
            .join("fleet")
            .join("nats")
            .join("nats-server.pid");
        // A server that is just being started has not written it yet.
        let Ok(pid) = fs::read_to_string(path) else {
            return;
        };
        if let Ok(pid) = pid.trim().parse() {
            // It may be dead already.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    fn wait_until_done(&self, jobs: u64) {
        let watch = Stopwatch::start();
        let database = Database::open_to_read(&self.database()).unwrap();
        loop {
            let plans = database.plans().unwrap();
            let done: u64 = plans.iter().map(|plan| plan.done).sum();
            if done == jobs {
                return;
            }
            assert!(watch.elapsed() < DEADLINE, "{plans:?}");
            rest(Duration::from_millis(200));
        }
    }

    /// Every agent has its answers: nothing is left on any disk.
    fn wait_until_sent(&self) {
        let watch = Stopwatch::start();
        let is_empty = |number: usize| {
            let runs = self.folder.join(format!("manyhands-agent/a{number}/runs"));
            fs::read_dir(runs).unwrap().next().is_none()
        };
        while !(0..self.agents.len()).all(is_empty) {
            assert!(watch.elapsed() < DEADLINE, "a run is left in a spool");
            rest(Duration::from_millis(200));
        }
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        self.mend();
        self.agents.iter_mut().for_each(end);
        end(&mut self.server);
        self.kill_nats_server();
    }
}

fn serve(port: u16) -> String {
    format!(
        "serve --data fleet --port {port} --lease {}",
        LEASE.as_secs()
    )
}

/// This program as one of the fleet's, in the folder of the test.
fn start(folder: &Path, words: &str) -> Child {
    let log = fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .arg("serve-or-pull")
        .args(words.split(' '))
        .current_dir(folder);
    let errors = log.try_clone().unwrap();
    command
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .unwrap()
}

fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).unwrap();
    kill(Pid::from_raw(pid), signal).unwrap();
}

#[expect(
    clippy::disallowed_methods,
    reason = "faults come at times that have nothing to do with what they hit"
)]
fn rest(duration: Duration) {
    thread::sleep(duration);
}

const LEASE: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_secs(300);
