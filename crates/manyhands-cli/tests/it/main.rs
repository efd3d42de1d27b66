//! The binary from outside: what it prints, with which exit code, and the files it leaves.

mod arguments;
#[cfg(unix)]
mod ended;
mod exit_codes;
#[cfg(all(feature = "fleet", unix))]
mod fleet;
#[cfg(all(feature = "fleet", unix))]
mod fleet_json;
#[cfg(unix)]
mod inspect;
mod lab;
mod load;
mod printing;
mod shell;
mod signals;
mod tour;

use std::process::{Command, Output};

/// Runs the binary to its end.
fn manyhands(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_manyhands"));
    command.args(arguments).output().expect("the binary starts")
}

/// The exit code of the binary where nobody reads what it prints.
fn unread(arguments: &[&str]) -> Option<i32> {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_manyhands"));
    command.args(arguments).stdout(writer);
    command.status().expect("the binary starts").code()
}

/// What is said of bad arguments: one sentence, perhaps a tip and the usage, and how to get help.
fn check_refusal(output: &Output, culprit: &str, command: &str) {
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(output.stdout.is_empty());
    let said = err.split("\n\n").next().unwrap_or_default();
    assert!(
        said.starts_with("error: ") && said.contains(culprit),
        "'{culprit}' is missing in: {err}"
    );
    let hint = format!("For more information, try '{command} --help'.\n");
    assert!(err.ends_with(&hint), "{err}");
    assert!(!err.contains('\x1b'), "nobody sees styles: {err}");
}

/// Standard output, which must be JSON and nothing else.
fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is UTF-8")
}
