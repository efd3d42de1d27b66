//! What a hostile agent, a hostile submitter and a hostile queue may send: anything. The server and the agent go on, write
//! nothing outside their folders, and take no more memory than the message has.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "an unwrap in a test is an assertion")]

mod deaths;
mod endings;
mod fleet;
mod floods;
mod messages;

use cap::Cap;
use fleet::{Fleet, head, note, outcome, sha256};
use manyhands_fleet::{
    Name,
    agent::{Agent, Allowed, Setup},
    commands,
    engine::{Engine, InProcess, Message, Queue},
    export,
};
use manyhands_lab::{
    Case, Experiment, clock::Stopwatch, console, launcher::Launcher, run::Interrupt,
};
use messages::{good_jobs, good_reports, good_requests, hostile};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{
    alloc::System,
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Set where a test is alone in its process.
const ALONE: &str = "MANYHANDS_FLEET_ALONE";
const LEASE: Duration = Duration::from_secs(3_600);
const DEADLINE: Duration = Duration::from_secs(120);
const AT_ONCE: Duration = Duration::ZERO;
const ANY: Queue = Queue::Jobs { cpus: None };

fn experiments() -> Vec<Experiment> {
    let case = Case::returning("plain").full_sizes([1_000]);
    let case = case.arm("one", |n| n).arm("two", |n| n);
    vec![Experiment::new("T1", "Sums").case(case)]
}

/// Runs a test that looks at how much memory there was at once, in a process where no other test takes any.
fn alone(name: &str, test: impl FnOnce()) {
    if env::var_os(ALONE).is_some() {
        return test();
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]);
    let output = command.env(ALONE, "").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let is_run = said.contains("1 passed");
    assert!(output.status.success() && is_run, "{output:?}");
}

/// All files below a folder, with what they hold.
fn files(folder: &Path) -> BTreeSet<(PathBuf, Vec<u8>)> {
    let mut all = BTreeSet::new();
    for found in fs::read_dir(folder).unwrap() {
        let path = found.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.insert((path.clone(), fs::read(path).unwrap()));
        }
    }
    all
}

#[test]
fn a_done_that_names_another_job_is_parked_at_every_start() {
    let fleet = Fleet::new();
    let (a, b) = (fleet.job(), fleet.job());
    fleet.carry_out("good", &b, "r-b");
    assert_eq!(fleet.done(), 1);
    let lines = json!({ "kind": "lines", "first": 0, "texts": [head(&[]), outcome()] });
    fleet.report("evil", &note("evil", &a, "r-a", &lines));
    let done = json!({
        "kind": "done", "lines": 2, "sha256": sha256(&[&head(&[]), &outcome()]), "sending": "s", "machine": null
    });
    fleet.report("evil", &note("evil", &b, "r-a", &done));
    for _ in 0..3 {
        fleet.step();
    }
    assert_eq!((fleet.done(), fleet.rejected()), (1, 1));
}

#[test]
fn a_failure_of_a_run_that_counts_changes_nothing() {
    let fleet = Fleet::new();
    let job = fleet.job();
    fleet.carry_out("good", &job, "r");
    let failed = json!({ "kind": "failed", "reason": "because" });
    fleet.report("good", &note("good", &job, "r", &failed));
    fleet.step();
    let plan = fleet.database().plans().unwrap().remove(0);
    assert_eq!((plan.done, plan.failed), (1, 0));
}

#[test]
fn reports_with_names_that_are_none_do_not_hold_up_the_others() {
    let fleet = Fleet::new();
    let job = fleet.job();
    let beat = json!({ "kind": "beat", "events": 0, "left_seconds": 0, "machine": null });
    for number in 0..20 {
        fleet.report(
            "evil",
            &note("evil", &job, &format!("has a space {number}"), &beat),
        );
    }
    fleet.carry_out("good", &job, "r");
    assert_eq!((fleet.done(), fleet.rejected()), (1, 20));
}

