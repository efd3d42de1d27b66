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
    /// Those of the server, and of who submits plans to it.
    around: Circumstances,
    pub(crate) server: Child,
    pub(crate) agents: Vec<Machine>,
}

/// An agent.
pub(crate) struct Machine {
    name: String,
    words: String,
    around: Circumstances,
    pub(crate) child: Child,
}

/// What a program finds around it, where that is not as it is for the test.
#[derive(Debug, Clone, Default)]
pub(crate) struct Circumstances {
    /// A process whose network it has.
    pub(crate) network: Option<u32>,
    /// Variables of its environment.
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl Circumstances {
    /// A program that is started in them.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = match self.network {
            Some(process) => {
                let mut entering = Command::new("nsenter");
                entering
                    .arg(format!("--net=/proc/{process}/ns/net"))
                    .arg(program);
                entering
            }
            None => Command::new(program),
        };
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl Machines {
    /// A server that starts its own `nats-server`, and no agents.
    pub(crate) fn start(folder: &Path) -> Self {
        let port = free_port();
        let serve = format!(
            "serve --data fleet --port {port} --lease {}",
            LEASE.as_secs()
        );
        Self::begin(folder, port, serve, Circumstances::default())
    }

    /// A server whose own `nats-server` lets in only keys that it knows.
    pub(crate) fn start_guarded(folder: &Path) -> Self {
        let port = free_port();
        let lease = LEASE.as_secs();
        let serve = format!("serve --data fleet --port {port} --lease {lease} --keys");
        Self::begin(folder, port, serve, Circumstances::default())
    }

    /// The same at this address, which also encrypts, by the certificate that [`encryption`](crate::encryption) has
    /// written for it.
    pub(crate) fn start_encrypted(folder: &Path, ip: &str, around: Circumstances) -> Self {
        let port = free_port();
        let lease = LEASE.as_secs();
        let serve = format!(
            "serve --data fleet --port {port} --lease {lease} --keys --listen {ip} --host {ip} --root root.pem \
             --certificate it.pem --certificate-key it.key"
        );
        Self::begin(folder, port, serve, around).encrypted(ip)
    }

    /// A server that joins the `nats-server` at this port by its key.
    pub(crate) fn join(folder: &Path, port: u16, key: &str) -> Self {
        Self::joined(folder, port, "nats", &format!("--nkey {key}"))
    }

    /// The same, by credentials.
    pub(crate) fn join_with_credentials(folder: &Path, port: u16, file: &str) -> Self {
        Self::joined(folder, port, "nats", &format!("--credentials {file}"))
    }

    /// The same with encryption, by a key or what else opens it.
    pub(crate) fn join_encrypted(folder: &Path, port: u16, opened: &str) -> Self {
        let opened = format!("--root root.pem {opened}");
        Self::joined(folder, port, "tls", &opened).encrypted("127.0.0.1")
    }

    fn joined(folder: &Path, port: u16, protocol: &str, opened: &str) -> Self {
        let lease = LEASE.as_secs();
        let url = format!("{protocol}://127.0.0.1:{port}");
        let serve = format!("serve --data fleet --join {url} {opened} --lease {lease}");
        Self::begin(folder, port, serve, Circumstances::default())
    }

    fn encrypted(mut self, ip: &str) -> Self {
        self.url = format!("--server tls://{ip}:{} --root root.pem", self.port);
        self
    }

    fn begin(folder: &Path, port: u16, serve: String, around: Circumstances) -> Self {
        Self {
            folder: folder.to_owned(),
            port,
            url: format!("--server nats://127.0.0.1:{port}"),
            server: start(folder, &serve, &around),
            serve,
            around,
            agents: Vec::new(),
        }
    }

    /// Starts an agent with these options beside its name, and gives it a number.
    pub(crate) fn add_agent(&mut self, name: &str, options: &str) -> usize {
        self.add_agent_in(name, options, Circumstances::default())
    }

    /// The same, in circumstances of its own.
    pub(crate) fn add_agent_in(
        &mut self,
        name: &str,
        options: &str,
        around: Circumstances,
    ) -> usize {
        let url = self.url.clone();
        self.add(name, &format!("{url} {options}"), around)
    }

    /// Starts an agent that finds the server at another port.
    pub(crate) fn add_agent_at(&mut self, name: &str, port: u16) -> usize {
        let url = format!("--server nats://127.0.0.1:{port}");
        self.add(name, &url, Circumstances::default())
    }

    fn add(&mut self, name: &str, options: &str, around: Circumstances) -> usize {
        let options = options.trim();
        let words = format!("agent --name {name} --host-lock {name}.lock {options}");
        self.agents.push(Machine {
            name: name.to_owned(),
            child: start(&self.folder, &words, &around),
            words,
            around,
        });
        self.agents.len() - 1
    }

    /// Like [`Self::add_agent`], with an agent that the system ends as soon as one of its files has more than
    /// [`FILE_MAX`](crate::FILE_MAX) bytes.
    pub(crate) fn add_cramped_agent(&mut self, name: &str) -> usize {
        let number = self.add_agent(name, "");
        let agent = &mut self.agents[number];
        end(&mut agent.child);
        agent.child = start_as(CRAMPED, &self.folder, &agent.words, &agent.around);
        number
    }

    /// Asks for a key by the token of this name.
    pub(crate) fn enrol(&self, token: &str, key: &str) -> Running {
        self.enrol_in(token, key, &self.around)
    }

    /// The same, from a machine with these circumstances.
    pub(crate) fn enrol_in(&self, token: &str, key: &str, around: &Circumstances) -> Running {
        let words = format!(
            "enrol {} --token {token}.token --nkey {key}.nk --timeout 40",
            self.url
        );
        Running {
            child: start(&self.folder, &words, around),
            log: self.folder.join("log"),
        }
    }

    /// Kills an agent and starts it again.
    pub(crate) fn restart_agent(&mut self, number: usize) {
        let agent = &mut self.agents[number];
        end(&mut agent.child);
        agent.child = start(&self.folder, &agent.words, &agent.around);
    }

    /// Kills the server and starts it again.
    pub(crate) fn restart_server(&mut self) {
        end(&mut self.server);
        self.server = start(&self.folder, &self.serve, &self.around);
    }

    /// Kills a server that lets in everybody, and starts one in its folder that lets in only keys.
    pub(crate) fn restart_guarded(&mut self) {
        self.serve += " --keys";
        self.restart_server();
    }

    pub(crate) fn submit(&self, plan: &str, options: &str) {
        fs::write(self.folder.join("plan.toml"), plan).unwrap();
        let watch = Stopwatch::start();
        let words = format!("submit plan.toml {} {options}", self.url);
        // The streams are there when the server has made them.
        while !start(&self.folder, words.trim(), &self.around)
            .wait()
            .unwrap()
            .success()
        {
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

    /// An agent that lives far away is at work.
    pub(crate) fn wait_until_far_is_at_work(&self) {
        wait_until("an agent far away is at work", || {
            let database = Database::open_to_read(&self.database()).unwrap();
            let agents = database.agents().unwrap();
            // One that is quick is done before it says how far it is.
            self.done() > 0
                || agents
                    .iter()
                    .any(|agent| agent.name.starts_with("far") && agent.title.is_some())
        });
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
    let output = output(folder, words, &Circumstances::default());
    assert!(output.status.success(), "{words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command of the fleet prints in these circumstances, whether it fails or not.
pub(crate) fn said_in(folder: &Path, words: &str, around: &Circumstances) -> String {
    String::from_utf8(output(folder, words, around).stdout).unwrap()
}

/// What a command of the fleet prints that fails.
pub(crate) fn said_failing(folder: &Path, words: &str) -> String {
    let output = output(folder, words, &Circumstances::default());
    assert!(!output.status.success(), "{words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn output(folder: &Path, words: &str, around: &Circumstances) -> Output {
    let mut command = around.command(&env::current_exe().unwrap());
    command.arg(ROLE).args(words.split(' ')).current_dir(folder);
    command.output().unwrap()
}

fn start(folder: &Path, words: &str, around: &Circumstances) -> Child {
    start_as(ROLE, folder, words, around)
}

/// This program as one of the fleet's, in the folder of the test.
fn start_as(role: &str, folder: &Path, words: &str, around: &Circumstances) -> Child {
    let log = fs::File::options()
        .create(true)
        .append(true)
        .open(folder.join("log"))
        .unwrap();
    let mut command = around.command(&env::current_exe().unwrap());
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
