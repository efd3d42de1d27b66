//! The fleet's commands: what they print, and a whole fleet for one plan.

use crate::{
    check_refusal,
    ended::{DEADLINE, Ended},
    json, manyhands, text,
};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Output, Stdio},
    sync::mpsc,
    thread,
};

#[test]
fn a_plan_is_tried_with_nats_server() {
    // Where there is none it is as the next test has it.
    check_trial(&[]);
}

#[test]
fn a_plan_is_tried_without_nats_server() {
    check_trial(&["--in-process"]);
}

fn check_trial(options: &[&str]) {
    let place = Place::new("launches = 3\nminutes = 1\n");
    let output = place.tried(&[options, &["--json"]].concat());
    let err = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{err}");
    let answer = json(&output);
    assert!(answer["exported"]["runs"].as_u64() > Some(0), "{answer}");
    assert!(place.out().join("runs.csv").exists());
    place.check_nothing_else_is_left();

    // The results may be replaced, and nothing else that lies there.
    fs::remove_file(place.out().join(".manyhands-fleet-export")).expect("the mark");
    let refused = place.tried(options);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("--out"));
}

#[test]
fn a_trial_that_is_asked_to_end_leaves_nothing() {
    let place = Place::new("");
    let mut child = Ended(
        place
            .trying(&[])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts"),
    );
    let mut printed = BufReader::new(child.0.stdout.take().expect("its output")).lines();
    let (ended, is_ended) = mpsc::channel();
    thread::spawn(move || {
        let at_work = printed.find(|line| line.as_ref().is_ok_and(|line| line.contains("at E6")));
        assert!(at_work.is_some(), "no agent got to work");
        child.is_sent("INT");
        printed.for_each(drop);
        ended.send(child.0.wait().expect("a status").code())
    });
    let code = is_ended.recv_timeout(DEADLINE);
    assert_eq!(code.expect("it ends"), Some(130));
    assert!(!place.out().exists());
    place.check_nothing_else_is_left();
}

#[test]
fn a_plan_that_nobody_here_would_carry_out_is_refused_at_once() {
    for (more, culprit) in [
        ("cpus = [65000]\n", "65000 CPUs"),
        ("[[commands]]\nname = 'sort'\n", "command"),
    ] {
        let place = Place::new(more);
        let refused = place.tried(&[]);
        assert_eq!(refused.status.code(), Some(1));
        let err = text(&refused.stderr);
        assert!(err.contains(culprit), "{err}");
        place.check_nothing_else_is_left();
    }
}

#[test]
fn what_the_folder_of_a_server_says_is_json_if_that_is_asked_for() {
    let place = Place::new("");
    let data = place.0.path().join("data");
    fs::create_dir_all(data.join("nats")).expect("a folder");
    let seed = "SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU";
    fs::write(data.join("nats").join("server.nk"), seed).expect("a key");
    let data = data.to_str().expect("a path in UTF-8");
    let asked = |arguments: &[&str]| {
        json(&manyhands(
            &[&["fleet"], arguments, &["--data", data, "--json"]].concat(),
        ))
    };
    let token = asked(&["key", "token", "one"]);
    assert_eq!(token["name"], "one");
    assert!(
        token["token"]
            .as_str()
            .is_some_and(|seed| seed.starts_with("SU"))
    );
    assert_eq!(asked(&["key", "list"])["keys"][0]["is_token"], true);
    let state = asked(&["watch", "--once"]);
    assert_eq!(state["plans"].as_array().map(Vec::len), Some(0), "{state}");
    assert!(state["agents"].is_array() && state["rejected"].is_array());
    assert_eq!(asked(&["key", "revoke", "one"])["revoked"], 1);
}

#[test]
fn an_estimate_is_json_if_that_is_asked_for() {
    let place = Place::new("minutes = 20\n");
    let plan = place.plan();
    let estimate = json(&manyhands(&["fleet", "price", "estimate", &plan, "--json"]));
    assert!(estimate["usd"]["most"].as_f64() > Some(0.0), "{estimate}");
    assert!(estimate["lines"][0]["choices"].is_array(), "{estimate}");
}

#[test]
fn a_command_of_the_fleet_without_an_answer_refuses_json() {
    for words in [&["serve"][..], &["agent"], &["price", "example"]] {
        let command = format!("manyhands fleet {}", words.join(" "));
        let asked = [&["fleet"], words, &["--json"]].concat();
        check_refusal(&manyhands(&asked), "--json", &command);
    }
}

/// A plan, and folders for all that a trial writes.
struct Place(tempfile::TempDir);

impl Place {
    fn new(more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("tmp")).expect("a folder");
        let plan = format!("name = 'x'\nexperiments = ['E6']\n{more}");
        fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
        Self(folder)
    }

    fn plan(&self) -> String {
        self.0.path().join("plan.toml").display().to_string()
    }

    fn out(&self) -> std::path::PathBuf {
        self.0.path().join("out")
    }

    fn trying(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manyhands"));
        command
            .args(["fleet", "try", &self.plan(), "--out"])
            .arg(self.out())
            .args(options)
            .current_dir(self.0.path())
            .env("TMPDIR", self.0.path().join("tmp"));
        command
    }

    fn tried(&self, options: &[&str]) -> Output {
        self.trying(options).output().expect("the binary starts")
    }

    /// No file, and no `nats-server`, which would hold some.
    fn check_nothing_else_is_left(&self) {
        let names = |folder: &Path| {
            let found = fs::read_dir(folder).expect("a folder");
            let names = found.map(|one| one.expect("a name").file_name());
            let mut names: Vec<_> = names.filter(|name| name != "out").collect();
            names.sort();
            names
        };
        assert_eq!(names(self.0.path()), ["plan.toml", "tmp"]);
        assert!(names(&self.0.path().join("tmp")).is_empty());
    }
}