#[test]
fn an_agent_reports_in_its_own_name_and_of_its_own_jobs_only() {
    let fleet = Fleet::new();
    let (given, other) = (fleet.job(), fleet.job());
    let failed = json!({ "kind": "failed", "reason": "because" });
    let guessed = json!({ "id": other["id"], "ticket": "guessed" });
    fleet.report("evil", &note("evil", &guessed, "r-1", &failed));
    fleet.report("evil", &note("good", &given, "r-2", &failed));
    fleet.step();
    assert_eq!(fleet.rejected(), 2);
    let jobs = fleet.database().jobs(&fleet.plan).unwrap();
    assert!(jobs.iter().all(|job| job.failed.is_none()), "{jobs:?}");
}

#[test]
fn a_run_of_garbage_is_not_accepted_and_blocks_nothing() {
    let fleet = Fleet::new();
    let job = fleet.job();
    fleet.report_all("evil", &job, "r", &["good", "bad"]);
    let (database, out) = (fleet.database(), fleet.folder.path().join("out"));
    let plan = database.plans().unwrap().remove(0);
    assert_eq!((plan.done, plan.failed), (0, 1));
    let exported = export::export(&database, &fleet.plan, &out, None, console::alone).unwrap();
    assert_eq!(exported.runs, 0);
}

#[test]
fn an_export_stays_in_its_folder_and_replaces_nothing_but_an_export() {
    let fleet = Fleet::new();
    fleet.carry_out("good", &fleet.job(), "r");
    let (database, out) = (fleet.database(), fleet.folder.path().join("out"));
    let export = || export::export(&database, &fleet.plan, &out, None, console::alone);
    fs::create_dir(&out).unwrap();
    fs::write(out.join("run.json"), "a genuine run").unwrap();
    let before = files(fleet.folder.path());
    let refused = export().unwrap_err().to_string();
    assert!(refused.contains("--out"), "{refused}");
    assert_eq!(files(fleet.folder.path()), before);
    fs::remove_file(out.join("run.json")).unwrap();
    for _ in 0..2 {
        assert_eq!(export().unwrap().runs, 1);
    }
    for name in [
        "../escaped",
        "/tmp/escaped",
        "..",
        ".",
        "a/b",
        "a\\b/",
        "\u{1b}]8;;x",
    ] {
        assert!(name.parse::<Name>().is_err(), "{name}");
    }
}

/// An agent whose list has nothing.
fn agent<'engine>(folder: &Path, engine: &'engine InProcess) -> Agent<'engine> {
    let setup = Setup {
        name: "one".parse().unwrap(),
        spool: folder.join("agent"),
        host_lock: folder.join("agent.lock"),
        cpus: 2,
        machine: None,
        allowed: Allowed::default(),
        launcher: Launcher::new("/does/not/exist", [""; 0]),
    };
    Agent::new(setup, engine, experiments()).unwrap()
}

/// An agent, and a folder beside which nothing may be written.
fn agent_is_given(job: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let engine = InProcess::new(LEASE);
    let mut agent = agent(folder.path(), &engine);
    let message = Message {
        id: "1".to_owned(),
        body: job.to_owned(),
    };
    engine
        .publish(ANY, &"p.0".parse().unwrap(), &[message])
        .unwrap();
    let before = MEMORY.max_allocated();
    // It may complain; it does not end, and takes the next job.
    let _ = agent.step(AT_ONCE, &Interrupt::default());
    let peak = MEMORY.max_allocated().saturating_sub(before);
    assert!(
        peak < (64 << 20) + 64 * job.len(),
        "{peak} bytes for a message of {}",
        job.len()
    );
    agent.step(AT_ONCE, &Interrupt::default()).unwrap();
    for (path, _) in files(folder.path()) {
        let inside = path.strip_prefix(folder.path()).unwrap();
        assert!(
            inside.starts_with("agent") || inside == Path::new("agent.lock"),
            "{path:?}"
        );
    }
}

