//! `--json`, `--quiet` and `--color`, which each command has that they mean something for.

use crate::{check_refusal, json, manyhands, text};
use std::process::{Command, Output};

#[test]
fn a_tour_is_json_and_nothing_else_if_that_is_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("tour");
    let out = out.to_str().expect("a path in UTF-8");
    let tour = ["tour", "--quick", "--budget", "2", "--out", out];
    let answer = json(&manyhands(&[&["--json"], &tour[..]].concat()));
    let experiments = answer["experiments"].as_array().map(Vec::len);
    assert_eq!(experiments, Some(4), "{answer}");

    let report = ["lab", "report", out, "--json"];
    assert_eq!(json(&manyhands(&report)), answer);
    // Where the budget has cut a case short, a resumed run looks at the clock once more.
    let resumed = json(&manyhands(&["lab", "resume", out, "--json"]));
    assert_eq!(json(&manyhands(&report)), resumed);
    assert_eq!(resumed["left_out"], answer["left_out"]);

    let quiet = manyhands(&["lab", "resume", out, "--quiet"]);
    let printed = text(&quiet.stdout);
    assert!(printed.contains("SHA-512"), "{printed}");
    for remark in ["At rest", "Measuring", "Report, charts", "Try next"] {
        assert!(!printed.contains(remark), "{printed}");
    }
}

#[test]
fn json_may_stand_before_or_behind_a_command() {
    let before = json(&manyhands(&["--json", "lab", "list"]));
    assert_eq!(before, json(&manyhands(&["lab", "list", "--json"])));
    assert!(before["experiments"].is_array(), "{before}");
}

#[test]
fn a_command_without_an_answer_refuses_json() {
    for arguments in [&["completions", "bash"][..], &["man", "man1"]] {
        let command = format!("manyhands {}", arguments[0]);
        let asked = [&["--json"], arguments].concat();
        check_refusal(&manyhands(&asked), "--json", &command);
    }
}

#[test]
fn errors_and_help_have_colours_if_those_are_asked_for() {
    let styled = |output: &Output| {
        let all = [&output.stdout[..], &output.stderr[..]].concat();
        text(&all).contains('\x1b')
    };
    for command in [
        &["detour"][..],
        &["--help"],
        &["lab", "run", "E99"],
        &["lab", "report", "no-such-folder"],
    ] {
        let with = |choice| manyhands(&[command, &["--color", choice]].concat());
        assert!(styled(&with("always")), "{command:?}");
        assert!(!styled(&with("never")), "{command:?}");
        // Nobody sees it here.
        assert!(!styled(&with("auto")), "{command:?}");
    }
    let mut program = Command::new(env!("CARGO_BIN_EXE_manyhands"));
    let output = program.arg("detour").env("CLICOLOR_FORCE", "1").output();
    assert!(styled(&output.expect("the binary starts")));
    let output = program.env("NO_COLOR", "1").output();
    assert!(!styled(&output.expect("the binary starts")));
}
