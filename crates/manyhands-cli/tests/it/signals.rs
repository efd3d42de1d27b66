//! A run that is asked to end says what it has found so far, whichever signal asks.
#![cfg(unix)]

use crate::{
    ended::{DEADLINE, Ended},
    text,
};
#[cfg(feature = "fleet")]
use std::{
    fs::{self, File},
    net::TcpListener,
    path::Path,
};
use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
};

#[test]
fn every_signal_that_ends_a_program_ends_a_run_with_its_report() {
    for signal in ["INT", "TERM", "HUP"] {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("run");
        let child = Command::new(env!("CARGO_BIN_EXE_manyhands"))
            .args(["lab", "run", "E3", "--quick", "--out"])
            .arg(&out)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = Ended(child.expect("the binary starts"));
        let mut printed = BufReader::new(child.0.stdout.take().expect("its output"));
        // When the first line is there, signals are listened to.
        let (first, rest) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            printed.read_line(&mut line).expect("a line");
            first.send(line).expect("somebody listens");
            let mut bytes = Vec::new();
            printed.read_to_end(&mut bytes).expect("the rest");
            first.send(text(&bytes)).expect("somebody listens");
        });
        rest.recv_timeout(DEADLINE).expect("a first line");
        child.is_sent(signal);
        let printed = rest.recv_timeout(DEADLINE).expect("an end");
        assert_eq!(child.code(), Some(130), "{signal}: {printed}");
        assert!(
            printed.contains("To go on: manyhands lab resume"),
            "{signal}: {printed}"
        );
        assert!(out.join("report.html").exists(), "{signal}");
    }
}

#[test]
fn a_self_test_that_is_asked_to_end_has_its_json() {
    let child = Command::new(env!("CARGO_BIN_EXE_manyhands"))
        .args(["lab", "self-test", "--quick", "--seed", "7", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = Ended(child.expect("the binary starts"));
    let mut remarks = BufReader::new(child.0.stderr.take().expect("its remarks"));
    let mut line = String::new();
    // When the first line is there, signals are listened to.
    remarks.read_line(&mut line).expect("a line");
    child.is_sent("INT");
    let (ended, is_ended) = mpsc::channel();
    thread::spawn(move || {
        let mut printed = Vec::new();
        let mut output = child.0.stdout.take().expect("its output");
        output.read_to_end(&mut printed).expect("the rest");
        ended.send((printed, child.0.wait().expect("a status").code()))
    });
    let (printed, code) = is_ended.recv_timeout(DEADLINE).expect("an end");
    assert_eq!(code, Some(130));
    let json: serde_json::Value = serde_json::from_slice(&printed).expect("JSON");
    assert!(json["seed"] == 7 && json["criteria"].is_array(), "{json}");
}

#[cfg(feature = "fleet")]
#[test]
fn an_agent_of_the_fleet_that_is_asked_to_end_says_that_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let child = Command::new(env!("CARGO_BIN_EXE_manyhands"))
        // Nobody is there; it tries again until it is asked to end.
        .args(["fleet", "agent", "--server", "nats://127.0.0.1:1"])
        .args(["--host-lock", "lock"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Ended(child.expect("the binary starts"));
    let mut printed = BufReader::new(child.0.stdout.take().expect("its output"));
    let mut line = String::new();
    printed.read_line(&mut line).expect("a line");
    child.is_sent("INT");
    assert_eq!(child.code(), Some(130), "{line}");
}

#[cfg(feature = "fleet")]
#[test]
fn a_command_of_the_fleet_ends_though_the_server_does_not_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let plan = "name = 'x'\nexperiments = ['E6']\n";
    fs::write(folder.path().join("plan.toml"), plan).expect("a plan");
    // A key that is there may be known already, so it is tried before the token.
    for name in ["token", "nkey"] {
        let seed = "SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU";
        fs::write(folder.path().join(name), seed).expect("a key");
    }
    for words in [
        "cancel 0190-plan",
        "redo 0190-plan.3",
        "submit plan.toml",
        "enrol --token token --nkey nkey",
        "agent --check",
    ] {
        // It takes connections and says nothing.
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("an address");
        let words = format!("{words} --server nats://{address}");
        // A command that connects listens to signals.
        ends_when_asked(folder.path(), &words, move || {
            server.accept().expect("it connects")
        });
    }
}

#[cfg(feature = "fleet")]
#[test]
fn a_command_of_the_fleet_ends_though_a_file_does_not_come() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir_all(folder.path().join("data/nats")).expect("a folder");
    fs::write(folder.path().join("data/nats/server.nk"), "").expect("a file");
    let token = Command::new(env!("CARGO_BIN_EXE_manyhands"))
        .args(["fleet", "key", "token", "one", "--data", "data"])
        .current_dir(folder.path())
        .output();
    assert!(token.expect("the binary starts").status.success());
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    for words in [
        "export 0190-plan --data data --prices pipe",
        "price estimate pipe",
        "price bill 0190-plan --data data --prices pipe",
    ] {
        let pipe = pipe.clone();
        // It opens when the command reads it, and has no end while this is kept.
        ends_when_asked(folder.path(), words, move || {
            File::options().write(true).open(pipe).expect("a reader")
        });
    }
}

/// Starts a command of the fleet that waits for what never comes, and asks it to end when that has begun.
#[cfg(feature = "fleet")]
fn ends_when_asked<T: Send + 'static>(
    folder: &Path,
    words: &str,
    begin: impl FnOnce() -> T + Send + 'static,
) {
    let child = Command::new(env!("CARGO_BIN_EXE_manyhands"))
        .arg("fleet")
        .args(words.split(' '))
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let child = Ended(child.expect("the binary starts"));
    let (begins, has_begun) = mpsc::channel();
    thread::spawn(move || begins.send(begin()));
    let _waited_for = has_begun
        .recv_timeout(DEADLINE)
        .unwrap_or_else(|_| panic!("it waits for nothing: {words}"));
    child.is_sent("INT");
    assert_eq!(child.code(), Some(130), "{words}");
}
