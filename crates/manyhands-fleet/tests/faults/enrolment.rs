//! A server that lets in only keys that came by a token: each token brings one key, and a key that expires opens nothing.

use crate::{
    PLAN, PLAN_JOBS,
    machines::{Machines, end, said, wait_until},
    results,
};
use std::{fs, path::Path};

/// The first agent's key expires while a plan is carried out, and a second agent ends it.
pub(crate) fn a_token_brings_one_key_and_keys_expire() {
    let folder = tempfile::tempdir().unwrap();
    let machines = one_key_has_expired(folder.path());
    let log = machines.log().to_lowercase();
    assert!(log.contains("authorization"), "{log}");
    check(machines, folder.path());
}

/// The first agent learns what became of its runs.
pub(crate) fn an_expired_key_is_good_again_by_a_new_token() {
    let folder = tempfile::tempdir().unwrap();
    let machines = one_key_has_expired(folder.path());
    write_token(folder.path(), "brief", "");
    machines.enrol("brief", "brief").wait_for_success();
    machines.wait_until_sent();
    check(machines, folder.path());
}

fn one_key_has_expired(folder: &Path) -> Machines {
    let mut machines = Machines::start_guarded(folder);
    wait_until("the server has its key", || {
        folder.join("fleet/nats/server.nk").exists()
    });
    machines.submit(PLAN, "--nkey fleet/nats/server.nk");
    // Some six seconds, for a plan that takes longer with what is below.
    write_token(folder, "brief", " --key-hours 0.0017");
    // Who asks before the server is there says so and waits for it.
    end(&mut machines.server);
    machines.kill_nats_server();
    let early = machines.enrol("brief", "brief");
    wait_until("the first agent waits for the server", || {
        let says = |line: &str| line.contains("cannot send") && line.contains("trying again");
        machines.log().lines().any(says)
    });
    machines.restart_server();
    early.wait_for_success();
    machines.add_agent("brief", "--nkey brief.nk");
    // The token is used.
    let again = machines.enrol("brief", "thief");
    wait_until("the key of the first agent has expired", || {
        let known = fs::read_to_string(folder.join("fleet/nats/nats.conf")).unwrap();
        known.matches("nkey").count() == 1
    });
    // As machines are called.
    write_token(folder, "lasting.example", "");
    machines
        .enrol("lasting.example", "lasting")
        .wait_for_success();
    machines.add_agent("lasting.example", "--nkey lasting.nk");
    machines.wait_until_done(PLAN_JOBS);
    again.wait_for_failure();
    let listed = said(folder, "key list --data fleet");
    assert!(
        listed.contains("lasting.example: key U") && !listed.contains("token"),
        "{listed}"
    );
    machines
}

pub(crate) fn write_token(folder: &Path, name: &str, options: &str) {
    let seed = said(folder, &format!("key token {name} --data fleet{options}"));
    fs::write(folder.join(format!("{name}.token")), seed).unwrap();
}

fn check(machines: Machines, folder: &Path) {
    let database = machines.database();
    drop(machines);
    results::check(&database, &folder.join("out"), 1, PLAN_JOBS);
    results::check_agents(&database, &["brief", "lasting.example"]);
}
