//! A `nats-server` that knows programs by certificates of their own, without any other key: an agent whose certificate it
//! does not know, or that has none, gets nothing and says why.

use crate::{
    PLAN_OF_ONE,
    credentials::start_nats,
    encryption::{Authority, Validity},
    machines::{Machines, end, free_port, said_failing},
    results,
};
use std::{fs, path::Path, process::Child, thread};

pub(crate) fn only_known_certificates_bring_results() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let nats = Certified::start(folder, &["server", "known"]);
    let mut machines = Machines::join_encrypted(folder, nats.port, &shown("server"));
    machines.submit(PLAN_OF_ONE, &shown("server"));
    machines.add_agent("known", &shown("known"));
    thread::scope(|scope| {
        for (name, options, reason) in [
            // Signed by the right one, and nobody's.
            ("unknown", shown("unknown"), "refuses the key"),
            ("foreign", shown("foreign"), "wants a certificate"),
            ("old", shown("old"), "wants a certificate"),
            ("without", String::new(), "wants a certificate"),
        ] {
            let nats = &nats;
            scope.spawn(move || nats.refuses(folder, name, &options, reason));
        }
    });
    machines.wait_until_done(1);
    machines.wait_until_sent();
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.join("out"), 1, 1);
    results::check_agents(&database, &["known"]);
}

/// Options that show a certificate.
fn shown(file: &str) -> String {
    format!("--client-certificate {file}.pem --client-key {file}.key")
}

/// A `nats-server` whose users are the names in certificates.
struct Certified {
    port: u16,
    child: Child,
}

impl Certified {
    fn start(folder: &Path, users: &[&str]) -> Self {
        let authority = Authority::new(folder);
        authority.sign(folder, "it", "127.0.0.1", Validity::Now);
        for name in ["server", "known", "unknown"] {
            authority.sign(folder, name, name, Validity::Now);
        }
        authority.sign(folder, "old", "known", Validity::Past);
        let elsewhere = tempfile::tempdir().unwrap();
        let foreign = Authority::new(elsewhere.path());
        foreign.sign(folder, "foreign", "known", Validity::Now);
        let port = free_port();
        let file = |name: &str| format!("{:?}", folder.join(name).display().to_string());
        let users: Vec<String> = users
            .iter()
            .map(|user| format!("{{ user: {user} }}"))
            .collect();
        let text = format!(
            "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {} }}\n\
             tls {{ cert_file: {}, key_file: {}, ca_file: {}, verify_and_map: true }}\n\
             authorization {{ users: [ {} ] }}\n",
            file("store"),
            file("it.pem"),
            file("it.key"),
            file("root.pem"),
            users.join(", ")
        );
        fs::write(folder.join("nats.conf"), text).unwrap();
        Self {
            port,
            child: start_nats(folder),
        }
    }

    fn refuses(&self, folder: &Path, name: &str, options: &str, reason: &str) {
        let url = format!("tls://127.0.0.1:{}", self.port);
        // Outside this machine, what has no certificate would be refused without being asked.
        let words = format!("agent --check --name {name} --server {url} --root root.pem {options}");
        let said = said_failing(folder, words.trim());
        let refusal = said.lines().find(|line| line.contains(reason));
        assert!(
            refusal.is_some_and(|line| line.starts_with("wrong")),
            "{name}: {said}"
        );
    }
}

impl Drop for Certified {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
