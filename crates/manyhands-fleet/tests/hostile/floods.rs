//! What an agent sends too much of: lines, runs, and messages that are no jobs.

use crate::{ANY, AT_ONCE, Fleet, LEASE, agent, files, note};
use manyhands_fleet::{
    FleetError,
    engine::{Engine, InProcess, Message, Queue},
    export,
};
use manyhands_lab::{console, run::Interrupt};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{chown, symlink},
};

#[test]
fn lines_that_come_when_their_run_has_ended_are_not_its_lines() {
    let fleet = Fleet::new();
    let job = fleet.job();
    fleet.carry_out("evil", &job, "r");
    let lines = || {
        let out = tempfile::tempdir().unwrap();
        let path = out.path().join("out");
        let exported = export::export(&fleet.database(), &fleet.plan, &path, None, console::alone);
        exported.unwrap();
        let texts = files(&path).into_iter().map(|(_, bytes)| bytes);
        texts.collect::<Vec<_>>()
    };
    let before = lines();
    let more = json!({ "kind": "lines", "first": 2, "texts": ["forged", "forged"] });
    fleet.report("evil", &note("evil", &job, "r", &more));
    fleet.step();
    assert_eq!(fleet.done(), 1);
    assert_eq!(lines(), before);
}

#[test]
fn an_agent_that_never_ends_a_run_does_not_fill_the_disk() {
    let fleet = Fleet::new();
    let job = fleet.job();
    for first in 0..60 {
        let lines = json!({ "kind": "lines", "first": first, "texts": ["x".repeat(1 << 20)] });
        fleet.report("evil", &note("evil", &job, "r", &lines));
        fleet.step();
    }
    let size = fs::metadata(fleet.path()).unwrap().len();
    assert!(size < 48 << 20, "{size} bytes");
    let done =
        json!({ "kind": "done", "lines": 60, "sha256": "0", "sending": "s", "machine": null });
    fleet.report("evil", &note("evil", &job, "r", &done));
    let beat = json!({ "kind": "beat", "events": 1, "left_seconds": 1, "machine": null });
    for run in 0..200 {
        fleet.report("evil", &note("evil", &job, &format!("r{run}"), &beat));
    }
    (0..5).for_each(|_| fleet.step());
    assert!(fleet.rejected() > 100, "it begins a run again and again");
    fleet.carry_out("good", &job, "good");
    assert_eq!(fleet.done(), 1, "another one does the job");
}

#[test]
fn what_is_no_job_does_not_keep_an_agent_from_those_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let engine = InProcess::new(LEASE);
    let mut agent = agent(folder.path(), &engine);
    let send = |about: &str, body: &str| {
        let message = Message {
            id: about.to_owned(),
            body: body.into(),
        };
        let about = about.parse().unwrap();
        engine.publish(ANY, &about, &[message]).unwrap();
    };
    (0..1_000).for_each(|i| send(&format!("garbage-{i}"), "{\"seq\":1}"));
    let work = json!({ "kind": "command", "name": "none" });
    let job = json!({ "id": "p.0", "ticket": "t", "cpus": null, "work": work });
    send("p.0", &job.to_string());
    agent.step(AT_ONCE, &Interrupt::default()).unwrap();
    let reports = engine.take(Queue::Results, 9, AT_ONCE).unwrap();
    let is_unable = |body: &[u8]| String::from_utf8_lossy(body).contains("unable");
    assert!(reports.iter().any(|report| is_unable(report.body())));
    // The server throws away what is too much, and hands out its own anew.
    let fleet = Fleet::new();
    (0..1_000).for_each(|i| fleet.send(ANY, &format!("garbage-{i}"), b"{}"));
    fleet.step();
    assert_eq!(fleet.engine.jobs_pending(usize::MAX).unwrap().len(), 2);
    let job = fleet.job();
    fleet.carry_out("good", &job, "r");
    assert_eq!(fleet.done(), 1);
}

/// What an agent reports that waits for a job.
fn waits(agent: &str, cpu: &str) -> Value {
    json!({ "waits": { "agent": agent, "cpus": 2, "cpu": cpu, "machine": null } })
}

#[test]
fn agents_that_are_made_up_do_not_fill_the_page() {
    let fleet = Fleet::new();
    let job = fleet.job();
    fleet.carry_out("good", &job, "r");
    fleet.report("good", &waits("good", "x"));
    for agent in 0..3_000 {
        let agent = format!("evil-{agent}");
        fleet.report(&agent, &waits(&agent, "x"));
    }
    // A step takes some of them.
    (0..20).for_each(|_| fleet.step());
    let agents = fleet.database().agents().unwrap();
    assert_eq!(agents.len(), 1_001);
    assert!(agents.iter().any(|agent| agent.name == "good"));
    assert!(agents.iter().any(|agent| agent.name == "evil-2999"));
}

#[test]
fn texts_that_nobody_sees_are_none() {
    let fleet = Fleet::new();
    for unseen in ["zero\u{200b}width", "soft\u{ad}hyphen", "tag\u{e0041}"] {
        fleet.report("evil", &waits("evil", unseen));
    }
    fleet.step();
    assert!(fleet.database().agents().unwrap().is_empty());
    assert_eq!(fleet.rejected(), 3);
}

#[test]
fn an_export_follows_no_links_that_another_user_has_put_in_its_place() {
    let fleet = Fleet::new();
    let job = fleet.job();
    fleet.carry_out("good", &job, "r");
    let place = tempfile::tempdir().unwrap();
    let (precious, folder) = (place.path().join("precious"), place.path().join("theirs"));
    fs::write(&precious, "mine").unwrap();
    fs::create_dir(&folder).unwrap();
    symlink(&precious, folder.join("runs.csv")).unwrap();
    fs::write(folder.join(".manyhands-fleet-export"), "").unwrap();
    if chown(&folder, Some(12_345), None).is_err() {
        // Only root can give a folder away.
        return;
    }
    let exported = export::export(
        &fleet.database(),
        &fleet.plan,
        &folder,
        None,
        console::alone,
    );
    assert!(
        matches!(exported, Err(FleetError::Occupied { .. })),
        "{exported:?}"
    );
    assert_eq!(fs::read_to_string(precious).unwrap(), "mine");
}
