//! Help, version and bad arguments.

use crate::{manyhands, text};

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
fn bad_arguments_get_one_line_on_standard_error_and_exit_code_two() {
    fn check(arguments: &[&str], culprit: &str) {
        let output = manyhands(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let err = text(&output.stderr);
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(err.contains(culprit), "'{culprit}' is missing in: {err}");
        assert!(output.stdout.is_empty());
    }
    check(&["--frobnicate"], "--frobnicate");
    check(&["detour"], "detour");
    check(&["tour", "--seed", "many"], "many");
    check(&["tour", "--budget", "0"], "--budget");
    check(&["tour", "--budget", "NaN"], "NaN");
    check(&["tour", "--budget", "1e9"], "--budget");
    check(&["tour", "--out", "Cargo.toml"], "Cargo.toml");
    check(&["tour", "--out", ""], "--out");
}
