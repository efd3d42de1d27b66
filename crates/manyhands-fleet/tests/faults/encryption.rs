//! Connections that are encrypted, and servers whose certificates are wrong: those get no agent, and say why.

use crate::{
    PLAN_OF_ONE,
    credentials::{Keyed, key},
    enrolment::write_token,
    machines::{Circumstances, Machines, said_failing, wait_until},
    results,
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use std::{fs, path::Path, thread};

/// The fleet's own `nats-server`: the token, the key and the results come through it.
pub(crate) fn a_token_and_results_come_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path(), "127.0.0.1", Validity::Now);
    let mut machines =
        Machines::start_encrypted(folder.path(), "127.0.0.1", Circumstances::default());
    let server_key = "fleet/nats/server.nk";
    wait_until("the server has its key", || {
        folder.path().join(server_key).exists()
    });
    machines.submit(PLAN_OF_ONE, &format!("--nkey {server_key}"));
    write_token(folder.path(), "far", "");
    machines.enrol("far", "far").wait_for_success();
    machines.add_agent("far", "--nkey far.nk");
    check(machines, folder.path());
}

/// A `nats-server` that is given.
pub(crate) fn a_joined_server_brings_results_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let nats = encrypted(folder.path(), "127.0.0.1", Validity::Now);
    let mut machines = Machines::join_encrypted(folder.path(), nats.port, "--nkey it.nk");
    machines.submit(PLAN_OF_ONE, "--nkey it.nk");
    machines.add_agent("far", "--nkey it.nk");
    check(machines, folder.path());
}

/// Each of these has the agent's key, and would take it.
pub(crate) fn a_server_with_a_wrong_certificate_is_refused() {
    let folders = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let [other, foreign, old, plain] = folders.each_ref().map(tempfile::TempDir::path);
    let of_other = encrypted(other, "127.0.0.1", Validity::Now);
    let of_foreign = encrypted(foreign, "fleet.example", Validity::Now);
    let of_old = encrypted(old, "127.0.0.1", Validity::Past);
    let known = key(plain, "it");
    let unencrypted = Keyed::start(plain, &[&known], "");
    fs::copy(old.join("root.pem"), plain.join("root.pem")).unwrap();
    let cases = [
        // Signed by somebody else than the one who is trusted.
        (old, &of_other, "BadSignature"),
        (foreign, &of_foreign, "not valid for name"),
        (old, &of_old, "expired"),
        (plain, &unencrypted, "corrupt message"),
    ];
    thread::scope(|scope| {
        for (number, (folder, nats, reason)) in cases.into_iter().enumerate() {
            scope.spawn(move || {
                let port = nats.port;
                let said = said_failing(
                    folder,
                    &format!(
                        "agent --check --server tls://127.0.0.1:{port} --root root.pem --nkey it.nk --name far{number}"
                    ),
                );
                let refusal = said.lines().find(|line| line.contains("is not trusted"));
                assert!(
                    refusal.is_some_and(|line| line.starts_with("wrong") && line.contains(reason)),
                    "{reason}: {said}"
                );
            });
        }
    });
}

fn check(machines: Machines, folder: &Path) {
    machines.wait_until_done(1);
    machines.wait_until_sent();
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.join("out"), 1, 1);
    results::check_agents(&database, &["far"]);
}

/// A `nats-server` with a certificate for this name, which knows the key in `it.nk`.
fn encrypted(folder: &Path, name: &str, validity: Validity) -> Keyed {
    certify(folder, name, validity);
    let file = |name: &str| folder.join(name).display().to_string();
    let tls = format!(
        "tls {{ cert_file: {:?}, key_file: {:?} }}\n",
        file("it.pem"),
        file("it.key")
    );
    Keyed::start(folder, &[&key(folder, "it")], &tls)
}

/// When a certificate is good.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Validity {
    Now,
    Past,
}

/// Writes what an authority of its own has signed for this name: `it.pem` and `it.key`, beside its `root.pem`.
pub(crate) fn certify(folder: &Path, name: &str, validity: Validity) {
    Authority::new(folder).sign(folder, "it", name, validity);
}

/// Who signs certificates.
pub(crate) struct Authority(Issuer<'static, KeyPair>);

impl Authority {
    /// One whose own certificate is the file `root.pem`.
    pub(crate) fn new(folder: &Path) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut root = CertificateParams::new(Vec::new()).unwrap();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let text = root.self_signed(&key).unwrap().pem();
        fs::write(folder.join("root.pem"), text).unwrap();
        Self(Issuer::new(root, key))
    }

    /// Writes a certificate for this name, and its key: `FILE.pem` and `FILE.key`.
    pub(crate) fn sign(&self, folder: &Path, file: &str, name: &str, validity: Validity) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        if let Validity::Past = validity {
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        let signed = params.signed_by(&key, &self.0).unwrap();
        fs::write(folder.join(format!("{file}.pem")), signed.pem()).unwrap();
        fs::write(folder.join(format!("{file}.key")), key.serialize_pem()).unwrap();
    }
}
