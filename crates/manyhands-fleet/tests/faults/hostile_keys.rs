//! An agent whose key is good and whose intentions are not: what its key lets it send, at a real `nats-server`.

use crate::{
    PLAN_OF_ONE,
    enrolment::write_token,
    machines::{Machines, said, signal, wait_until},
    results,
};
use async_nats::{Client, ConnectOptions, connection::State, jetstream};
use nix::sys::signal::Signal;
use nkeys::KeyPair;
use std::{fs, path::Path, time::Duration};
use tokio::{runtime::Runtime, task::JoinHandle};

pub(crate) fn a_key_opens_only_what_its_agent_needs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut machines, evil) = with_evil(folder);
    evil.tries_all();
    let own = Evil::with(folder, machines.port, "fleet/nats/server.nk");
    evil.has_answers_put_where_it_may_not_write(&own);
    // Nobody takes the key of another by a token of its own, and who has no key at all gets none.
    write_token(folder, "mallory", "");
    let token = Evil::with(folder, machines.port, "mallory.token");
    token.takes_over(&public(&folder.join("good.nk")));
    token.takes_over(&public(&folder.join("fleet/nats/server.nk")));
    wait_until("all that it sent is parked", || {
        said(folder, "watch --once --data fleet").contains("25 messages rejected")
    });
    let listed = said(folder, "key list --data fleet");
    assert!(
        listed.contains("good: key U") && listed.contains("evil: key U"),
        "{listed}"
    );
    machines.add_agent("good", "--nkey good.nk");
    machines.wait_until_done(1);
    machines.wait_until_sent();
    // It starts again by the configuration that it wrote.
    machines.restart_server();
    write_token(folder, "late", "");
    machines.enrol("late", "late").wait_for_success();
    only_good_has_measured(machines, folder);
}

pub(crate) fn an_agent_that_floods_stops_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut machines, evil) = with_evil(folder);
    // While the server takes nothing.
    signal(&machines.server, Signal::SIGSTOP);
    let accepted = (0..600).filter(|_| evil.is_accepted()).count();
    assert!((1..500).contains(&accepted), "{accepted} messages are kept");
    let flood = evil.floods();
    machines.add_agent("good", "--nkey good.nk");
    signal(&machines.server, Signal::SIGCONT);
    machines.wait_until_done(1);
    machines.wait_until_sent();
    assert!(!flood.is_finished());
    // What ends it is the end of its key.
    let others = [(); 3].map(|()| Evil::with(folder, machines.port, "evil.nk"));
    let floods: Vec<_> = others.iter().map(Evil::floods).collect();
    said(folder, "key revoke evil --data fleet");
    wait_until("the key has no connection any more", || {
        let mut all = others.iter().chain([&evil]);
        all.all(|one| one.client.connection_state() != State::Connected)
    });
    for flood in floods.iter().chain([&flood]) {
        flood.abort();
    }
    assert!(!evil.is_answered(EVIL_REPORTS, "garbage"));
    only_good_has_measured(machines, folder);
}

/// The `nats-server` that a killed server has left lets in everybody.
pub(crate) fn a_server_with_keys_lets_in_nobody_else_whatever_was_left_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut machines = Machines::start(folder);
    machines.submit(PLAN_OF_ONE, "");
    wait_until("the server has the plan", || {
        said(folder, "watch --once --data fleet").contains("one sum")
    });
    fs::write(
        folder.join("stranger.nk"),
        KeyPair::new_user().seed().unwrap(),
    )
    .unwrap();
    let stranger = Evil::with(folder, machines.port, "stranger.nk");
    assert!(stranger.is_accepted());
    machines.restart_guarded();
    wait_until("the stranger is not let in any more", || {
        stranger.client.connection_state() != State::Connected
    });
    write_token(folder, "good", "");
    machines.enrol("good", "good").wait_for_success();
    machines.add_agent("good", "--nkey good.nk");
    machines.wait_until_done(1);
    assert_ne!(stranger.client.connection_state(), State::Connected);
}

fn guarded(folder: &Path) -> Machines {
    let machines = Machines::start_guarded(folder);
    wait_until("the server has its key", || {
        folder.join("fleet/nats/server.nk").exists()
    });
    machines
}

/// A plan, two agents with keys, and what the key of one of them opens.
fn with_evil(folder: &Path) -> (Machines, Evil) {
    let machines = guarded(folder);
    machines.submit(PLAN_OF_ONE, "--nkey fleet/nats/server.nk");
    for name in ["good", "evil"] {
        write_token(folder, name, "");
        machines.enrol(name, name).wait_for_success();
    }
    let evil = Evil::with(folder, machines.port, "evil.nk");
    (machines, evil)
}

fn only_good_has_measured(machines: Machines, folder: &Path) {
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.join("out"), 1, 1);
    results::check_agents(&database, &["good"]);
}

fn public(path: &Path) -> String {
    seed(path).public_key()
}

fn seed(path: &Path) -> KeyPair {
    KeyPair::from_seed(fs::read_to_string(path).unwrap().trim()).unwrap()
}

/// A connection with somebody's key.
struct Evil {
    runtime: Runtime,
    client: Client,
    public: String,
}

impl Evil {
    fn with(folder: &Path, port: u16, key: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let key = seed(&folder.join(key));
        let options = ConnectOptions::with_nkey(key.seed().unwrap())
            .custom_inbox_prefix(format!("_MANYHANDS_{}", key.public_key()))
            .retry_on_initial_connect();
        let client = runtime
            .block_on(options.connect(format!("nats://127.0.0.1:{port}")))
            .unwrap();
        Self {
            runtime,
            client,
            public: key.public_key(),
        }
    }

