//! A server whose agents, submitters and queue are the test.

use crate::{ANY, AT_ONCE, LEASE, experiments};
use manyhands_fleet::{
    Name, commands,
    engine::{Engine, InProcess, Message, Queue},
    server::{Database, Server},
};
use manyhands_lab::Experiment;
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

/// A server with a plan of commands, one of them handed out to the test as an agent.
pub(crate) struct Fleet {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) engine: InProcess,
    pub(crate) plan: Name,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        let fleet = Self::before_its_first_step();
        fleet.step();
        fleet
    }

    pub(crate) fn before_its_first_step() -> Self {
        let engine = InProcess::new(LEASE);
        let plan = "name = 'x'\nattempts = 1\ncommands = [{ name = 'a' }, { name = 'b' }]";
        let plan = commands::submit_to(&engine, plan, None, &experiments()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("server")).unwrap();
        Self {
            folder,
            engine,
            plan,
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("server").join("fleet.sqlite")
    }

    /// A server that starts, carries out what there is, and ends.
    pub(crate) fn step(&self) {
        let database = Database::open(&self.path()).unwrap();
        let mut server = Server::new(&self.engine, database, experiments());
        server.step(AT_ONCE).unwrap();
    }

    pub(crate) fn database(&self) -> Database {
        Database::open_to_read(&self.path()).unwrap()
    }

    pub(crate) fn send(&self, queue: Queue, about: &str, body: &[u8]) {
        let message = Message {
            id: uuid::Uuid::new_v4().to_string(),
            body: body.to_owned(),
        };
        let about = about.parse().unwrap();
        self.engine.publish(queue, &about, &[message]).unwrap();
    }

    pub(crate) fn report(&self, agent: &str, report: &Value) {
        self.send(Queue::Results, agent, report.to_string().as_bytes());
    }

    /// The next job, as an agent gets it.
    pub(crate) fn job(&self) -> Value {
        let taken = self.engine.take(ANY, 1, AT_ONCE).unwrap().remove(0);
        serde_json::from_slice(taken.body()).unwrap()
    }

    /// An agent carries out a command, as one that is not hostile does.
    pub(crate) fn carry_out(&self, agent: &str, job: &Value, run: &str) {
        self.report_all(agent, job, run, &[&head(&[]), &outcome()]);
    }

    /// An agent reports these lines as a run.
    pub(crate) fn report_all(&self, agent: &str, job: &Value, run: &str, texts: &[&str]) {
        let lines = json!({ "kind": "lines", "first": 0, "texts": texts });
        self.report(agent, &note(agent, job, run, &lines));
        let done = json!({
            "kind": "done", "lines": texts.len(), "sha256": sha256(texts), "sending": "s", "machine": null
        });
        self.report(agent, &note(agent, job, run, &done));
        self.step();
    }

    pub(crate) fn done(&self) -> u64 {
        self.database().plans().unwrap()[0].done
    }

    pub(crate) fn rejected(&self) -> usize {
        self.database().rejected().unwrap().len()
    }
}

pub(crate) fn note(agent: &str, job: &Value, run: &str, news: &Value) -> Value {
    json!({ "job": {
        "agent": agent, "job": job["id"], "ticket": job["ticket"], "run": run, "news": news
    } })
}

/// What an agent of this version writes before these experiments, or before a command.
pub(crate) fn head(experiments: &[Experiment]) -> String {
    use manyhands_lab::{Scale, machine::Machine, record::Settings, run};
    let settings = Settings::new(Scale::Quick, 1);
    let head = run::head(
        experiments,
        settings,
        Machine::here(),
        "2026-11-23T12:00:00Z",
    );
    serde_json::to_string(&head).unwrap()
}

pub(crate) fn outcome() -> String {
    json!({ "wall_nanos": 5, "status": 0, "output": "", "errors": "" }).to_string()
}

pub(crate) fn sha256(lines: &[&str]) -> String {
    use sha2::{Digest, Sha256};
    let mut digest = Sha256::new();
    for line in lines {
        digest.update(line);
        digest.update("\n");
    }
    let bytes = digest.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
