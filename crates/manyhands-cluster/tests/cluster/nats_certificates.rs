//! Calls through a NATS server that knows programs by certificates of their own, and what becomes of those with none, or
//! with one that it does not know.

use crate::{
    authority::Authority,
    children::{self, Ended},
    nats::{free_port, serve, worker},
    programs::{SUM, program, sum_elsewhere},
};
use std::{fs, path::PathBuf, process::Command};
use tempfile::TempDir;

pub(crate) fn a_call_is_as_a_local_one() {
    let server = Server::start(&["driver", "worker"]);
    let (driver, of_worker) = (server.signed("driver"), server.signed("worker"));
    let _worker = Ended::start(&mut server.opened_by(Some(&of_worker), worker(&server.address)));
    let printed = server.prints(Some(&driver));
    assert_eq!(
        printed,
        sum_elsewhere(),
        "the sum, and that it was made elsewhere"
    );
}

pub(crate) fn others_are_refused() {
    let server = Server::start(&["driver"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let foreign = Authority::new(elsewhere.path()).sign("it", "driver");
    let refused = |shown: Option<&Shown>, kind: &str, words: &str| {
        let printed = server.prints(shown);
        let is_it = printed.contains(kind) && printed.contains(words);
        assert!(is_it, "{shown:?}: {printed}");
    };
    // Signed by the right one, and nobody's.
    let unknown = server.signed("unknown");
    refused(Some(&unknown), "KeyRefused {", "refuses the key");
    let wanted = "wants a certificate";
    refused(Some(&foreign), "CertificateRefused {", wanted);
    refused(None, "CertificateRefused {", wanted);
    let absent = (foreign.0.clone(), elsewhere.path().join("absent"));
    refused(Some(&absent), "Configuration {", "absent");

    let ended = children::output(&mut server.opened_by(None, worker(&server.address)));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "the worker says: {said}");
    assert!(said.contains(wanted), "{said}");
}

/// A certificate and its key.
type Shown = (PathBuf, PathBuf);

/// A server whose users are the names in certificates.
struct Server {
    authority: Authority,
    address: String,
    _process: Ended,
    _folder: TempDir,
}

impl Server {
    fn start(users: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(folder.path());
        let (certificate, key) = authority.sign("it", "127.0.0.1");
        let root = authority.root();
        let users: Vec<String> = users
            .iter()
            .map(|user| format!("{{ user: {user} }}"))
            .collect();
        let text = format!(
            "tls {{ cert_file: {certificate:?}, key_file: {key:?}, ca_file: {root:?}, verify_and_map: true }}\n\
             authorization {{ users: [ {} ] }}\n",
            users.join(", ")
        );
        let configuration = folder.path().join("nats.conf");
        fs::write(&configuration, text).unwrap();
        let port = free_port();
        Self {
            authority,
            address: format!("tls://127.0.0.1:{port}"),
            _process: serve(port, &["--config", configuration.to_str().unwrap()]),
            _folder: folder,
        }
    }

    fn signed(&self, name: &str) -> Shown {
        self.authority.sign(name, name)
    }

    /// A program that shows this certificate.
    fn opened_by(&self, shown: Option<&Shown>, mut command: Command) -> Command {
        command.env("MANYHANDS_ROOT_CERTIFICATE", self.authority.root());
        if let Some((certificate, key)) = shown {
            command.env("MANYHANDS_CLIENT_CERTIFICATE", certificate);
            command.env("MANYHANDS_CLIENT_KEY", key);
        }
        command
    }

    /// What the program prints that adds numbers up through this server.
    fn prints(&self, shown: Option<&Shown>) -> String {
        let output = children::output(&mut self.opened_by(shown, program(SUM, &self.address)));
        String::from_utf8(output.stdout).unwrap()
    }
}
