//! A `nats-server` that knows keys: an agent with a wrong key gets nothing, and one whose key is taken away loses its
//! job to another.

use crate::{
    PLAN, PLAN_JOBS,
    machines::{Machines, end, free_port, signal, wait_until},
    results,
};
use manyhands_fleet::engine::nats_server;
use nix::sys::signal::Signal;
use nkeys::KeyPair;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

pub(crate) fn only_known_keys_bring_results() {
    let folder = tempfile::tempdir().unwrap();
    let (server, first, second) = (
        key(folder.path(), "server"),
        key(folder.path(), "first"),
        key(folder.path(), "second"),
    );
    key(folder.path(), "wrong");
    let known = [&server, &first, &second];
    let nats = Keyed::start(folder.path(), &known, "");
    let mut machines = Machines::join(folder.path(), nats.port, "server.nk");
    machines.submit(PLAN, "--nkey server.nk");
    machines.add_agent("wrong", "--nkey wrong.nk");
    machines.add_agent("first", "--nkey first.nk");
    wait_until("the first agent has measured something", || {
        machines.done() > 0
    });
    nats.know(&[&server, &second]);
    machines.add_agent("second", "--nkey second.nk");
    machines.wait_until_done(PLAN_JOBS);
    wait_until("the wrong agent says why it has nothing", || {
        machines.log().to_lowercase().contains("authorization")
    });
    // With its key again, the first agent learns what became of its run.
    nats.know(&known);
    machines.wait_until_sent();
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.path().join("out"), 1, PLAN_JOBS);
    results::check_agents(&database, &["first", "second"]);
}

/// Makes a key and a file with its seed; the answer is its public half.
pub(crate) fn key(folder: &Path, name: &str) -> String {
    let key = KeyPair::new_user();
    let path = folder.join(format!("{name}.nk"));
    fs::write(path, key.seed().unwrap()).unwrap();
    key.public_key()
}

/// A `nats-server` that lets in only those whose keys it knows.
pub(crate) struct Keyed {
    folder: PathBuf,
    pub(crate) port: u16,
    /// What its configuration has beside the keys.
    more: String,
    child: Child,
}

impl Keyed {
    pub(crate) fn start(folder: &Path, keys: &[&String], more: &str) -> Self {
        let port = free_port();
        write_keys(folder, port, keys, more);
        Self {
            folder: folder.to_owned(),
            port,
            more: more.to_owned(),
            child: start_nats(folder),
        }
    }

    /// From now on it knows these keys, and ends the connections of others.
    fn know(&self, keys: &[&String]) {
        write_keys(&self.folder, self.port, keys, &self.more);
        signal(&self.child, Signal::SIGHUP);
    }
}

impl Drop for Keyed {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A `nats-server` with the configuration `nats.conf`.
pub(crate) fn start_nats(folder: &Path) -> Child {
    Command::new(nats_server::find(None).unwrap())
        .arg("--config")
        .arg(folder.join("nats.conf"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn write_keys(folder: &Path, port: u16, keys: &[&String], more: &str) {
    let users: Vec<String> = keys
        .iter()
        .map(|key| format!("{{ nkey: \"{key}\" }}"))
        .collect();
    let store = folder.join("store");
    let text = format!(
        "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: \"{}\" }}\nauthorization {{ users: [ {} ] }}\n{more}",
        store.display(),
        users.join(", ")
    );
    fs::write(folder.join("nats.conf"), text).unwrap();
}
