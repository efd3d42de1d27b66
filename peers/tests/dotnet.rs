//! The contenders of .NET, by programs that stand in for theirs: what the tables say when there is none, when it says
//! nonsense, and when it dies.

#![cfg(target_os = "linux")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// What a comparison with one of them printed, and whether it ended well.
struct Printed {
    text: String,
    is_success: bool,
}

impl Printed {
    /// Fails unless a line begins with the first words and has the others.
    fn has_line(&self, begin: &str, words: &str) {
        let has = |line: &str| line.starts_with(begin) && line.contains(words);
        assert!(self.text.lines().any(has), "{}", self.text);
    }
}

/// Compares the smallest case with the contender as `program` serves it.
fn compared_with(program: &Path) -> Printed {
    let mut peers = Command::new(env!("CARGO_BIN_EXE_peers"));
    peers
        .args(["joins", "--only", "dotnet-invoke", "--cases", "tree-small"])
        .args(["--quick", "--rounds", "1"])
        .env("PEERS_DOTNET", program)
        .stdin(Stdio::null());
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(peers.output()));
    let output = receiver.recv_timeout(DEADLINE);
    let output = output
        .expect("the comparison ends in time")
        .expect("it runs");
    Printed {
        text: String::from_utf8(output.stdout).expect("it prints text"),
        is_success: output.status.success(),
    }
}

/// A program that does what these lines of a shell do.
fn script(name: &str, lines: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, format!("#!/bin/sh\n{lines}\n")).expect("the folder is there");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("the file is ours");
    path
}

/// With a program of these lines the contender is absent, for a reason that has these words.
fn absent(name: &str, lines: &str, reason: &str) {
    let printed = compared_with(&script(name, lines));
    printed.has_line("Absent: dotnet-invoke: ", reason);
    assert!(printed.is_success, "{}", printed.text);
}

/// With a program of these lines the contender fails, for a reason that has these words.
fn failed(name: &str, lines: &str, reason: &str) {
    let printed = compared_with(&script(name, lines));
    printed.has_line("FAILED: tree-small: dotnet-invoke: ", reason);
    assert!(!printed.is_success, "{}", printed.text);
}

#[test]
fn a_program_that_is_not_there_leaves_its_contenders_absent() {
    let printed = compared_with(Path::new("/no/such/program"));
    printed.has_line("Absent: dotnet-invoke: ", "/no/such/program does not run: ");
    assert!(printed.is_success, "{}", printed.text);
}

#[test]
fn a_program_that_greets_with_nonsense_leaves_its_contenders_absent() {
    absent("nonsense", "echo hello", "unclear greeting 'hello'");
}

#[test]
fn a_program_that_dies_at_once_leaves_its_contenders_absent() {
    absent("dead", "exit 3", "exit status: 3");
}

#[test]
fn a_program_that_answers_with_nonsense_fails() {
    let lines = "echo ready; while read line; do echo what; done";
    failed("unclear", lines, "unclear answer 'what'");
}

#[test]
fn a_program_that_dies_when_it_is_asked_fails() {
    failed("lost", "echo ready; read line; exit 3", "exit status: 3");
}

#[test]
fn a_program_that_has_another_checksum_fails() {
    let lines = "echo ready; while read line; do echo ok 1 100; done";
    failed("wrong", lines, "checksum 1, expected ");
}

#[test]
fn a_program_is_asked_for_the_problem_and_the_contender() {
    let lines = "echo \"absent asked for $*\"";
    absent("asked", lines, "asked for child joins dotnet-invoke");
}

/// None of these takes a second on a quiet machine.
const DEADLINE: Duration = Duration::from_secs(120);
