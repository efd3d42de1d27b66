//! The programs of a fleet as processes, on a real `nats-server`.

use crate::{CRAMPED, ROLE};
use manyhands_fleet::server::Database;
use manyhands_lab::clock::Stopwatch;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use std::{
    env, fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    thread,
    time::Duration,
};

/// All programs of a fleet; they end with this value.
pub(crate) struct Machines {
    pub(crate) folder: PathBuf,
    /// Of the `nats-server`.
    pub(crate) port: u16,
    /// Words that every command has behind it: where the server is, and the key.
    url: String,
    serve: String,
    pub(crate) server: Child,
    pub(crate) agents: Vec<Machine>,
}

/// An agent.
pub(crate) struct Machine {
    name: String,
    words: String,
    pub(crate) child: Child,
}

impl Machines {
    /// A server that starts its own `nats-server`, and no agents.
    pub(crate) fn start(folder: &Path) -> Self {
        let port = free_port();
        let serve = format!(
            "serve --data fleet --port {port} --lease {}",
            LEASE.as_secs()
        );
        Self::begin(folder, port, serve)
    }

    /// A server whose own `nats-server` lets in only keys that it knows.
    pub(crate) fn start_guarded(folder: &Path) -> Self {
        let port = free_port();
        let lease = LEASE.as_secs();
        let serve = format!("serve --data fleet --port {port} --lease {lease} --keys");
        Self::begin(folder, port, serve)
    }

    /// The same, which also encrypts, by the certificate that [`encryption`](crate::encryption) has written.
    pub(crate) fn start_encrypted(folder: &Path) -> Self {
        let port = free_port();
        let lease = LEASE.as_secs();
        let serve = format!(
            "serve --data fleet --port {port} --lease {lease} --keys --host 127.0.0.1 --root root.pem \
             --certificate it.pem --certificate-key it.key"
        );
        Self::begin(folder, port, serve).encrypted()
    }

    /// A server that joins the `nats-server` at this port by its key.
    pub(crate) fn join(folder: &Path, port: u16, key: &str) -> Self {
        Self::begin(
            folder,
            port,
            joining(
                &format!("nats://127.0.0.1:{port}"),
                &format!("--nkey {key}"),
            ),
        )
    }

    /// The same, by credentials.
    pub(crate) fn join_with_credentials(folder: &Path, port: u16, file: &str) -> Self {
        let opened = format!("--credentials {file}");
        Self::begin(
            folder,
            port,
            joining(&format!("nats://127.0.0.1:{port}"), &opened),
        )
    }

    /// The same with encryption.
    pub(crate) fn join_encrypted(folder: &Path, port: u16, key: &str) -> Self {
        let url = format!("tls://127.0.0.1:{port} --root root.pem");
        Self::begin(folder, port, joining(&url, &format!("--nkey {key}"))).encrypted()
    }

    fn encrypted(mut self) -> Self {
        self.url = format!("--server tls://127.0.0.1:{} --root root.pem", self.port);
        self
    }

    fn begin(folder: &Path, port: u16, serve: String) -> Self {
        Self {
            folder: folder.to_owned(),
            port,
            url: format!("--server nats://127.0.0.1:{port}"),
            server: start(folder, &serve),
            serve,
            agents: Vec::new(),
        }
    }

    /// Starts an agent with these options beside its name, and gives it a number.
    pub(crate) fn add_agent(&mut self, name: &str, options: &str) -> usize {
        let url = self.url.clone();
        self.add(name, &url, options)
    }

    /// Starts an agent that finds the server at another port.
    pub(crate) fn add_agent_at(&mut self, name: &str, port: u16) -> usize {
        self.add(name, &format!("--server nats://127.0.0.1:{port}"), "")
    }

    fn add(&mut self, name: &str, url: &str, options: &str) -> usize {
        let words = format!("agent {url} --name {name} --host-lock {name}.lock {options}");
        self.agents.push(Machine {
            name: name.to_owned(),
            child: start(&self.folder, words.trim()),
            words,
        });
        self.agents.len() - 1
    }

    /// Like [`Self::add_agent`], with an agent that the system ends as soon as one of its files has more than
    /// [`FILE_MAX`](crate::FILE_MAX) bytes.
    pub(crate) fn add_cramped_agent(&mut self, name: &str) -> usize {
        let number = self.add_agent(name, "");
        let agent = &mut self.agents[number];
        end(&mut agent.child);
        agent.child = start_as(CRAMPED, &self.folder, agent.words.trim());
        number
    }