#[test]
fn a_job_names_no_program_and_no_number_that_is_too_large() {
    alone(
        "a_job_names_no_program_and_no_number_that_is_too_large",
        || {
            let folder = tempfile::tempdir().unwrap();
            let script = folder.path().join("evil.sh");
            let sign = folder.path().join("sign");
            fs::write(&script, format!("#!/bin/sh\ntouch {}\n", sign.display())).unwrap();
            let case = |more: Value| {
                let mut work = json!({
                    "kind": "case", "experiment": "T1", "case": "plain", "scale": "quick", "seed": 1, "launches": 3
                });
                work.as_object_mut()
                    .unwrap()
                    .extend(more.as_object().unwrap().clone());
                json!({ "id": "p.0", "ticket": "t", "cpus": null, "work": work }).to_string()
            };
            for job in [
                case(json!({ "settings": { "builds": [script] } })),
                case(json!({ "builds": [script] })),
                case(json!({ "launches": u32::MAX })),
                case(json!({ "launches": u64::MAX })),
                case(json!({ "seconds_max": u64::MAX })),
            ] {
                agent_is_given(job.as_bytes());
                assert!(!sign.exists(), "{job}");
            }
        },
    );
}

#[cfg(unix)]
#[test]
fn keys_that_the_server_did_not_write_cost_neither_a_job_nor_a_finished_run() {
    let fleet = Fleet::new();
    let (folder, go) = (fleet.folder.path(), fleet.folder.path().join("go"));
    let wait = format!("while [ ! -e {} ]; do sleep 0.01; done", go.display());
    let list = format!(
        "[commands.a]\nline = ['/bin/sh', '-c', '{wait}']\n[commands.b]\nline = ['/bin/true']"
    );
    let setup = Setup {
        name: "good".parse().unwrap(),
        spool: folder.join("agent"),
        host_lock: folder.join("agent.lock"),
        cpus: 2,
        machine: None,
        allowed: Allowed::parse(&list).unwrap(),
        launcher: Launcher::new("/does/not/exist", [""; 0]),
    };
    // As `nats-server` acknowledges a message, wherever its publisher wants it.
    let acknowledged = br#"{"stream":"manyhands-results","seq":5}"#;
    for number in 0..2 {
        let key = format!("job.{}.{number}", fleet.plan);
        fleet.engine.put(&key, acknowledged).unwrap();
    }
    let stop = Interrupt::default();
    std::thread::scope(|scope| {
        let (engine, stop) = (&fleet.engine, &stop);
        let _ends_with_this = Stops(stop);
        scope.spawn(move || {
            let mut agent = Agent::new(setup, engine, experiments()).unwrap();
            agent.run(None, stop, |_| {});
        });
        let watch = Stopwatch::start();
        let begun = loop {
            assert!(watch.elapsed() < DEADLINE, "it has begun nothing");
            let report = engine.take(Queue::Results, 1, DEADLINE).unwrap().remove(0);
            let said: Value = serde_json::from_slice(report.body()).unwrap();
            report.release(AT_ONCE).unwrap();
            if let Some(run) = said["job"]["run"].as_str() {
                break run.to_owned();
            }
        };
        engine.put(&format!("run.{begun}"), acknowledged).unwrap();
        fs::write(go, "").unwrap();
        while watch.elapsed() < DEADLINE && fleet.done() < 2 {
            fleet.step();
        }
    });
    assert_eq!(fleet.done(), 2);
}

/// Asks an agent to end, also when its test fails.
#[cfg(unix)]
struct Stops<'test>(&'test Interrupt);

#[cfg(unix)]
impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

#[test]
fn a_job_of_an_earlier_version_is_not_done_anew_and_ends_nothing() {
    let fleet = Fleet::new();
    let earlier = rusqlite::Connection::open(fleet.path()).unwrap();
    let message = "UPDATE job SET message = '{\"command\":\"a\"}'";
    assert_eq!(earlier.execute(message, []).unwrap(), 2);
    let job = format!("{}.0", fleet.plan).parse().unwrap();
    commands::redo_at(&fleet.engine, &job).unwrap();
    fleet.step();
    fleet.step();
    assert_eq!(fleet.database().plans().unwrap()[0].failed, 2);
    let rejected = fleet.database().rejected().unwrap();
    assert_eq!(rejected.len(), 1);
    assert!(
        rejected[0].reason.contains("a job cannot be read"),
        "{rejected:?}"
    );
}