    /// Whether JetStream has answered.
    fn is_answered(&self, subject: &str, body: &str) -> bool {
        let (subject, body) = (subject.to_owned(), body.to_owned());
        let asking = self.client.request(subject, body.into());
        let answer = async { tokio::time::timeout(PATIENCE, asking).await };
        matches!(self.runtime.block_on(answer), Ok(Ok(_)))
    }

    /// Whether JetStream keeps what is no report.
    fn is_accepted(&self) -> bool {
        let asking = self.client.request(EVIL_REPORTS, "garbage".into());
        let answer = self.runtime.block_on(asking).unwrap();
        !String::from_utf8_lossy(&answer.payload).contains("error")
    }

    /// Sends without an end.
    fn floods(&self) -> JoinHandle<()> {
        let client = self.client.clone();
        self.runtime.spawn(async move {
            while client.publish(EVIL_REPORTS, "garbage".into()).await.is_ok() {
                // It goes on when it has its connection again.
                let _ = client.flush().await;
            }
        })
    }

    fn tries_all(&self) {
        wait_until("the key is let in", || {
            self.is_answered(
                "$JS.API.STREAM.MSG.GET.manyhands-answers",
                "{\"last_by_subj\":\"x\"}",
            )
        });
        assert!(self.is_answered(EVIL_REPORTS, "garbage"));
        for subject in [
            "$JS.API.STREAM.PURGE.manyhands-results",
            "$JS.API.STREAM.DELETE.manyhands-plans",
            "$JS.API.STREAM.MSG.GET.manyhands-jobs",
            "$JS.API.STREAM.INFO.manyhands-jobs",
            "$JS.API.CONSUMER.DURABLE.CREATE.manyhands-results.mine",
            "$JS.API.CONSUMER.MSG.NEXT.manyhands-results.manyhands-results-any-each",
            "manyhands-plans.any.mine",
            "manyhands-jobs.any.mine",
            "manyhands-results.any.good",
            "manyhands-enrolments.any.mine",
            "manyhands-answers.job.mine",
        ] {
            assert!(!self.is_answered(subject, "{}"), "{subject}");
        }
    }

    /// The publisher says where JetStream's answer goes: to what purges and deletes, and to what others read.
    fn has_answers_put_where_it_may_not_write(&self, own: &Self) {
        wait_until("the server takes what came before", || {
            own.messages_in("manyhands-results") == 0
        });
        let streams = ["plans", "jobs", "results", "enrolments", "answers"];
        let streams = streams.map(|name| format!("manyhands-{name}"));
        let last = || streams.each_ref().map(|name| own.last_of(name));
        let purging = streams.each_ref();
        let purging = purging.map(|name| format!("$JS.API.STREAM.PURGE.{name}"));
        let deleting = [
            "$JS.API.ACCOUNT.PURGE.$G",
            "$JS.API.ACCOUNT.PURGE.manyhands",
            "manyhands-plans.any.mine",
            "manyhands-jobs.any.mine",
            "manyhands-enrolments.any.mine",
            "manyhands-answers.job.mine",
        ];
        let targets = purging.iter().map(String::as_str).chain(deleting);
        // Only its own reports and the clock may have become more, and no job may be gone.
        let (before, jobs) = (last(), own.messages_in("manyhands-jobs"));
        for target in targets {
            for subject in [
                EVIL_REPORTS,
                "$JS.API.STREAM.MSG.GET.manyhands-answers",
                "$JS.API.CONSUMER.INFO.manyhands-jobs.manyhands-jobs-any-each",
            ] {
                let body = "{\"last_by_subj\":\"x\"}".into();
                let sending = self
                    .client
                    .publish_with_reply(subject, target.to_owned(), body);
                self.runtime.block_on(sending).unwrap();
            }
            // It was sent after those, and is answered after them.
            assert!(self.is_answered(EVIL_REPORTS, "garbage"), "{target}");
            let after = last();
            for place in [0, 1, 3, 4] {
                assert_eq!(after[place], before[place], "{target}: {}", streams[place]);
            }
            assert!(after[2] > before[2], "{target}");
            assert_eq!(own.messages_in("manyhands-jobs"), jobs, "{target}");
        }
    }

    /// Number of the last message that a stream ever had.
    fn last_of(&self, stream: &str) -> u64 {
        self.state_of(stream)["last_seq"].as_u64().unwrap()
    }

    fn messages_in(&self, stream: &str) -> u64 {
        self.state_of(stream)["messages"].as_u64().unwrap()
    }

    fn state_of(&self, stream: &str) -> serde_json::Value {
        let asking = format!("$JS.API.STREAM.INFO.{stream}");
        let answer = self.client.request(asking, "".into());
        let answer = self.runtime.block_on(answer).unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap();
        answer["state"].clone()
    }

    /// Asks for the key of another to be let in under the name of the token, as one can who knows its public half.
    fn takes_over(&self, key: &str) {
        let request = serde_json::json!({
            "token": self.public, "key": key, "by_token": vec![0; 64], "by_key": vec![0; 64]
        });
        let context = {
            let _in_runtime = self.runtime.enter();
            jetstream::new(self.client.clone())
        };
        let subject = format!("manyhands-enrolments.any.{}", self.public);
        let sending = async {
            let acknowledged = context.publish(subject, request.to_string().into()).await;
            acknowledged.unwrap().await.unwrap();
        };
        self.runtime.block_on(sending);
    }
}

const EVIL_REPORTS: &str = "manyhands-results.any.evil";
/// What is refused gets no answer at all.
const PATIENCE: Duration = Duration::from_secs(2);