    /// Asks for a key by the token of this name.
    pub(crate) fn enrol(&self, token: &str, key: &str) -> Running {
        let words = format!("enrol {} --token {token}.token --nkey {key}.nk", self.url);
        Running {
            child: start(&self.folder, &words),
            log: self.folder.join("log"),
        }
    }

    /// Kills an agent and starts it again.
    pub(crate) fn restart_agent(&mut self, number: usize) {
        let agent = &mut self.agents[number];
        end(&mut agent.child);
        agent.child = start(&self.folder, agent.words.trim());
    }

    /// Kills the server and starts it again.
    pub(crate) fn restart_server(&mut self) {
        end(&mut self.server);
        self.server = start(&self.folder, &self.serve);
    }

    pub(crate) fn submit(&self, plan: &str, options: &str) {
        fs::write(self.folder.join("plan.toml"), plan).unwrap();
        let watch = Stopwatch::start();
        let words = format!("submit plan.toml {} {options}", self.url);
        // The streams are there when the server has made them.
        while !start(&self.folder, words.trim()).wait().unwrap().success() {
            assert!(watch.elapsed() < DEADLINE, "no plan can be submitted");
        }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("fleet").join("fleet.sqlite")
    }

    /// What all programs have said.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap()
    }

    pub(crate) fn kill_nats_server(&self) {
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

    pub(crate) fn wait_until_done(&self, jobs: u64) {
        wait_until("all jobs are done", || self.done() == jobs);
    }

    /// The number of jobs of all plans that have a run that counts.
    pub(crate) fn done(&self) -> u64 {
        let database = Database::open_to_read(&self.database()).unwrap();
        let plans = database.plans().unwrap();
        plans.iter().map(|plan| plan.done).sum()
    }

    /// Every agent has its answers: nothing is left on any disk.
    pub(crate) fn wait_until_sent(&self) {
        for agent in &self.agents {
            let runs = self.folder.join("manyhands-agent").join(&agent.name);
            wait_until("no run is left in a spool", || {
                // An agent that has just been started has no folder yet.
                fs::read_dir(runs.join("runs")).is_ok_and(|mut found| found.next().is_none())
            });
        }
    }
}

/// A command that ends by itself, or with this value.
pub(crate) struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    pub(crate) fn wait_for_success(self) {
        let log = self.log.clone();
        assert!(
            self.ended().success(),
            "{}",
            fs::read_to_string(log).unwrap()
        );
    }

    pub(crate) fn wait_for_failure(self) {
        assert!(!self.ended().success());
    }

    fn ended(mut self) -> ExitStatus {
        let watch = Stopwatch::start();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(watch.elapsed() < DEADLINE, "a command does not end");
            rest(Duration::from_millis(50));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for agent in &mut self.agents {
            // A process that is stopped ends when it goes on.
            signal(&agent.child, Signal::SIGCONT);
            end(&mut agent.child);
        }
        end(&mut self.server);
        self.kill_nats_server();
    }
}

/// A port that is free now, and is hardly taken by another before it is used.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// What a command of the fleet prints, which ends at once.
pub(crate) fn said(folder: &Path, words: &str) -> String {
    let output = output(folder, words);
    assert!(output.status.success(), "{words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command of the fleet prints that fails.
pub(crate) fn said_failing(folder: &Path, words: &str) -> String {
    let output = output(folder, words);
    assert!(!output.status.success(), "{words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn output(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.arg(ROLE).args(words.split(' ')).current_dir(folder);
    command.output().unwrap()
}

/// Words that make a server join another's `nats-server`.
fn joining(url: &str, opened: &str) -> String {
    let lease = LEASE.as_secs();
    format!("serve --data fleet --join {url} {opened} --lease {lease}")
}

fn start(folder: &Path, words: &str) -> Child {
    start_as(ROLE, folder, words)
}

/// This program as one of the fleet's, in the folder of the test.
fn start_as(role: &str, folder: &Path, words: &str) -> Child {
    let log = fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.arg(role).args(words.split(' ')).current_dir(folder);
    let errors = log.try_clone().unwrap();
    command
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .unwrap()
}

pub(crate) fn end(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).unwrap();
    kill(Pid::from_raw(pid), signal).unwrap();
}

pub(crate) fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let watch = Stopwatch::start();
    while !is_so() {
        assert!(watch.elapsed() < DEADLINE, "not in time: {what}");
        rest(Duration::from_millis(100));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "faults come at times that have nothing to do with what they hit, and other processes are asked again"
)]
pub(crate) fn rest(duration: Duration) {
    thread::sleep(duration);
}

pub(crate) const LEASE: Duration = Duration::from_secs(3);
const DEADLINE: Duration = Duration::from_secs(300);
