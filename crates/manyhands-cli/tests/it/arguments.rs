//! Help, version and bad arguments.

use crate::{check_refusal, manyhands, text};

#[test]
fn help_is_printed_everywhere_with_exit_code_zero() {
    fn check(arguments: &[&str], parts: &[&str]) {
        let output = manyhands(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        let out = text(&output.stdout);
        for part in parts {
            assert!(out.contains(part), "'{part}' is missing in: {out}");
        }
        assert!(output.stderr.is_empty());
    }
    check(&["--help"], &["tour", "Without a command"]);
    check(
        &["tour", "--help"],
        &["--out <DIR>", "--seed <N>", "--budget <TIME>", "--quick"],
    );
    check(&["--version"], &["manyhands ", env!("CARGO_PKG_VERSION")]);
}

#[test]
fn bad_arguments_are_said_with_the_help_of_the_command_that_was_typed() {
    fn check(arguments: &[&str], culprit: &str, command: &str) {
        check_refusal(&manyhands(arguments), culprit, command);
    }
    check(&["--frobnicate"], "--frobnicate", "manyhands");
    check(&["detour"], "detour", "manyhands");
    check(&["lab", "--frobnicate"], "--frobnicate", "manyhands lab");
    check(&["tour", "--seed"], "--seed", "manyhands tour");
    for [option, value] in [
        ["--seed", "many"],
        ["--seed", "-3"],
        ["--budget", "0"],
        ["--budget", "NaN"],
        ["--budget", "1e9"],
        ["--out", "Cargo.toml"],
        ["--out", ""],
    ] {
        let arguments = ["tour", option, value];
        check(&arguments, value, "manyhands tour");
    }
}

#[test]
fn what_was_nearly_right_gets_a_tip() {
    for (arguments, tip) in [
        (&["lab", "rum"][..], "'run'"),
        (&["lab", "run", "E3", "--qick"], "'--quick'"),
        (&["lab", "run", "E33"], "E3"),
    ] {
        let err = text(&manyhands(arguments).stderr);
        assert!(err.contains(tip), "'{tip}' is missing in: {err}");
    }
}

#[test]
fn what_this_build_lacks_is_named_with_its_feature() {
    fn check(is_there: bool, arguments: &[&str], feature: &str) {
        let output = manyhands(arguments);
        let err = text(&output.stderr);
        let lacks = format!("lacks the feature '{feature}'");
        assert_eq!(err.contains(&lacks), !is_there, "{arguments:?}: {err}");
        if !is_there {
            assert_eq!(output.status.code(), Some(2), "{err}");
            assert!(err.contains(&format!("--features {feature}")), "{err}");
        }
    }
    let has_fleet = cfg!(feature = "fleet");
    check(has_fleet, &["fleet", "watch", "--help"], "fleet");
    check(has_fleet, &["fleet"], "fleet");
    check(
        cfg!(feature = "top"),
        &["top", "--socket", "/nowhere"],
        "top",
    );
    let page = ["inspect", "--socket", "/nowhere"];
    check(cfg!(feature = "page"), &page, "page");
}
