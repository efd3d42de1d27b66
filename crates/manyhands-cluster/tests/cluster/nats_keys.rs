//! Calls through a NATS server that wants keys and has a certificate, and what becomes of those with wrong ones.

use crate::{
    authority::Authority,
    children::{self, Ended},
    nats::{free_port, serve, worker},
    programs::{SUM, program, sum_elsewhere},
};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use nkeys::KeyPair;
use std::{fs, path::PathBuf, process::Command};
use tempfile::TempDir;

pub(crate) fn a_call_is_as_a_local_one() {
    let user = KeyPair::new_user();
    let server = Server::start(&knows(&user), "127.0.0.1");
    let entry = server.entry("MANYHANDS_NKEY", &user.seed().unwrap());
    let _worker = Ended::start(&mut opened_by(&entry, worker(&server.address)));
    let printed = server.prints(&entry);
    assert_eq!(
        printed,
        sum_elsewhere(),
        "the sum, and that it was made elsewhere"
    );
}

pub(crate) fn a_call_with_credentials_is_as_a_local_one() {
    let (operator, account) = (KeyPair::new_operator(), KeyPair::new_account());
    let user = KeyPair::new_user();
    let limits = [
        "subs", "conn", "leaf", "imports", "exports", "data", "payload",
    ];
    let limits = limits.map(|limit| format!("\"{limit}\":-1")).join(",");
    let of_operator = signed(&operator, &operator, "\"type\":\"operator\"");
    let of_account = signed(
        &operator,
        &account,
        &format!("\"limits\":{{{limits},\"wildcards\":true}},\"type\":\"account\""),
    );
    let of_user = signed(
        &account,
        &user,
        "\"pub\":{},\"sub\":{},\"subs\":-1,\"data\":-1,\"payload\":-1,\"type\":\"user\"",
    );
    let server = Server::start(
        &format!(
            "operator: \"{of_operator}\"\nresolver: MEMORY\nresolver_preload: {{ {}: \"{of_account}\" }}\n",
            account.public_key()
        ),
        "127.0.0.1",
    );
    let seed = user.seed().unwrap();
    let credentials = format!(
        "-----BEGIN NATS USER JWT-----\n{of_user}\n------END NATS USER JWT------\n\n\
         -----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    );
    let entry = server.entry("MANYHANDS_CREDENTIALS", &credentials);
    let _worker = Ended::start(&mut opened_by(&entry, worker(&server.address)));
    assert_eq!(server.prints(&entry), sum_elsewhere());
}

pub(crate) fn an_unknown_key_is_refused() {
    let server = Server::start(&knows(&KeyPair::new_user()), "127.0.0.1");
    let unknown = KeyPair::new_user().seed().unwrap();
    let unknown = server.entry("MANYHANDS_NKEY", &unknown);
    let senseless = server.entry("MANYHANDS_NKEY", "no key");
    // On this machine a server may be asked without a key; this one wants one.
    let none = Entry {
        key: None,
        ..server.entry("", "")
    };
    let printed = server.prints(&senseless);
    assert!(
        printed.contains("is of no use") && printed.contains("Configuration {"),
        "{printed}"
    );
    for entry in [&unknown, &none] {
        let printed = server.prints(entry);
        assert!(
            printed.contains("refuses the key") && printed.contains("KeyRefused {"),
            "{printed}"
        );
    }
    let ended = children::output(&mut opened_by(&unknown, worker(&server.address)));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "the worker says: {said}");
    assert!(said.contains("refuses the key"), "{said}");
}

pub(crate) fn a_server_that_is_not_trusted_gets_no_key() {
    let user = KeyPair::new_user();
    let seed = user.seed().unwrap();
    let server = Server::start(&knows(&user), "127.0.0.1");
    let other = Server::start(&knows(&user), "other.example");
    let (right, of_other) = (
        server.entry("MANYHANDS_NKEY", &seed),
        other.entry("MANYHANDS_NKEY", &seed),
    );
    let unencrypted = free_port();
    let _plain = serve(unencrypted, &[]);
    let cases = [
        // Signed by someone else.
        (&server.address, of_other.clone()),
        // By the right one, for another name.
        (&other.address, of_other),
        // No encryption at all.
        (&format!("tls://127.0.0.1:{unencrypted}"), right),
    ];
    for (address, entry) in cases {
        let printed = prints(address, &entry);
        assert!(
            printed.contains("no encryption") && printed.contains("NotEncrypted {"),
            "{printed}"
        );
    }
}

/// A server with a certificate of its own root, for one name.
struct Server {
    folder: TempDir,
    address: String,
    root: PathBuf,
    _process: Ended,
}

/// What a program is given to get in.
#[derive(Clone)]
struct Entry {
    key: Option<(&'static str, PathBuf)>,
    root: PathBuf,
}

impl Server {
    /// `users` is a part of its configuration.
    fn start(users: &str, name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(folder.path());
        let (certificate, key) = authority.sign("it", name);
        let configuration = folder.path().join("nats.conf");
        let tls = format!("tls {{ cert_file: {certificate:?}, key_file: {key:?} }}\n{users}");
        fs::write(&configuration, tls).unwrap();
        let port = free_port();
        let configuration = configuration.to_str().unwrap();
        Self {
            address: format!("tls://127.0.0.1:{port}"),
            root: authority.root(),
            _process: serve(port, &["--config", configuration]),
            folder,
        }
    }

    /// Writes a key to a file of its own.
    fn entry(&self, variable: &'static str, key: &str) -> Entry {
        let count = fs::read_dir(self.folder.path()).unwrap().count();
        let path = self.folder.path().join(format!("key-{count}"));
        fs::write(&path, key).unwrap();
        Entry {
            key: Some((variable, path)),
            root: self.root.clone(),
        }
    }

    fn prints(&self, entry: &Entry) -> String {
        prints(&self.address, entry)
    }
}

/// A program that is given this.
fn opened_by(entry: &Entry, mut command: Command) -> Command {
    if let Some((variable, path)) = &entry.key {
        command.env(variable, path);
    }
    command.env("MANYHANDS_ROOT_CERTIFICATE", &entry.root);
    command
}

/// What the program prints that adds numbers up through this server.
fn prints(address: &str, entry: &Entry) -> String {
    let output = children::output(&mut opened_by(entry, program(SUM, address)));
    String::from_utf8(output.stdout).unwrap()
}

fn knows(user: &KeyPair) -> String {
    let key = user.public_key();
    format!("authorization {{ users: [ {{ nkey: \"{key}\" }} ] }}\n")
}

/// A signed name (a JWT) as NATS wants it.
fn signed(by: &KeyPair, whom: &KeyPair, nats: &str) -> String {
    let (issuer, subject) = (by.public_key(), whom.public_key());
    let claims = format!(
        "{{\"jti\":\"1\",\"iat\":1,\"iss\":\"{issuer}\",\"name\":\"test\",\"sub\":\"{subject}\",\
         \"nats\":{{{nats},\"version\":2}}}}"
    );
    let header = "{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}";
    let text = [header, &claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part));
    let text = text.join(".");
    let signature = BASE64_URL_SAFE_NO_PAD.encode(by.sign(text.as_bytes()).unwrap());
    format!("{text}.{signature}")
}