#[test]
fn a_plan_takes_no_more_memory_than_its_text_but_for_a_factor() {
    alone(
        "a_plan_takes_no_more_memory_than_its_text_but_for_a_factor",
        || {
            let fleet = Fleet::new();
            let holes: Vec<String> = (0..90)
                .map(|hole| format!("h{hole} = '{}'", "x".repeat(1_000)))
                .collect();
            let cpus = vec!["2"; 10_000].join(",");
            let toml = format!(
                "name = 'x'\ncpus = [{cpus}]\n[[commands]]\nname = 'a'\n[commands.holes]\n{}",
                holes.join("\n")
            );
            let request = json!({ "submit": { "plan": "q", "toml": toml } }).to_string();
            let before = MEMORY.max_allocated();
            fleet.send(Queue::Plans, "q", request.as_bytes());
            fleet.step();
            let peak = MEMORY.max_allocated().saturating_sub(before);
            assert!(peak < 64 << 20, "{peak} bytes for {}", request.len());
            let plan = fleet.database().plans().unwrap().pop().unwrap();
            assert!(plan.refused.is_some(), "{plan:?}");
        },
    );
}

#[test]
fn an_agent_that_is_called_as_a_file_is_exported_beside_it() {
    let fleet = Fleet::new();
    let plan = "name = 'x'\nexperiments = ['T1']";
    let plan = commands::submit_to(&fleet.engine, plan, None, &experiments()).unwrap();
    fleet.step();
    let job = loop {
        let job = fleet.job();
        if job["work"]["kind"] == "case" {
            break job;
        }
    };
    fleet.report_all("runs.csv", &job, "r", &[&head(&experiments())]);
    let out = fleet.folder.path().join("out");
    let exported = export::export(&fleet.database(), &plan, &out, None, console::alone).unwrap();
    assert_eq!(exported.folders, [out.join("agents").join("runs.csv")]);
    assert!(out.join("runs.csv").is_file());
}

#[test]
fn what_is_foreign_begins_no_line_of_its_own() {
    let fleet = Fleet::new();
    let toml = "name = 'x'\nexperiments = ['T1']\n\"a\\nplan forged: 1 of 1 jobs done\" = 1";
    let request = json!({ "submit": { "plan": "q", "toml": toml } });
    fleet.send(Queue::Plans, "q", request.to_string().as_bytes());
    fleet.step();
    let outcome = "{\"a\\nplan forged: 1 of 1 jobs done\":1}";
    fleet.report_all("evil", &fleet.job(), "r", &[&head(&[]), outcome]);
    let shown = manyhands_fleet::watch::text(&fleet.database()).unwrap();
    assert_eq!(shown.matches("forged").count(), 2, "{shown}");
    assert!(!shown.contains("\nplan forged"), "{shown}");
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

#[test]
fn an_agent_bears_every_job() {
    alone("an_agent_bears_every_job", || {
        proptest!(config(), |(job in hostile(good_jobs().into()))| agent_is_given(&job));
    });
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_server_bears_every_message_and_goes_on(
        reports in prop::collection::vec(hostile(good_reports()), 1..8),
        requests in prop::collection::vec(hostile(good_requests()), 1..4),
    ) {
        let fleet = Fleet::new();
        let job = fleet.job();
        for report in &reports {
            fleet.send(Queue::Results, "evil", report);
        }
        for request in &requests {
            fleet.send(Queue::Plans, "evil", request);
            fleet.send(Queue::Enrolments, "evil", request);
        }
        fleet.carry_out("good", &job, "good-run");
        fleet.step();
        let plans = fleet.database().plans().unwrap();
        let plan = plans.iter().find(|plan| plan.id == *fleet.plan).unwrap();
        prop_assert_eq!((plan.done, plan.failed), (1, 0));
        let shown = manyhands_fleet::watch::text(&fleet.database()).unwrap();
        prop_assert!(!shown.contains('\u{1b}'), "{}", shown);
        for (path, _) in files(fleet.folder.path()) {
            prop_assert!(path.starts_with(fleet.folder.path().join("server")), "{path:?}");
        }
    }
}
