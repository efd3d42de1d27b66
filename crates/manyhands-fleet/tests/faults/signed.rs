//! A `nats-server` of which an operator signs who may come, and until when: credentials that expire and that somebody
//! else has signed bring nothing.

use crate::{
    PLAN, PLAN_JOBS,
    credentials::start_nats,
    machines::{Machines, end, free_port, said_failing, wait_until},
    results,
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use nkeys::KeyPair;
use std::{
    fs,
    path::Path,
    process::Child,
    time::{Duration, SystemTime},
};

pub(crate) fn credentials_that_expire_bring_results_until_then() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let nats = Operated::start(folder);
    nats.sign("server", None);
    nats.sign("lasting", None);
    write(folder, "wrong", &KeyPair::new_account(), None);
    let mut machines = Machines::join_with_credentials(folder, nats.port, "server.creds");
    machines.submit(PLAN, "--credentials server.creds");
    nats.sign("brief", Some(BRIEF));
    let signed = SystemTime::now();
    let brief = machines.add_agent("brief", "--credentials brief.creds");
    nats.refuses("wrong");
    wait_until("the first agent's credentials have expired", || {
        signed.elapsed().is_ok_and(|time| time > BRIEF)
    });
    nats.refuses("brief");
    machines.add_agent("lasting", "--credentials lasting.creds");
    machines.wait_until_done(PLAN_JOBS);
    // With new ones, the first agent learns what became of its run.
    nats.sign("brief", None);
    machines.restart_agent(brief);
    machines.wait_until_sent();
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.join("out"), 1, PLAN_JOBS);
    results::check_agents(&database, &["brief", "lasting"]);
}

/// A `nats-server` with an operator and one account.
struct Operated<'a> {
    folder: &'a Path,
    port: u16,
    account: KeyPair,
    child: Child,
}

impl<'a> Operated<'a> {
    fn start(folder: &'a Path) -> Self {
        let (operator, account) = (KeyPair::new_operator(), KeyPair::new_account());
        let system = KeyPair::new_account();
        let limits = [
            "subs", "conn", "leaf", "imports", "exports", "data", "payload",
        ];
        let stored = ["mem_storage", "disk_storage", "streams", "consumer"];
        let unlimited = |names: &[&str]| -> String {
            let each = names.iter().map(|name| format!("\"{name}\":-1,"));
            each.collect()
        };
        let of_operator = signed(&operator, &operator, None, "\"type\":\"operator\"");
        let of = |whom: &KeyPair, limits: &str| {
            let nats = format!("\"limits\":{{{limits}\"wildcards\":true}},\"type\":\"account\"");
            format!(
                "{}: \"{}\"",
                whom.public_key(),
                signed(&operator, whom, None, &nats)
            )
        };
        let port = free_port();
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {:?} }}\noperator: \"{of_operator}\"\n\
             system_account: {}\nresolver: MEMORY\nresolver_preload: {{\n{}\n{}\n}}\n",
            folder.join("store").display().to_string(),
            system.public_key(),
            of(&system, &unlimited(&limits)),
            of(&account, &(unlimited(&limits) + &unlimited(&stored))),
        );
        fs::write(folder.join("nats.conf"), text).unwrap();
        Self {
            folder,
            port,
            account,
            child: start_nats(folder),
        }
    }

    /// Writes credentials that are good for this time, or for ever.
    fn sign(&self, name: &str, time: Option<Duration>) {
        write(self.folder, name, &self.account, time);
    }

    /// An agent with these credentials is refused, and says so.
    fn refuses(&self, name: &str) {
        let (port, file) = (self.port, format!("{name}.creds"));
        let words = format!(
            "agent --check --server nats://127.0.0.1:{port} --credentials {file} --name refused-{name}"
        );
        let said = said_failing(self.folder, &words);
        assert!(said.contains("refuses the key"), "{said}");
    }
}

impl Drop for Operated<'_> {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn write(folder: &Path, name: &str, account: &KeyPair, time: Option<Duration>) {
    let user = KeyPair::new_user();
    let nats = "\"pub\":{},\"sub\":{},\"subs\":-1,\"data\":-1,\"payload\":-1,\"type\":\"user\"";
    let of_user = signed(account, &user, time, nats);
    let seed = user.seed().unwrap();
    let text = format!(
        "-----BEGIN NATS USER JWT-----\n{of_user}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    );
    fs::write(folder.join(format!("{name}.creds")), text).unwrap();
}

/// A signed name (a JWT) as NATS wants it.
fn signed(by: &KeyPair, whom: &KeyPair, time: Option<Duration>, nats: &str) -> String {
    let (issuer, subject) = (by.public_key(), whom.public_key());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let until = time.map(|time| (now.unwrap() + time).as_secs());
    let until = until.map_or_else(String::new, |until| format!("\"exp\":{until},"));
    let claims = format!(
        "{{\"jti\":\"1\",\"iat\":1,{until}\"iss\":\"{issuer}\",\"name\":\"test\",\"sub\":\"{subject}\",\
         \"nats\":{{{nats},\"version\":2}}}}"
    );
    let header = "{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}";
    let text = [header, &claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part));
    let text = text.join(".");
    let signature = BASE64_URL_SAFE_NO_PAD.encode(by.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}

/// Enough for an agent to begin, and for a plan that takes longer.
const BRIEF: Duration = Duration::from_secs(6);
